"""``scrapy-neardup clusters``: pages that hang together, and one to stand for each cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import click
import numpy as np

from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.cli.options import refuse_given
from scrapy_neardup.cli.resemblance import shingle_size_option, text_options, watched
from scrapy_neardup.clusters import (
    COMMON,
    GreedyClusters,
    Rule,
    canonical,
    cluster,
    members,
    sampled,
)
from scrapy_neardup.joins import self_join, shingles
from scrapy_neardup.joins.measures import jaccard
from scrapy_neardup.offline.clustering import Hashes, Integers, cluster_on_disk
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.offline.namedpairs import Name, cluster_pairs, read_pairs
from scrapy_neardup.offline.texts import Texts
from scrapy_neardup.text.content import View

_OF_PAGES = {
    "method", "threshold", "modulus", "common", "memory", "directory", "shingle_size", "text",
    "ignore",
}  # fmt: skip
"""Options that --pairs leaves nothing to do."""
_UNUSED = {
    "exact": {"modulus", "common", "memory", "directory"},
    "disk": set(),
    "greedy": {"memory", "directory"},
}
"""Method -> options that it has no use for."""


@click.command()
@click.argument("inputs", metavar="[INPUT...]", nargs=-1)
@click.option(
    "--pairs",
    "pair_files",
    metavar="FILE",
    multiple=True,
    help="Instead of pages, read pairs as 'join' and 'pairs' print them, - for standard input;"
    " may be repeated.",
)
@click.option(
    "--method",
    type=click.Choice(["exact", "disk", "greedy"]),
    default="exact",
    help="How pages are clustered: connected by pairs, in memory; the same on disk, for"
    ' collections larger than memory (needs the extra "offline"); or around the first page'
    " of their kind, in one pass.",
)
@click.option(
    "--threshold",
    metavar="T",
    type=float,
    default=0.9,
    help="The least resemblance of two pages of a cluster, above 0, up to 1.",
)
@click.option(
    "--canonical",
    "rule",
    type=click.Choice(["first", "shortest-url", "longest-text"]),
    default="first",
    help="The page that stands for its cluster; a tie goes to the first.",
)
@click.option(
    "--modulus",
    metavar="M",
    type=click.IntRange(1),
    default=1,
    help="For disk and greedy: keep one shingle in M. Resemblance is then an estimate.",
)
@click.option(
    "--common",
    metavar="N",
    type=click.IntRange(1),
    default=COMMON,
    help="For disk: leave out the shingles of more pages than this; for greedy: don't look"
    " pages up by them.",
)
@click.option(
    "--memory", metavar="SIZE", default="1GB", help="For disk: memory to work in, and its unit."
)
@click.option(
    "--directory",
    metavar="DIR",
    default=None,
    help="For disk: where to put temporary files.  [default: the system's place for them]",
    show_default=False,
)
@shingle_size_option
@text_options
def clusters(
    *,
    inputs: tuple[str, ...],
    pair_files: tuple[str, ...],
    method: str,
    threshold: float,
    rule: Rule,
    modulus: int,
    common: int,
    memory: str,
    directory: str | None,
    shingle_size: int,
    text: View,
    ignore: tuple[str, ...],
    path: str,
    progress: bool | None,
) -> None:
    """Print the clusters of pages that resemble each other, or that --pairs connect.

    Inputs are those of scan. Pages alone are not printed; a page without text (empty, or no
    HTML) is alone.

    \b
    {"canonical": ..., "size": n, "pages": [...]}
    canonical   URL or path of the page that stands for the cluster
    pages       all of its pages, in the order in which they were seen

    \b
    Examples:
      scrapy-neardup clusters site/ --threshold 0.8 --canonical shortest-url
      scrapy-neardup pairs archive.pack | scrapy-neardup clusters --pairs - --output c.jsonl
      scrapy-neardup clusters crawl-*.warc.gz --method disk --modulus 8 --memory 4GB
    """  # noqa: D301  (click's mark for lines to keep)
    if bool(inputs) == bool(pair_files):
        raise click.UsageError("name either pages to compare, or files of --pairs")
    if pair_files and rule == "longest-text":
        raise click.UsageError("--canonical longest-text needs the pages, not --pairs of them")
    if pair_files:
        refuse_given("--pairs", _OF_PAGES)
    else:
        jaccard(threshold)  # what can't be used is said before hours of reading
        refuse_given(f"--method {method}", _UNUSED[method])
    names: Sequence[Name]
    with output(path) as results:
        line = Progress(progress, results)
        if pair_files:
            names, labels = cluster_pairs(read_pairs(pair_files))
            chosen = canonical(labels, rule, urls=[str(name) for name in names])
        else:
            corpus = Corpus(inputs)
            texts = Texts(corpus, text, ignore)
            if method == "exact":
                labels = _connected(watched(texts.words(), line, corpus), shingle_size, threshold)
            else:
                hashes = watched(texts.shingle_hashes(shingle_size), line, corpus)
                sketches = (sampled(page, modulus) for page in hashes)
                labels = (
                    _gathered(sketches, threshold, common)
                    if method == "greedy"
                    else cluster_on_disk(
                        sketches, threshold, common=common, memory=memory, directory=directory
                    ).labels
                )
            names = texts.names
            chosen = canonical(labels, rule, urls=texts.names, lengths=texts.tokens)
        for group in members(labels):
            row = {
                "canonical": names[chosen[group[0]]],
                "size": len(group),
                "pages": [names[page] for page in group],
            }
            print(json.dumps(row), file=results)


def _connected(pages: Iterable[list[bytes]], shingle_size: int, threshold: float) -> Integers:
    sets = shingles(pages, shingle_size)
    pairs = self_join(sets, threshold)
    return cluster(pairs.i, pairs.j, len(sets))


def _gathered(sketches: Iterable[Hashes], threshold: float, common: int) -> Integers:
    clusters = GreedyClusters(threshold, common=common)
    return np.array([clusters.add(sketch).number for sketch in sketches], dtype=np.int64)
