"""Pages of a collection that contain others (Broder 1997: containment)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.resemblance import mod_sketch
from scrapy_neardup.joins import hashed, self_join
from scrapy_neardup.joins.measures import open_measure

MIN_SAMPLE = 16
"""Minimum number of sampled shingles of a page that is said to be contained in another."""


class Holding:
    """The pages of a collection, as sets of shingle hashes, and which of them contain which.

    Parameters
    ----------
    threshold
        Minimum share of a page's shingles that the page containing it has; above 0, up to 1.
    modulus
        1: all shingles count, and shares are exact. m: those that m divides count, Broder's V_m,
        and shares are estimates with a standard error of sqrt(C * (1 - C) * m / n) for n shingles.

    Notes
    -----
    Holds 8 bytes of every shingle that counts, and some 100 while it compares them.
    """

    def __init__(self, threshold: float, modulus: int = 1) -> None:
        open_measure("containment", threshold)
        self._threshold = threshold
        self._modulus = modulus
        self._pages: list[int] = []
        self._sketches: list[NDArray[np.uint64]] = []

    def add(self, page: int, shingles: NDArray[np.uint64]) -> None:
        """Add a page by its number; `shingles` has shape (n,), distinct."""
        sketch = shingles if self._modulus == 1 else mod_sketch(shingles, self._modulus)
        if len(sketch):
            self._pages.append(page)
            self._sketches.append(sketch)

    def held(self) -> dict[int, list[tuple[int, float]]]:
        """Return, by page, the pages that it contains and the share of each, as numbers."""
        pairs = self_join(hashed(self._sketches), self._threshold, measure="containment")
        least = 1 if self._modulus == 1 else MIN_SAMPLE
        found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        for inner, outer, share in zip(
            pairs.i.tolist(), pairs.j.tolist(), pairs.similarity.tolist(), strict=True
        ):
            if len(self._sketches[inner]) >= least:
                found[self._pages[outer]].append((self._pages[inner], share))
        return dict(found)
