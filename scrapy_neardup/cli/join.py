"""``scrapy-neardup join``: all pairs of pages that resemble each other, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, cast, get_args

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, rows_to
from scrapy_neardup.joins import edit_join, self_join, shingles
from scrapy_neardup.joins import join as join_sets
from scrapy_neardup.joins.measures import MeasureName, open_measure
from scrapy_neardup.joins.setjoin import MAX_DEPTH, Algorithm, Comparison
from scrapy_neardup.offline.execution import workers
from scrapy_neardup.offline.jobs.joining import Pages, joined
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.settings.catalogue import OPTIONS, View

_VALUES = {"jaccard": "resemblance", "edit": "distance"}
"""Measure -> name of its values in the output, where that isn't its own."""
_ALGORITHM = {"algorithm", "max_depth"}
_OF_SETS = {
    "threshold", "comparison", "shingle_size", "unit", "stop_words", "stem", "labelled",
    *_ALGORITHM,
}  # fmt: skip
_OF_STRINGS = {"distance", "gram_size"}
"""Options of measures of sets, and of measures of strings."""


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@flags.existing_option
@click.option(
    "--measure",
    type=click.Choice([*get_args(MeasureName), "edit"]),
    default="jaccard",
    help="Of the sets of shingles: overlap / union (resemblance), overlap / geometric mean of"
    " the sizes, overlap / mean of the sizes, the overlap, overlap / smaller size, or overlap /"
    " size of the first page: its share that is in the second one. Of the texts: the edit"
    " distance.",
)
@click.option(
    "--threshold",
    metavar="T",
    type=float,
    default=OPTIONS["min_resemblance"].default,
    help="Minimum similarity of a pair: above 0, where all would be pairs, up to 1; for overlap a"
    " number of shingles.",
)
@click.option(
    "--comparison",
    type=click.Choice(get_args(Comparison)),
    default=">=",
    help="Of the similarity of a pair with the threshold.",
)
@flags.shingle_size_option
@flags.unit_options
@click.option(
    "--labelled",
    is_flag=True,
    help="Number the occurrences of a shingle, so that the second one of a page only matches the"
    " second one of another (Broder 1997, option A).",
)
@click.option(
    "--algorithm",
    type=click.Choice(get_args(Algorithm)),
    default="arrays",
    help="All find the same pairs. arrays is the fast one; the others are those of Bayardo et al."
    " (2007) and Xiao et al. (2008), to compare their numbers of candidates with --progress.",
)
@flags.number_option(
    "--distance",
    metavar="D",
    least=0,
    default=None,
    help="For edit: maximum number of characters inserted, deleted or replaced.",
)
@flags.number_option(
    "--gram-size",
    metavar="Q",
    most=64,
    default=3,
    help="For edit: characters in the grams by which texts are found. It changes the time only.",
)
@flags.number_option(
    "--max-depth",
    least=0,
    default=MAX_DEPTH,
    help="For ppjoin+: how often its suffix filter divides what is left of a pair. It changes the"
    " time only.",
)
@flags.workers_options
@flags.text_options
def join(
    *,
    inputs: tuple[str, ...],
    existing: tuple[str, ...],
    measure: str,
    text: View,
    ignore: tuple[str, ...],
    jobs: int,
    scheduler: str | None,
    path: str,
    progress: bool | None,
    **options: Any,
) -> None:
    """Print all pairs of pages that resemble each other, in the INPUTs or with --existing ones.

    Nothing is estimated: pages are compared by their sets of shingles, or by their texts.
    Inputs are those of scan. A page without text (empty, or not HTML) resembles none. All
    shingles are held in memory, some 100 bytes each. The join of fingerprints, by Hamming
    distance, is the verb pairs.

    \b
    {"a": ..., "b": ..., "resemblance": x}
    a, b   URL or path; without --existing, a comes before b; with it, b is the existing one;
           for containment, a is what b contains
    x      exact; with another --measure the key is its name, and "distance" for edit

    \b
    Examples:
      scrapy-neardup join site/ --threshold 0.8
      scrapy-neardup join articles/ --existing books/ --measure containment
      scrapy-neardup join site/ --measure edit --distance 20
      scrapy-neardup join site/ --unit char --shingle-size 4 --labelled --algorithm ppjoin+
      scrapy-neardup join new.warc.gz --existing old.warc.gz | scrapy-neardup clusters --pairs -
    """  # noqa: D301  (click's mark for lines to keep)
    # Errors of options come before hours of reading.
    flags.refuse_given(f"--measure {measure}", _OF_SETS if measure == "edit" else _OF_STRINGS)
    if measure == "containment":
        flags.refuse_given("--measure containment", _ALGORITHM)
    if measure != "edit":
        open_measure(cast("MeasureName", measure), options["threshold"])
    elif options["distance"] is None:
        raise click.UsageError("--measure edit needs --distance")
    units = flags.units_of(options)
    columns = flags.columns_of(options)
    corpora = [Corpus(each, columns) for each in (inputs, existing) if each]
    with rows_to(path) as results, workers(scheduler, jobs) as work:
        read = [Pages(corpus, text, ignore, work) for corpus in corpora]
        line = Progress(progress, results)
        pages = [
            line.reading(part.units(units), corpus)
            for part, corpus in zip(read, corpora, strict=True)
        ]
        found = _edited(pages, read[0], **options) if measure == "edit" else _alike(
            pages, cast("MeasureName", measure), read[0], line, **options
        )  # fmt: skip
        first, last, key = read[0].names, read[-1].names, _VALUES.get(measure, measure)
        for i, j, value in found:
            results({"a": first[i], "b": last[j], key: value})


Measured = Iterable[tuple[int, int, float]]
"""Pairs: the numbers of two pages in their collections, and the value of the measure."""


def _alike(
    pages: list[Iterator[list[bytes]]],
    measure: MeasureName,
    first: Pages,
    line: Progress,
    *,
    threshold: float,
    shingle_size: int,
    labelled: bool,
    comparison: Comparison,
    algorithm: Algorithm,
    max_depth: int,
    **_: Any,
) -> Measured:
    """Return the pairs whose sets of shingles are similar; `first` reads the first pages."""
    sets = shingles(chain.from_iterable(pages), shingle_size, multiset=labelled)
    how: dict[str, Any] = {"measure": measure, "comparison": comparison}
    how |= {"algorithm": algorithm, "max_depth": max_depth}
    run = partial(joined, work=first.work) if algorithm == "arrays" else joined
    if len(pages) == 1:
        found = run(self_join, sets, threshold, **how)
    else:
        left = len(first.names)
        found = run(join_sets, sets[:left], sets[left:], threshold, **how)
    hits, candidates, pairs = found.stats.hits, found.stats.candidates, len(found.i)
    if line.shown:
        click.echo(f"{hits:,} hits, {candidates:,} candidates, {pairs:,} pairs", err=True)
    values = found.values.astype(int) if measure == "overlap" else found.values
    return zip(found.i.tolist(), found.j.tolist(), values.tolist(), strict=True)


def _edited(
    pages: list[Iterator[list[bytes]]],
    first: Pages,
    *,
    distance: int,
    gram_size: int,
    **_: Any,
) -> Measured:
    """Return the pairs whose texts, words with a space between them, are within a distance."""
    strings, *others = [[b" ".join(words).decode() for words in part] for part in pages]
    existing = others[0] if others else None
    found = joined(edit_join, strings, distance, q=gram_size, others=existing, work=first.work)
    for i, j, edits in zip(found.i.tolist(), found.j.tolist(), found.values.tolist(), strict=True):
        if strings[i] and (strings if existing is None else existing)[j]:
            yield i, j, edits
