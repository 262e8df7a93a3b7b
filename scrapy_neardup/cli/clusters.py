"""``scrapy-neardup clusters``: clusters of pages, and the canonical page of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from secrets import token_bytes

import click
import numpy as np

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, rows_to
from scrapy_neardup.fingerprints.broder import Filter, checked_filter
from scrapy_neardup.fingerprints.hashing import Hashes, Integers
from scrapy_neardup.offline.clusters import canonical, cluster, cluster_names, members
from scrapy_neardup.offline.execution import Workers, left_of, workers
from scrapy_neardup.offline.files.sources import Name
from scrapy_neardup.offline.jobs import joining
from scrapy_neardup.offline.jobs.pairjob import read_pairs
from scrapy_neardup.offline.joins.measures import jaccard
from scrapy_neardup.offline.readers.corpus import Corpus

_OF_PAGES = {
    "method", "features", "threshold", "modulus", "memory", "shingle_size", "text", "ignore",
    "jobs", "scheduler", "text_column", "html_column", "url_column", "id_column",
}  # fmt: skip
"""Options that can't be combined with --pairs."""
_UNUSED_BY = {"exact": {"features"}, "features": {"threshold", "modulus"}}
"""Method -> options that it doesn't use."""


@click.command()
@click.argument("inputs", metavar="[INPUT...]", nargs=-1)
@click.option(
    "--pairs",
    "pair_files",
    metavar="FILE",
    multiple=True,
    help="Read pairs instead of pages, as 'join' and 'pairs' print them; - is standard input; may"
    " be repeated.",
)
@click.option(
    "--method",
    type=click.Choice(["exact", "features"]),
    default="exact",
    help="How pages are connected: exact, by their resemblance; features, by shared min-wise"
    " features.",
)
@flags.setting_option(
    "features",
    default="6,14,2",
    help="For features: K features of S minima each, under independent permutations (Broder 2000);"
    " pages of a cluster share R of them.",
)
@flags.threshold_option("Minimum resemblance of two pages of a cluster, above 0, up to 1.")
@click.option(
    "--canonical",
    "rule",
    type=click.Choice(["first", "shortest-url", "longest-text"]),
    default="first",
    help="The canonical page of a cluster; a tie goes to the first.",
)
@flags.number_option(
    "--modulus",
    metavar="M",
    default=1,
    help="For exact: compare one shingle in M (Broder's V_m), so that resemblance is an estimate.",
)
@flags.memory_option()
@flags.shingle_size_option
@flags.workers_options
@flags.text_options
@flags.pass_given
def clusters(given: flags.Given) -> None:
    """Print the clusters of pages that resemble each other, or that --pairs connect.

    INPUTs are those of scan. A page that resembles no other isn't printed, nor is a page without
    text (empty, or not HTML).

    \b
    {"canonical": ..., "size": n, "pages": [...]}
    canonical   URL or path of the canonical page
    pages       all of its pages, in the order in which they were seen

    \b
    Examples:
      scrapy-neardup clusters site/ --threshold 0.8 --canonical shortest-url
      scrapy-neardup pairs archive.pack | scrapy-neardup clusters --pairs - --output c.jsonl
      scrapy-neardup clusters crawl-*.warc.gz --modulus 8 --memory 4GB
      scrapy-neardup clusters site/ --method features --memory 1GB
    """  # noqa: D301  (click's mark for lines to keep)
    if bool(given.inputs) == bool(given.pair_files):
        raise click.UsageError("name either pages to compare, or files of --pairs")
    if given.pair_files:
        if given.rule == "longest-text":
            raise click.UsageError("--canonical longest-text needs pages, not --pairs")
        flags.refuse_given("--pairs", _OF_PAGES)
    else:
        # Errors of options come before hours of reading.
        jaccard(given.threshold)
        checked_filter(given.features)
        flags.refuse_given(f"--method {given.method}", _UNUSED_BY[given.method])
    names: Sequence[Name]
    tokens: Sequence[int]
    with rows_to(given.path) as results:
        if given.pair_files:
            names, labels = cluster_names(read_pairs(given.pair_files))
            tokens = ()
        else:
            corpus = Corpus(given.inputs, flags.columns_of(given))
            line = Progress(given.progress, given.path)
            with workers(given.scheduler, given.jobs) as work:
                pages = joining.Pages(corpus, given.text, given.ignore, work)
                shingles = joining.Shingles(size=given.shingle_size, modulus=given.modulus)
                labels = _clustered(line.reading(pages.read(shingles), corpus), given, work)
            names, tokens = pages.names, pages.tokens
        costs = {
            "shortest-url": [len(str(name)) for name in names],
            "longest-text": [-count for count in tokens],
        }
        chosen = canonical(labels, costs.get(given.rule))
        for group in members(labels):
            found = [names[page] for page in group]
            results({"canonical": names[chosen[group[0]]], "size": len(group), "pages": found})


def _clustered(read: Iterable[Hashes], given: flags.Given, work: Workers) -> Integers:
    if given.method == "features":
        kind = checked_filter(given.features)
        rows = (_features(page, kind) for page in read)
        memory = max(1 << 20, left_of(given.memory, 0) // 2)  # names: the rest
        return joining.feature_clusters(rows, kind.shared, memory=memory)
    numbers: list[int] = []
    sets = joining.HashSets(_different(read, numbers))
    pairs = joining.join_sets(sets, given.threshold, memory=given.memory, work=work)
    return cluster(pairs.i, pairs.j, len(sets.sizes))[numbers]


def _different(read: Iterable[Hashes], numbers: list[int]) -> Iterator[Hashes]:
    """Yield each set once, and an empty one, which is like no other, each time.

    `numbers` gets the number of each page's set. All pairs of a page that was fetched 100,000
    times wouldn't fit into memory.
    """
    known: dict[bytes, int] = {}
    count = 0
    for each in read:
        key = blake2b(each.tobytes(), digest_size=16).digest()
        numbers.append(known.setdefault(key, count) if len(each) else count)
        if numbers[-1] == count:
            count += 1
            yield each


def _features(shingles: Hashes, kind: Filter) -> Hashes:
    """Return a page's features; for a page without text, features that match no other page."""
    if len(shingles):
        return kind.features_of(shingles)[None]
    return np.frombuffer(token_bytes(8 * kind.features), np.uint64)[None]
