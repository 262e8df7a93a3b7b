"""Clusters in one pass and little memory: pages gather around the first of their kind.

The alternative that Broder gives for collections whose pairs are too many ("On the
resemblance and containment of documents", 1997): only one sketch a cluster is kept, that of
the page that began it, and a page joins the cluster whose first page it resembles most, or
begins one. The result depends on the order of the pages, and a chain of resemblances does
not draw distant pages together as it does in connected components.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.joins.arguments import whole_number
from scrapy_neardup.joins.measures import jaccard

Hashes = NDArray[np.uint64]


class Leader(NamedTuple):
    """The page that a page gathers around, and how much they resemble each other."""

    number: int
    resemblance: float


class GreedyClusters:
    """Clusters that grow page by page.

    Parameters
    ----------
    threshold
        The least resemblance with the first page of a cluster, above 0 and at most 1.

    Raises
    ------
    ConfigurationError
        For a threshold out of range.

    Notes
    -----
    8 bytes for every hash in the sketch of a cluster's first page, and some 100 for each
    hash of its prefix: sketches are ordered by hash, and two that resemble each other have
    a hash in common among their smallest (the prefix filtering principle), so only those
    are looked up.
    """

    def __init__(self, threshold: float | Fraction) -> None:
        self._measure = jaccard(threshold)
        self._sketches: dict[int, Hashes] = {}
        self._lists: defaultdict[int, list[int]] = defaultdict(list)
        self._pages = 0

    def add(self, sketch: Hashes) -> Leader:
        """Put the next page into the cluster that it fits best.

        Parameters
        ----------
        sketch
            uint64, increasing: the hashes of a page's shingles, all of them or those that
            `sampled` keeps. An empty one resembles none.

        Returns
        -------
        Leader
            The first page of its cluster: of several that resemble it equally the earliest;
            the page itself, with resemblance 1, where it begins one.
        """
        number = self._pages
        self._pages += 1
        size = len(sketch)
        prefix = sketch[: self._measure.probing_prefix(size)].tolist() if size else []
        candidates = {leader for shingle in prefix for leader in self._lists.get(shingle, ())}
        best = Leader(number, 0.0)
        for leader in sorted(candidates):
            other = self._sketches[leader]
            small, large = sorted((size, len(other)))
            if small < self._measure.smallest_partner(large):
                continue
            overlap = len(np.intersect1d(sketch, other, assume_unique=True))
            resemblance = overlap / (size + len(other) - overlap)
            if overlap >= self._measure.required(large, small) and resemblance > best.resemblance:
                best = Leader(leader, resemblance)
        if best.resemblance:
            return best
        if size:
            self._sketches[number] = sketch
        for shingle in prefix:
            self._lists[shingle].append(number)
        return Leader(number, 1.0)


def sampled(hashes: Hashes, modulus: int) -> Hashes:
    """Return Broder's sketch of a page: the hashes that are 0 modulo `modulus`.

    Every page keeps the same share of all shingles, so that the resemblance of two sketches
    estimates that of the pages, and their containment, too.

    Parameters
    ----------
    hashes
        uint64, distinct; increasing, and so is the result.
    modulus
        From 1, which keeps all. Broder et al. ("Syntactic clustering of the Web", 1997)
        took 25.

    Raises
    ------
    ConfigurationError
        `modulus` is no whole number from 1.
    """
    kept = hashes % np.uint64(whole_number("the modulus", modulus, least=1)) == 0
    sketch: Hashes = hashes[kept]
    return sketch
