"""Furniture of one page: which bins of its sketch it has, and which it would have with the rest.

Rule of this module: nothing is computed before it is asked for, as most pages have no candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.evidence.layout import bin_values
from scrapy_neardup.fingerprints.minwise import held_by

_MIN_LACKED = 16
"""Minimum number of bins in which a page would show the furniture that it lacks."""

_NOTHING = np.empty(0, np.uint64)


class Marks:
    """The furniture of one page.

    Parameters
    ----------
    shingles
        The page's, distinct and ascending, shape (n,), uint64.
    minima
        Of its sketch, shape (bins,), uint64.
    furniture
        Of its site, distinct and ascending, uint64.
    sketch
        Returns the minima of the furniture, of the same shape.
    fewest
        Minimum number of shingles that are no furniture; with fewer the page is furniture for the
        most part.
    """

    __slots__ = ("_common", "_fewest", "_furniture", "_minima", "_plane", "_shingles", "_sketch")

    def __init__(
        self,
        shingles: NDArray[np.uint64],
        minima: NDArray[np.uint64],
        furniture: NDArray[np.uint64],
        sketch: Callable[[], NDArray[np.uint64]],
        fewest: int,
    ) -> None:
        self._shingles, self._minima = shingles, minima
        self._furniture, self._sketch, self._fewest = furniture, sketch, fewest
        self._common: NDArray[np.uint64] | None = None
        self._plane: int | None = None

    def plane(self) -> int:
        """Return the bins whose minimum is furniture, bin i as bit i. O(shingles + bins)."""
        if self._plane is None:
            common = self._found()
            self._plane = _plane(held_by(self._minima, common)) if len(common) else 0
        return self._plane

    def lacked(self, bits: int) -> tuple[int, tuple[int, ...]] | None:
        """Return the furniture that a page like this one has and this one lacks.

        Parameters
        ----------
        bits
            Of a bin.

        Returns
        -------
        bins, values : int, tuple of int
            The bins whose minimum would be furniture with it, and the values that they would
            have, a plane for each bit; None for a page with half of the furniture or more.
        """
        if 2 * len(self._found()) >= len(self._furniture):
            return None
        minima = self._sketch()
        where = minima < self._minima
        if np.count_nonzero(where) < _MIN_LACKED:
            return None
        values = bin_values(minima)
        return _plane(where), tuple(_plane(values >> place & 1) for place in range(bits))

    def is_most(self) -> bool:
        """Return whether fewer shingles than `fewest` are no furniture."""
        if len(self._shingles) - len(self._furniture) >= self._fewest:
            return False
        return len(self._shingles) - len(self._found()) < self._fewest

    def _found(self) -> NDArray[np.uint64]:
        if self._common is None:
            self._common = common(self._shingles, self._furniture)
        return self._common


def common(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return what is in both sets, each ascending."""
    if not (len(ours) and len(theirs)):
        return _NOTHING
    fewer, more = (ours, theirs) if len(ours) < len(theirs) else (theirs, ours)
    places = np.searchsorted(more, fewer)
    found: NDArray[np.uint64] = fewer[more.take(places, mode="clip") == fewer]
    return found


def _plane(bins: NDArray[Any]) -> int:
    """Return bin i as bit i of a number."""
    return int.from_bytes(np.packbits(bins, bitorder="little").tobytes(), "little")
