"""Which pages of a collection hold another one (Broder 1997: containment).

Rule of this module: pages are sets of 64-bit shingle hashes; reading and judging them is done.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.resemblance import mod_sketch
from scrapy_neardup.joins import hashed, self_join
from scrapy_neardup.joins.measures import open_measure

MIN_SAMPLE = 16
"""Minimum number of sampled shingles of a page of which it is said that another one holds it."""


class Holding:
    """Pages, until it is asked which of them hold which.

    Parameters
    ----------
    threshold
        Least share of a page's shingles that are in the page that holds it.
    modulus
        1: all shingles count, and shares are exact. m: those that m divides count, Broder's V_m,
        and shares are estimates with a standard error of sqrt(C * (1 - C) * m / n) for n shingles.

    Raises
    ------
    ConfigurationError
        The threshold is not above 0, up to 1, or the modulus not positive.

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
        """Return by page the pages that it holds, and how much of each; all by their numbers."""
        pairs = self_join(hashed(self._sketches), self._threshold, measure="containment")
        least = 1 if self._modulus == 1 else MIN_SAMPLE
        found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        for inner, outer, share in zip(
            pairs.i.tolist(), pairs.j.tolist(), pairs.similarity.tolist(), strict=True
        ):
            if len(self._sketches[inner]) >= least:
                found[self._pages[outer]].append((self._pages[inner], share))
        return dict(found)
