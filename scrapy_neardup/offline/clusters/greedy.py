"""Greedy clusters, in one pass and little memory: each page joins the first one like it.

This is Broder's alternative for collections with too many pairs ("On the resemblance and
containment of documents", 1997). It keeps only one sketch for each cluster, that of its first
page. The result depends on the order of the pages, and a chain of resemblances doesn't join
distant pages.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.offline.joins.measures import jaccard
from scrapy_neardup.settings.arguments import whole_number

Hashes = NDArray[np.uint64]

COMMON = 1000
"""Maximum number of leaders listed under a shingle; Broder et al. left out common ones, too."""

_BITS = 1024
"""Number of bits of the bitmap of a sketch."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Leader(NamedTuple):
    """The first page of a page's cluster, and their resemblance."""

    number: int
    resemblance: float


@dataclass(slots=True)
class _Kept:
    """A leader's sketch and its bitmap."""

    sketch: Hashes
    bits: int
    reach: int = 0
    """Number of its hashes that were read to list it under rare ones."""


class GreedyClusters:
    """Clusters that grow page by page, around first pages that others resemble by `threshold`.

    A shingle with more than `common` leaders is no longer looked up; it still counts for the
    resemblance. A page is compared with the leaders that share one of its smallest hashes among
    their own smallest ones (the prefix filtering principle: sketches are ordered by hash, common
    ones last). So each page finds its best leader, unless more than a share of `threshold` of its
    hashes, or of the leader's, are common. A leader takes 300 bytes of memory, 8 for each
    hash, and some 100 more for each hash of its prefix.
    """

    def __init__(self, threshold: float | Fraction, *, common: int = COMMON) -> None:
        self._measure = jaccard(threshold)
        self._most = whole_number("common", common, least=1)
        self._leaders: dict[int, _Kept] = {}
        self._lists: defaultdict[int, list[int]] = defaultdict(list)
        self._common: set[int] = set()
        self._pages = 0

    def add(self, sketch: Hashes) -> Leader:
        """Add the next page; return the first page of its cluster, which it resembles most.

        `sketch` has the hashes of a page's shingles, uint64, increasing, all of them or those that
        `mod_sketch` keeps. The page begins a cluster itself, with resemblance 1, if it resembles
        no leader, or its sketch is empty.
        """
        number = self._pages
        self._pages += 1
        if not len(sketch):
            return Leader(number, 1.0)
        prefix = self._measure.probing_prefix(len(sketch))
        page = _Kept(sketch, _bits(sketch))
        best = self._best(page, prefix)
        if best is not None:
            return best
        self._leaders[number] = page
        self._list([(number, prefix)])
        return Leader(number, 1.0)

    def _best(self, page: _Kept, prefix: int) -> Leader | None:
        uncommon = (shingle for shingle in page.sketch.tolist() if shingle not in self._common)
        candidates: set[int] = set()
        for shingle in islice(uncommon, prefix):
            candidates.update(self._lists.get(shingle, ()))
        best: Leader | None = None
        for number in sorted(candidates):
            leader = self._leaders[number]
            small, large = sorted((len(page.sketch), len(leader.sketch)))
            required = self._measure.required(large, small)
            if (page.bits ^ leader.bits).bit_count() > large + small - 2 * required:
                continue
            overlap = len(np.intersect1d(page.sketch, leader.sketch, assume_unique=True))
            resemblance = overlap / (large + small - overlap)
            if overlap >= required and (best is None or resemblance > best.resemblance):
                best = Leader(number, resemblance)
        return best

    def _list(self, waiting: list[tuple[int, int]]) -> None:
        """List each leader under some more of its hashes."""
        while waiting:
            number, more = waiting.pop()
            leader = self._leaders[number]
            while more and leader.reach < len(leader.sketch):
                shingle = int(leader.sketch[leader.reach])
                leader.reach += 1
                if shingle in self._common:
                    continue
                more -= 1
                listed = self._lists[shingle]
                listed.append(number)
                if len(listed) > self._most:
                    self._common.add(shingle)
                    del self._lists[shingle]
                    waiting += ((other, 1) for other in listed)


def _bits(sketch: Hashes) -> int:
    """Return a bitmap in which each hash flips a bit, so at most as many bits as hashes differ."""
    flipped = sketch * _SPREAD >> np.uint64(64 - _BITS.bit_length() + 1)
    odd = np.bincount(flipped.astype(np.int64), minlength=_BITS) & 1
    return int.from_bytes(np.packbits(odd.astype(np.uint8)).tobytes(), "big")
