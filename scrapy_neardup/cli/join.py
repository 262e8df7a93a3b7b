"""``scrapy-neardup join``: all pairs of pages that resemble each other, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from typing import Any, cast, get_args

import click
from numpy.typing import NDArray

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, rows_to
from scrapy_neardup.fingerprints.units import Unit
from scrapy_neardup.offline.execution import workers
from scrapy_neardup.offline.jobs import joining
from scrapy_neardup.offline.joins import SimilarPairs
from scrapy_neardup.offline.joins.measures import MeasureName, open_measure
from scrapy_neardup.offline.joins.reference import Filters
from scrapy_neardup.offline.readers.corpus import Corpus

_VALUES = {"jaccard": "resemblance", "hamming": "distance"}
"""Measure -> name of its values in the output, if it differs from the measure's name."""
_WHOLE = {"overlap", "hamming"}
"""Measures whose values are whole numbers."""
_UNUSED = {"hamming": {"threshold"}, "containment": {"distance", "algorithm"}}
"""Measure -> options that it doesn't use. All others don't use the distance."""


@click.command()
@flags.inputs
@flags.existing_option
@click.option(
    "--measure",
    type=click.Choice(get_args(MeasureName)),
    default="jaccard",
    help="Similarity of two sets of shingles: jaccard, overlap / union (resemblance); cosine,"
    " overlap / geometric mean of the sizes; dice, overlap / mean of the sizes; overlap, the"
    " overlap; containment, overlap / size of the first page; hamming, the number of shingles that"
    " only one page has.",
)
@flags.threshold_option(
    "Minimum similarity of a pair: above 0 (with 0 all pairs would be similar), up to 1; for"
    " overlap a number of shingles."
)
@flags.shingle_size_option
@click.option(
    "--unit",
    type=click.Choice(get_args(Unit)),
    default="word",
    help="What shingles are made of: words, characters, lines or sentences.",
)
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
    help="For hamming: maximum number of shingles that only one page has.",
)
@flags.number_option(
    "--minima",
    most=1 << 16,
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

    The result is exact: pages are compared by hashes of all their shingles. INPUTs are those of
    scan. A page without text (empty, or not HTML) resembles no page. A shingle takes 100 bytes; if
    --memory is too small for a collection, groups of pages that may resemble each other are joined
    one after the other. To join fingerprints by Hamming distance, use pairs.

    \b
    {"a": ..., "b": ..., "resemblance": x}
    a, b   URL or path; without --existing, a comes before b; with it, b is the existing one;
           for containment, b contains a
    x      exact; with another --measure the key is its name, and "distance" for hamming

    \b
    Examples:
      scrapy-neardup join site/ --threshold 0.8
      scrapy-neardup join articles/ --existing books/ --measure containment
      scrapy-neardup join site/ --unit char --shingle-size 4 --labelled --algorithm ppjoin+
      scrapy-neardup join new.warc.gz --existing old.warc.gz | scrapy-neardup clusters --pairs -
    """  # noqa: D301  (click's mark for lines to keep)
    shingles = _checked(given)  # errors of options come before hours of reading
    columns = flags.columns_of(given)
    corpora = [Corpus(each, columns) for each in (given.inputs, given.existing) if each]
    with rows_to(given.path) as results, workers(given.scheduler, given.jobs) as work:
        read = [joining.Pages(corpus, given.text, given.ignore, work) for corpus in corpora]
        line = Progress(given.progress, given.path)
        compared = joining.HashSets(
            chain.from_iterable(
                line.reading(pages.read(shingles), corpus)
                for pages, corpus in zip(read, corpora, strict=True)
            )
        )
        boundary = len(read[0].names) if given.existing else None
        found, values = _joined(compared, given, boundary=boundary, work=work)
        if line.shown:
            hits, candidates, pairs = found.stats.hits, found.stats.candidates, len(found.i)
            click.echo(f"{hits:,} hits, {candidates:,} candidates, {pairs:,} pairs", err=True)
        first, last, key = read[0], read[-1], _VALUES.get(given.measure, given.measure)
        for i, j, value in zip(found.i.tolist(), found.j.tolist(), values.tolist(), strict=True):
            results({"a": first.names[i], "b": last.names[j], key: value})


def _checked(given: flags.Given) -> joining.Shingles:
    """Return the function that makes hashes of a text, if the options fit together."""
    flags.refuse_given(f"--measure {given.measure}", _UNUSED.get(given.measure, {"distance"}))
    if given.measure != "hamming":
        open_measure(cast("MeasureName", given.measure), given.threshold)
    elif given.distance is None:
        raise click.UsageError("--measure hamming needs --distance")
    if given.minima:
        if given.measure != "jaccard":
            raise click.UsageError("--minima needs --measure jaccard")
        flags.refuse_given("--minima", {"labelled", "modulus"})
    elif given.modulus > 1:
        flags.refuse_given("--modulus", {"labelled"})
    return joining.Shingles(
        size=given.shingle_size,
        unit=given.unit,
        labelled=given.labelled,
        modulus=given.modulus,
        minima=given.minima,
    )


def _joined(
    compared: joining.HashSets, given: flags.Given, **how: Any
) -> tuple[SimilarPairs, NDArray[Any]]:
    """Return the pairs of similar sets, and the values to print."""
    measure, minima = given.measure, given.minima
    least = given.threshold if given.distance is None else given.distance
    if minima:
        measure, least = "overlap", -(-Fraction(str(least)) * minima // 1)
    how |= {"memory": given.memory, "algorithm": given.algorithm}
    found = joining.join_sets(compared, least, measure=measure, **how)
    values = found.values / minima if minima else found.values
    return found, values.astype(int) if given.measure in _WHOLE else values
