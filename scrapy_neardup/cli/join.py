"""``scrapy-neardup join`` and ``clusters``: pages that resemble each other, in pairs or groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import chain
from secrets import token_bytes
from typing import Any, cast, get_args

import click
import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, rows_to
from scrapy_neardup.fingerprints.broder import Filter, checked_filter
from scrapy_neardup.fingerprints.units import Unit
from scrapy_neardup.offline.clusters import canonical, cluster, cluster_names, members
from scrapy_neardup.offline.execution import Workers, left_of, workers
from scrapy_neardup.offline.files.sortedruns import Hashes, Integers
from scrapy_neardup.offline.files.sources import Name
from scrapy_neardup.offline.jobs.joining import (
    HashSets,
    Pages,
    Shingles,
    feature_clusters,
    join_sets,
)
from scrapy_neardup.offline.jobs.pairjob import read_pairs
from scrapy_neardup.offline.joins import SimilarPairs
from scrapy_neardup.offline.joins.measures import MeasureName, jaccard, open_measure
from scrapy_neardup.offline.joins.reference import Filters
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.settings.catalogue import OPTIONS

_VALUES = {"jaccard": "resemblance", "hamming": "distance"}
"""Measure -> name of its values in the output, where that isn't its own."""
_WHOLE = {"overlap", "hamming"}
"""Measures whose values are whole numbers."""
_UNUSED = {"hamming": {"threshold"}, "containment": {"distance", "algorithm"}}
"""Measure -> options that it doesn't use; others only have no distance."""


def _threshold_option(help: str) -> Callable[[Any], Any]:  # noqa: A002  (click's name)
    default = OPTIONS["min_resemblance"].default
    return click.option("--threshold", metavar="T", type=float, default=default, help=help)


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
@_threshold_option(
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

    The result is exact: pages are compared by hashes of all their shingles.
    INPUTs are those of scan. A page without text (empty, or not HTML) resembles no page. A shingle
    takes 100 bytes; if --memory is too small for a collection, groups of pages that may resemble
    each other are joined one after the other. The verb pairs joins fingerprints by Hamming
    distance.

    \b
    {"a": ..., "b": ..., "resemblance": x}
    a, b   URL or path; without --existing, a comes before b; with it, b is the existing one;
           for containment, a is what b contains
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
        read = [Pages(corpus, given.text, given.ignore, work) for corpus in corpora]
        line = Progress(given.progress, given.path)
        compared = HashSets(
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
            if first.tokens[i] and last.tokens[j]:
                results({"a": first.names[i], "b": last.names[j], key: value})


def _checked(given: flags.Given) -> Shingles:
    """Return what makes of a text the hashes that are compared, if the options fit together."""
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
    return Shingles(
        size=given.shingle_size,
        unit=given.unit,
        labelled=given.labelled,
        modulus=given.modulus,
        minima=given.minima,
    )


def _joined(
    compared: HashSets, given: flags.Given, **how: Any
) -> tuple[SimilarPairs, NDArray[Any]]:
    """Return the pairs of similar sets, and the values to print."""
    measure, minima = given.measure, given.minima
    least = given.threshold if given.distance is None else given.distance
    if minima:
        measure, least = "overlap", -(-Fraction(str(least)) * minima // 1)
    how |= {"memory": given.memory, "algorithm": given.algorithm}
    found = join_sets(compared, least, measure=measure, **how)
    values = found.values / minima if minima else found.values
    return found, values.astype(int) if given.measure in _WHOLE else values


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
@_threshold_option("Minimum resemblance of two pages of a cluster, above 0, up to 1.")
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
            raise click.UsageError("--canonical longest-text needs the pages, not --pairs of them")
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
                pages = Pages(corpus, given.text, given.ignore, work)
                shingles = Shingles(size=given.shingle_size, modulus=given.modulus)
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
        return feature_clusters(rows, kind.shared, memory=memory)
    sets = HashSets(read)
    pairs = join_sets(sets, given.threshold, memory=given.memory, work=work)
    return cluster(pairs.i, pairs.j, len(sets.sizes))


def _features(shingles: Hashes, kind: Filter) -> Hashes:
    """Return a page's features; those of a page without text match no other page."""
    if len(shingles):
        return kind.features_of(shingles)[None]
    return np.frombuffer(token_bytes(8 * kind.features), np.uint64)[None]
