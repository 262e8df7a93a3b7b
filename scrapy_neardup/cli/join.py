"""``scrapy-neardup join``: all pairs of pages that resemble each other, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeVar, cast, get_args

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, rows_to
from scrapy_neardup.offline.execution import workers
from scrapy_neardup.offline.jobs.joining import Documents, Pages, Sampled, join_sets, join_strings
from scrapy_neardup.offline.joins.measures import MeasureName, open_measure
from scrapy_neardup.offline.joins.reference import Filters
from scrapy_neardup.offline.joins.setjoin import MAX_DEPTH, Comparison
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.settings.catalogue import OPTIONS

T = TypeVar("T")

_VALUES = {"jaccard": "resemblance", "edit": "distance", "hamming": "distance"}
"""Measure -> name of its values in the output, where that isn't its own."""
_WHOLE = {"overlap", "hamming"}
"""Measures whose values are whole numbers."""
_ALGORITHM = {"algorithm", "max_depth"}
_OF_SETS = {
    "threshold", "comparison", "shingle_size", "unit", "stop_words", "stem", "labelled", "minima",
    "modulus", *_ALGORITHM,
}  # fmt: skip
_OF_STRINGS = {"distance", "gram_size"}
_OF_DISTANCE = {"edit", "hamming"}
"""Options of measures of sets, and of measures of strings."""


@click.command()
@flags.inputs
@flags.existing_option
@click.option(
    "--measure",
    type=click.Choice([*get_args(MeasureName), "edit"]),
    default="jaccard",
    help="Similarity of two sets of shingles: jaccard, overlap / union (resemblance); cosine,"
    " overlap / geometric mean of the sizes; dice, overlap / mean of the sizes; overlap, the"
    " overlap; overlap-coefficient, overlap / smaller size; containment, overlap / size of the"
    " first page; hamming, the number of shingles that only one page has. Or of two texts:"
    " edit, the edit distance.",
)
@click.option(
    "--threshold",
    metavar="T",
    type=float,
    default=OPTIONS["min_resemblance"].default,
    help="Minimum similarity of a pair: above 0 (with 0 all pairs would be similar), up to 1; for"
    " overlap a number of shingles.",
)
@click.option(
    "--comparison",
    type=click.Choice(get_args(Comparison)),
    default=">=",
    help="How the similarity of a pair compares with the threshold.",
)
@flags.shingle_size_option
@flags.unit_options
@click.option(
    "--labelled",
    is_flag=True,
    help="Number the occurrences of a shingle, so that the second one of a page matches only the"
    " second one of another page (Broder 1997, option A).",
)
@click.option(
    "--algorithm",
    type=click.Choice(get_args(Filters)),
    default="bitmap",
    help="Algorithm; all find the same pairs. bitmap is fast; the others are those of Bayardo et"
    " al. (2007) and Xiao et al. (2008), to compare their numbers of candidates with"
    " --progress.",
)
@flags.number_option(
    "--distance",
    metavar="D",
    least=0,
    default=None,
    help="For edit: maximum number of characters inserted, deleted or replaced; for hamming:"
    " maximum number of shingles that only one page has.",
)
@flags.number_option(
    "--gram-size",
    metavar="Q",
    most=64,
    default=3,
    help="For edit: number of characters in the grams that find texts. It changes only the time.",
)
@flags.number_option(
    "--max-depth",
    least=0,
    default=MAX_DEPTH,
    help="For ppjoin+: how often its suffix filter divides the rest of a pair. It changes only the"
    " time.",
)
@flags.number_option(
    "--minima",
    metavar="N",
    default=None,
    help="For jaccard: compare N minima of each page instead of all shingles, which estimates"
    " resemblance (Broder et al. 1997; with 32, the arm sp of Xiao et al. 2008, Table 2).",
)
@flags.number_option(
    "--modulus",
    metavar="M",
    default=1,
    help="Compare one shingle in M (Broder's V_m), so that the similarity is an estimate.",
)
@flags.memory_option()
@flags.workers_options
@flags.text_options
@flags.pass_given
def join(given: flags.Given) -> None:
    """Print all pairs of pages that resemble each other, in the INPUTs or with --existing ones.

    The result is exact: pages are compared by their sets of shingles, or by their texts. INPUTs
    are those of scan. A page without text (empty, or not HTML) resembles no page. A shingle takes
    100 bytes; if --memory is too small for a collection, parts of it are joined with each other,
    which takes longer. The verb pairs joins fingerprints by Hamming distance.

    \b
    {"a": ..., "b": ..., "resemblance": x}
    a, b   URL or path; without --existing, a comes before b; with it, b is the existing one;
           for containment, a is what b contains
    x      exact; with another --measure the key is its name, and "distance" for edit and hamming

    \b
    Examples:
      scrapy-neardup join site/ --threshold 0.8
      scrapy-neardup join articles/ --existing books/ --measure containment
      scrapy-neardup join site/ --measure edit --distance 20
      scrapy-neardup join site/ --unit char --shingle-size 4 --labelled --algorithm ppjoin+
      scrapy-neardup join new.warc.gz --existing old.warc.gz | scrapy-neardup clusters --pairs -
    """  # noqa: D301  (click's mark for lines to keep)
    # Errors of options come before hours of reading.
    unused = _OF_SETS if given.measure == "edit" else _OF_STRINGS
    if given.measure == "hamming":
        unused = {"gram_size", "threshold", "comparison"}
    flags.refuse_given(f"--measure {given.measure}", unused)
    if given.measure == "containment":
        flags.refuse_given("--measure containment", _ALGORITHM)
    if given.measure in _OF_DISTANCE and given.distance is None:
        raise click.UsageError(f"--measure {given.measure} needs --distance")
    if given.measure not in _OF_DISTANCE:
        open_measure(cast("MeasureName", given.measure), given.threshold)
    units = _units(given)
    columns = flags.columns_of(given)
    corpora = [Corpus(each, columns) for each in (given.inputs, given.existing) if each]
    with rows_to(given.path) as results, workers(given.scheduler, given.jobs) as work:
        read = [Pages(corpus, given.text, given.ignore, work) for corpus in corpora]
        line = Progress(given.progress, given.path)

        def reading(start: Callable[[Pages], Iterable[T]]) -> list[list[T]]:
            pages = zip(read, corpora, strict=True)
            return [[*line.reading(start(part), corpus)] for part, corpus in pages]

        how = {"memory": given.memory, "work": work}
        if given.measure == "edit":
            found = _edited(reading(lambda part: part.strings(units)), given, how)
        else:
            documents = Documents()
            counts = [len(each) for each in reading(lambda part: part.number(documents, units))]
            found = _alike(documents, counts, line, given, how)
        first, last, key = read[0].names, read[-1].names, _VALUES.get(given.measure, given.measure)
        for i, j, value in found:
            results({"a": first[i], "b": last[j], key: value})


