"""Shingles to what a store compares: min-wise features to find a page, sketches to confirm it.

Rule of this room: pure; what a page says of itself, and apart from that which of it is
furniture of its site.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints import b_bit_sketch, broder_features, one_permutation_sketch
from scrapy_neardup.fingerprints.minwise import held_by, pack_bins
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Page, Sketch

_FEWEST_BINS = 16
_LEADING = np.uint64(64 - 16)

_FEWEST_BITS = 16
"""Of a view's bins that don't hold furniture, before they say anything. Of thousands of pages
with a long template and a few words some agree in fewer by accident."""


@dataclass(frozen=True, slots=True, eq=False)
class Shingled:
    """A page as it was sketched.

    Parameters
    ----------
    groups
        Whose furniture may be on the page: names of its host and directory.
    views
        For each view the distinct shingles, uint64, shape (n,).
    minima
        For each view the minimum of each bin, uint64, shape (bins,).
    """

    groups: tuple[str, ...]
    views: tuple[NDArray[np.uint64], ...]
    minima: tuple[NDArray[np.uint64], ...]

    def shingles(self) -> NDArray[np.uint64]:
        """Return the distinct shingles of all views."""
        first, *rest = self.views
        return (
            first if all(view is first for view in rest) else np.unique(np.concatenate(self.views))
        )


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

    def marked(self, sketch: Sketch, page: Shingled, furniture: NDArray[np.uint64]) -> Sketch:
        """Return the sketch of a page of which these shingles are furniture.

        A bin holds furniture if its minimum is another one without it.
        """
        known: dict[int, tuple[bytes, bool]] = {}
        for shingles, minima in zip(page.views, page.minima, strict=True):
            if id(shingles) not in known:
                shared = _common(shingles, furniture)
                few = len(shingles) - len(shared) < self.fewest
                known[id(shingles)] = self._mask(minima, shared), few
        masks, are_few = zip(*(known[id(view)] for view in page.views), strict=True)
        most_differing = 0.0 if any(are_few) else sketch.most_differing
        return replace(sketch, furniture=masks, most_differing=most_differing)

    def can_tell(self, sketch: Sketch) -> bool:
        """Return whether enough of a sketch isn't furniture to tell its page from others."""
        size = 8 * len(sketch.views[0])
        most = max(int.from_bytes(bins, "little").bit_count() for bins in sketch.furniture)
        return size - most >= _FEWEST_BITS

    def _packed(self, minima: tuple[NDArray[np.uint64], ...]) -> tuple[bytes, ...]:
        first = b_bit_sketch(minima[0][: self.bins], self.bits).tobytes()
        return tuple(
            first if view is minima[0] else b_bit_sketch(view[: self.bins], self.bits).tobytes()
            for view in minima
        )

    def _mask(self, minima: NDArray[np.uint64], furniture: NDArray[np.uint64]) -> bytes:
        if not len(furniture):
            return bytes(self.bins * self.bits // 8)
        held = held_by(minima, furniture)[: self.bins]
        return pack_bins(
            held.astype(np.uint8) * np.uint8((1 << self.bits) - 1), self.bits
        ).tobytes()


def _common(shingles: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return which of the shingles are among the ascending `others`, of which there are some."""
    # Most aren't, and their leading bits say so for a third of the time of a search.
    leading = np.zeros(1 << 16, np.bool_)
    leading[(others >> _LEADING).view(np.int64)] = True
    shingles = shingles[leading[(shingles >> _LEADING).view(np.int64)]]
    places = np.searchsorted(others, shingles).clip(max=len(others) - 1)
    common: NDArray[np.uint64] = shingles[others[places] == shingles]
    return common
