"""A sample of a collection that keeps together what looks alike.

Rule of this module: of a collection a sample of whole groups is drawn, as a sample of single
pages would tear the pairs apart that it is drawn for: of pages taken one in three, one pair in
nine is left.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.clusters import UnionFind
from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import (
    broder_features,
    features,
    one_permutation_sketch,
    token_hashes,
)
from scrapy_neardup.offline.record import MAX_PAGE, Record
from scrapy_neardup.offline.scan import read
from scrapy_neardup.reports.audit import Entry
from scrapy_neardup.text import Content
from scrapy_neardup.verdict import Decision, Verdict

SHINGLE = 4
"""Number of words in a shingle of the truth, independent of the filter's."""

DUPLICATE, LOST = 0.9, 0.8
"""Minimum resemblance of a duplicate to an earlier page, and the resemblance below which a drop
loses content."""

_FEATURES, _SIZE, _BINS = 16, 6, 128
"""Number of features that group pages, minima of each, and bins of the sketch: of pairs of
resemblance 0.9 one in 100,000 shares no feature, of 0.8 one in 120, of 0.5 three quarters."""

_COMPARED = 8
"""Maximum number of earlier pages that a page is compared with for each feature: the first, and
the newest."""

_LARGEST = 10
"""Divisor of the sample's size that gives the maximum pages of one group."""

_ALONE = 5
"""Divisor of the sample's size that gives the number of pages that are like no other."""

_REMEMBERED = 2
"""Multiple of the sample's size up to which a collection is read once and held in memory."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page of a collection, read.

    Parameters
    ----------
    name
        What it is called: its URL, or where it was found.
    content
        What it says; None where it can't be read.
    """

    name: str
    content: Content | None


@dataclass(frozen=True, slots=True)
class Sample:
    """Pages of a collection, in its order.

    Parameters
    ----------
    pages
        Those of the sample.
    groups
        For each the number of its group; shape (n,), int64.
    weights
        How many pages of the collection each stands for; shape (n,), float64.
    collection
        How many pages the collection has.
    """

    pages: list[ReadPage]
    groups: NDArray[np.int64]
    weights: NDArray[np.float64]
    collection: int


def read_pages(records: Iterable[Record], analyser: Analyser) -> Iterator[ReadPage]:
    """Yield the pages of records, as `scan` reads them."""
    for record in records:
        content = read(record, analyser)
        yield ReadPage(record.page, content if isinstance(content, Content) else None)


def audited_pages(entries: Iterable[Entry]) -> Iterator[ReadPage]:
    """Yield the pages of audits with texts, each once: title, headings and text.

    Raises
    ------
    InputError
        There is no text in any of them.
    """
    names: set[str] = set()
    for entry in entries:
        if "text" in entry and entry["page"] not in names:
            names.add(entry["page"])
            headings = entry.get("headings") or ()
            yield ReadPage(
                entry["page"],
                Content(
                    text=unpacked(entry["text"]),
                    title=entry.get("title") or "",
                    headings=(headings,) if isinstance(headings, str) else tuple(headings),
                ),
            )
    if not names:
        raise InputError("the audit holds no texts; NEARDUP_AUDIT_TEXT = True puts them there")


def unpacked(text: str) -> str:
    """Return a text of an audit, cut off at `MAX_PAGE` bytes; ``""`` for what is none."""
    try:
        packed = base64.b64decode(text, validate=True)
        return zlib.decompressobj().decompress(packed, MAX_PAGE).decode(errors="replace")
    except (ValueError, zlib.error):
        return ""


