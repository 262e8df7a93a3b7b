"""Shingles to what a store compares: min-wise features to find a page, sketches to confirm it.

Rule of this room: pure; what a page says of itself, and apart from that which of it is
furniture of its site.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints import b_bit_sketch, broder_features, one_permutation_sketch
from scrapy_neardup.fingerprints.minwise import held_by
from scrapy_neardup.fingerprints.shingles import distinct
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Page, Sketch

_FEWEST_BINS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Shingled:
    """A page as it was sketched.

    Parameters
    ----------
    groups
        Whose furniture may be on the page: names of its host and directory.
    views
        For each view the distinct shingles, uint64, shape (n,), ascending.
    minima
        For each view the minimum of each bin, uint64, shape (bins,).
    """

    groups: tuple[str, ...]
    views: tuple[NDArray[np.uint64], ...]
    minima: tuple[NDArray[np.uint64], ...]

    def shingles(self) -> NDArray[np.uint64]:
        """Return the distinct shingles of all views, ascending."""
        first, *rest = self.views
        if all(view is first for view in rest):
            return first
        return distinct(np.concatenate(self.views))


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchedPage(Page):
    """A page with what it was sketched from, which a store has no use for."""

    shingled: Shingled = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketcher:
    """How pages are sketched.

    Parameters
    ----------
    bins, bits
        Of a view's sketch; 0 bins: nothing is confirmed.
    min_resemblance
        Two pages are near-duplicates if they resemble each other at least so much.
    features, feature_size, shared_features
        Broder's k, s and r; k = 0: pages aren't looked up by features.
    fewest
        A page with fewer shingles that are not furniture must agree with another in all of
        them, as pages with so few words must.
    """

    bins: int
    bits: int
    min_resemblance: float
    features: int
    feature_size: int
    shared_features: int
    fewest: int = 0

    def matching(self, *, by_distance: bool) -> Matching:
        """Return what a store has to know of it."""
        return Matching(
            by_distance=by_distance,
            features=self.features,
            feature_size=self.feature_size if self.features else 0,
            shared_features=self.shared_features,
            sketch_bits=self.bits if self.bins else 0,
            sketch_bytes=self.bins * self.bits // 8,
        )

    @property
    def most_differing(self) -> float:
        """The share of bins in which the sketches of two near-duplicates may differ.

        Of the bins in which the sets differ, one in 2^bits looks equal by accident
        (Li & König, "b-Bit minwise hashing", WWW 2010, theorem 1).
        """
        return (1 - self.min_resemblance) * (1 - 2.0**-self.bits)

    def minima(self, shingles: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return as many minima of a set as its sketch or its features need."""
        needed = max(self.bins, self.features * self.feature_size, _FEWEST_BINS)
        return one_permutation_sketch(shingles, 1 << (needed - 1).bit_length())

    def features_of(self, minima: NDArray[np.uint64]) -> tuple[int, ...]:
        """Return the features of a set with these minima."""
        if not self.features:
            return ()
        sampled = minima[: self.features * self.feature_size]
        return tuple(broder_features(sampled, self.features, self.feature_size).tolist())

    def sketch(self, page: Shingled) -> Sketch | None:
        """Return the sketch of a page of which nothing is furniture."""
        if not self.bins:
            return None
        views = self._packed(page.minima)
        nothing = bytes(len(views[0]))
        return Sketch(
            views=views,
            furniture=(nothing,) * len(views),
            most_differing=self.most_differing,
        )

    def marked(
        self, sketch: Sketch, page: Shingled, furniture: NDArray[np.uint64], other_title: float
    ) -> Sketch:
        """Return the sketch of a page of which these shingles, ascending, are furniture."""
        marks, most_differing = sketch.furniture, sketch.most_differing
        if len(furniture):
            marks = _Marks(self, page, furniture)
            if any(self._is_few(view, furniture) for view in page.views):
                most_differing = 0.0
        return Sketch(
            views=sketch.views,
            furniture=marks,
            most_differing=most_differing,
            other_title=other_title,
        )

    def mark(
        self,
        shingles: NDArray[np.uint64],
        minima: NDArray[np.uint64],
        furniture: NDArray[np.uint64],
    ) -> bytes:
        """Return the bins of a view that hold furniture, as a mask of its sketch.

        Their minima are others without it.
        """
        shared = _common(shingles, furniture)
        if not len(shared):
            return bytes(self.bins * self.bits // 8)
        held = held_by(minima, shared)[: self.bins]
        # All bits of these bins, in the order of `b_bit_sketch`.
        return np.packbits(held.repeat(self.bits), bitorder="little").tobytes()

    def _is_few(self, shingles: NDArray[np.uint64], furniture: NDArray[np.uint64]) -> bool:
        """Whether few of the shingles are no furniture."""
        if len(shingles) - len(furniture) >= self.fewest:
            return False
        return len(shingles) - len(_common(shingles, furniture)) < self.fewest

    def _packed(self, minima: tuple[NDArray[np.uint64], ...]) -> tuple[bytes, ...]:
        first = b_bit_sketch(minima[0][: self.bins], self.bits).tobytes()
        return tuple(
            first if view is minima[0] else b_bit_sketch(view[: self.bins], self.bits).tobytes()
            for view in minima
        )


@dataclass(slots=True, eq=False)
class _Marks(Sequence[bytes]):
    """For each view its bins that hold furniture.

    They are found when somebody looks: nobody does so where no other page is like this one,
    and that is most pages.
    """

    sketcher: Sketcher
    page: Shingled
    furniture: NDArray[np.uint64]
    _found: tuple[bytes, ...] = ()

    def __len__(self) -> int:
        return len(self.page.views)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[bytes, ...]: ...
    def __getitem__(self, place: int | slice) -> bytes | tuple[bytes, ...]:
        if not self._found:
            views, minima = self.page.views, self.page.minima
            first = self.sketcher.mark(views[0], minima[0], self.furniture)
            self._found = tuple(
                first if view is views[0] else self.sketcher.mark(view, least, self.furniture)
                for view, least in zip(views, minima, strict=True)
            )
        return self._found[place]


def _common(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return what is in both sets, neither of them empty, each ascending."""
    fewer, more = (ours, theirs) if len(ours) < len(theirs) else (theirs, ours)
    places = np.searchsorted(more, fewer)
    common: NDArray[np.uint64] = fewer[more.take(places, mode="clip") == fewer]
    return common
