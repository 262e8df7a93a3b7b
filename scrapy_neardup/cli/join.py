"""``scrapy-neardup join``: all pairs of pages that resemble each other, exactly."""

from __future__ import annotations

import json
from itertools import chain

import click

from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.cli.options import existing_option
from scrapy_neardup.cli.resemblance import resemblance_options, watched
from scrapy_neardup.joins import join as join_sets
from scrapy_neardup.joins import self_join, shingles
from scrapy_neardup.joins.measures import MeasureName, open_measure
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.offline.texts import Texts
from scrapy_neardup.text.content import View

_VALUES = {"jaccard": "resemblance", "cosine": "cosine", "overlap": "overlap"}
"""Measure -> what its values are called."""


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@existing_option
@click.option(
    "--threshold",
    metavar="T",
    type=float,
    default=0.9,
    help="The least similarity of a pair: up to 1, for overlap a number of shingles.",
)
@click.option(
    "--measure",
    type=click.Choice(list(_VALUES)),
    default="jaccard",
    help="Of the sets of shingles: overlap / union (resemblance), overlap / geometric mean of"
    " the sizes, or the overlap.",
)
@resemblance_options
def join(
    *,
    inputs: tuple[str, ...],
    existing: tuple[str, ...],
    threshold: float,
    measure: MeasureName,
    shingle_size: int,
    text: View,
    ignore: tuple[str, ...],
    path: str,
    progress: bool | None,
) -> None:
    """Print all pairs of pages that resemble each other, in the INPUTs or with --existing ones.

    Nothing is estimated: pages are compared by their sets of shingles. Inputs are those of
    scan. A page without text (empty, or no HTML) resembles none. All shingles are held in
    memory, some 100 bytes each.

    \b
    {"a": ..., "b": ..., "resemblance": x}
    a, b   URL or path; without --existing, a comes before b; with it, b is the existing one
    x      exact; with another --measure the key is "cosine" or "overlap"

    \b
    Examples:
      scrapy-neardup join site/ --threshold 0.8
      scrapy-neardup join new.warc.gz --existing old.warc.gz | scrapy-neardup clusters --pairs -
    """  # noqa: D301  (click's mark for lines to keep)
    open_measure(measure, threshold)  # what can't be used is said before hours of reading
    corpora = [Corpus(inputs), Corpus(existing)] if existing else [Corpus(inputs)]
    texts = [Texts(corpus, text, ignore) for corpus in corpora]
    with output(path) as results:
        line = Progress(progress, results)
        pages = (
            watched(part.words(), line, corpus)
            for part, corpus in zip(texts, corpora, strict=True)
        )
        sets = shingles(chain.from_iterable(pages), shingle_size)
        first, last = texts[0].names, texts[-1].names
        if existing:
            found = join_sets(sets[: len(first)], sets[len(first) :], threshold, measure=measure)
        else:
            found = self_join(sets, threshold, measure=measure)
        key = _VALUES[measure]
        for i, j, value in zip(
            found.i.tolist(), found.j.tolist(), found.similarity.tolist(), strict=True
        ):
            row = {"a": first[i], "b": last[j], key: int(value) if key == "overlap" else value}
            print(json.dumps(row), file=results)