async def draw(
    pages: Callable[[], Iterable[ReadPage]], size: int, detector: Detector, seed: int = 0
) -> Sample:
    """Draw whole groups of pages until there are `size` pages.

    Parameters
    ----------
    pages
        Gives the pages of the collection. It is called twice, unless they are few.
    size
        About how many pages to draw; of a smaller collection all are.
    detector
        Judges all pages. Weights are such that pages of each kind (dropped or not, with a
        look-alike or not, short or not) count as much as in the collection: what is estimated
        from the sample errs as much less as these foretell it (Särndal, Swensson and Wretman,
        "Model Assisted Survey Sampling", 1992, section 7.6: poststratification).
    seed
        Of the drawing.

    Notes
    -----
    Pages that are like no other have a fifth of the sample, or what is left of it, as they tell
    almost nothing. Every other group is as likely to be drawn as any; one that is larger than a
    tenth of the sample is drawn in part. A kind of which no page is drawn counts nothing.
    O(tokens) of time; 1 kB a page of memory beside the detector's, and the pages drawn.
    """
    held: list[ReadPage] = []
    minima: list[NDArray[np.uint64] | None] = []
    dropped: list[bool] = []
    short: list[bool] = []
    for number, page in enumerate(pages()):
        if len(held) < _REMEMBERED * size:
            held.append(page)
        minima.append(_minima(page))
        verdict = await judged(page, number, detector)
        dropped.append(verdict is not None and verdict.is_duplicate)
        short.append(
            verdict is not None and verdict.tokens < detector.analyser.parameters.min_tokens
        )
    count = len(minima)
    groups, alike = _compared(minima)
    if count <= size:
        return Sample(held, groups, np.ones(count), count)
    chosen = _chosen(groups, size, Random(seed))
    again = held if len(held) == count else pages()
    drawn = {number: page for number, page in enumerate(again) if number in chosen}
    numbers = np.array(list(drawn), np.int64)
    weights = np.array([chosen[number] for number in drawn])
    alone = np.bincount(groups, minlength=count)[groups] == 1
    kinds = 8 * alone + 4 * np.array(dropped) + 2 * (alike >= DUPLICATE) + np.array(short)
    for kind in np.unique(kinds[numbers]).tolist():
        own = kinds[numbers] == kind
        if own.any():
            weights[own] *= (kinds == kind).sum() / weights[own].sum()
    return Sample(list(drawn.values()), groups[numbers], weights, count)


async def judged(page: ReadPage, number: int, detector: Detector) -> Verdict | None:
    """Judge a page that could be read, and confirm it if it is new."""
    if page.content is None:
        return None
    verdict = await detector.judge(page.content, page_id=number, url=page.name)
    if verdict.decision is Decision.NEW:
        await detector.store.confirm(verdict.page_id)
    return verdict


def _minima(page: ReadPage) -> NDArray[np.uint64] | None:
    tokens = token_hashes(page.content.text if page.content else "")
    if not len(tokens):
        return None
    return one_permutation_sketch(features(tokens, shingle_size=SHINGLE)[0], _BINS)


def _compared(
    minima: list[NDArray[np.uint64] | None],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each page's group, which is its first page, and how like an earlier one it seems."""
    holders: dict[tuple[int, int], list[int]] = {}
    pairs: list[tuple[int, int]] = []
    alike = np.zeros(len(minima))
    for number, own in enumerate(minima):
        if own is None:
            continue
        near: set[int] = set()
        for feature in enumerate(
            broder_features(own[: _FEATURES * _SIZE], _FEATURES, _SIZE).tolist()
        ):
            known = holders.setdefault(feature, [])
            near.update(known)
            if len(known) == _COMPARED:
                del known[_COMPARED // 2]
            known.append(number)
        pairs += ((other, number) for other in near)
        alike[number] = max(((own == minima[other]).mean() for other in near), default=0.0)
    joined = UnionFind(len(minima))
    joined.union_many(*np.array(pairs, np.int64).reshape(-1, 2).T)
    return joined.find_many(np.arange(len(minima))), alike


def _chosen(groups: NDArray[np.int64], size: int, source: Random) -> dict[int, float]:
    """Return the numbers of the pages that are drawn, and how many of its group each is for."""
    order = np.argsort(groups, kind="stable")
    bounds = np.flatnonzero(np.diff(groups[order], prepend=-1, append=-1))
    members = [order[a:b].tolist() for a, b in pairwise(bounds.tolist())]
    alone = [group[0] for group in members if len(group) == 1]
    members = [group for group in members if len(group) > 1]
    source.shuffle(members)
    most = max(size // _LARGEST, 2)
    room = size - min(len(alone), size // _ALONE)
    chosen: dict[int, float] = {}
    for group in members:
        drawn = group if len(group) <= most else source.sample(group, most)
        if len(chosen) + len(drawn) > room:
            break
        chosen |= dict.fromkeys(drawn, len(group) / len(drawn))
    chosen |= dict.fromkeys(source.sample(alone, min(len(alone), size - len(chosen))), 1.0)
    return dict(sorted(chosen.items()))