def _units(given: flags.Given) -> Callable[[str], list[bytes]]:
    """Return what makes of a text the units, or the sample of shingles, that are compared."""
    units = flags.units_of(given)
    if given.minima:
        if given.measure != "jaccard":
            raise click.UsageError("--minima needs --measure jaccard")
        flags.refuse_given("--minima", {"labelled", "comparison", "modulus"})
    elif given.modulus == 1:
        return units
    else:
        flags.refuse_given("--modulus", {"labelled"})
    return Sampled(units, given.shingle_size, given.modulus, given.minima)


Measured = Iterable[tuple[int, int, float]]
"""Pairs: the numbers of two pages in their collections, and the value of the measure."""


def _alike(
    documents: Documents,
    counts: list[int],
    line: Progress,
    given: flags.Given,
    how: Mapping[str, Any],
) -> Measured:
    """Return the pairs with similar sets of shingles; `counts` are sizes of the collections."""
    measure, minima = given.measure, given.minima
    least = given.threshold if given.distance is None else given.distance
    if minima:
        measure, least = "overlap", -(-Fraction(str(least)) * minima // 1)
    found = join_sets(
        documents,
        least,
        size=1 if minima or given.modulus > 1 else given.shingle_size,  # 1: what was sampled
        boundary=counts[0] if len(counts) > 1 else None,
        multiset=given.labelled,
        measure=measure,
        comparison=given.comparison,
        algorithm=given.algorithm,
        max_depth=given.max_depth,
        **how,
    )
    hits, candidates, pairs = found.stats.hits, found.stats.candidates, len(found.i)
    if line.shown:
        click.echo(f"{hits:,} hits, {candidates:,} candidates, {pairs:,} pairs", err=True)
    values = found.values.astype(int) if measure in _WHOLE and not minima else found.values
    values = values / minima if minima else values
    return zip(found.i.tolist(), found.j.tolist(), values.tolist(), strict=True)


def _edited(strings: list[list[str]], given: flags.Given, how: Mapping[str, Any]) -> Measured:
    """Return the pairs whose texts, words with a space between them, are within a distance."""
    both = [text for part in strings for text in part]
    boundary = len(strings[0]) if len(strings) > 1 else None
    found = join_strings(both, given.distance, q=given.gram_size, boundary=boundary, **how)
    for i, j, edits in zip(found.i.tolist(), found.j.tolist(), found.values.tolist(), strict=True):
        if both[i] and both[j + (boundary or 0)]:
            yield i, j, edits
