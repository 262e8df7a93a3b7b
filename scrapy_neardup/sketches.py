"""Shingles to what a store compares: min-wise features to find a page, sketches to confirm it.

Rule of this room: pure; what a page says of itself, and apart from that which of it is
furniture of its site.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints import b_bit_sketch, broder_features, one_permutation_sketch
from scrapy_neardup.fingerprints.minwise import held_by
from scrapy_neardup.fingerprints.shingles import distinct
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Page, Sketch

_FEWEST_BINS = 16

_FEWEST_BITS = 16
"""Of the bins that don't hold furniture, before they say anything. Of thousands of pages with a
long template and a few words some agree in fewer by accident."""


@dataclass(frozen=True, slots=True, eq=False)
class Shingled:
    """A page as it was sketched.

    Parameters
    ----------
    groups
        Whose furniture may be on the page: names of its host and directory.
    views
        Of text and core the distinct shingles, uint64, shape (n,), ascending.
    minima
        Of text and core the minimum of each bin, uint64, shape (bins,).
    """

    groups: tuple[str, ...]
    views: tuple[NDArray[np.uint64], NDArray[np.uint64]]
    minima: tuple[NDArray[np.uint64], NDArray[np.uint64]]

    def shingles(self) -> NDArray[np.uint64]:
        """Return the distinct shingles of text and core, ascending."""
        text, core = self.views
        return text if core is text else distinct(np.concatenate(self.views))


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
        Of a sketch; 0 bins: nothing is confirmed.
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
        text = b_bit_sketch(page.minima[0][: self.bins], self.bits).tobytes()
        return Sketch(
            text=text,
            named=self._named(*page.minima),
            furniture=bytes(len(text)),
            most_differing=self.most_differing,
        )

    def marked(
        self, sketch: Sketch, page: Shingled, furniture: NDArray[np.uint64], other_title: float
    ) -> Sketch:
        """Return the sketch of a page of which these shingles, ascending, are furniture."""
        marks, most_differing = sketch.furniture, sketch.most_differing
        if len(furniture):
            marks = _Marks(self, page, furniture)
            text, core = page.views
            if self._is_few(text, furniture) or (
                core is not text and self._is_few(core, furniture)
            ):
                most_differing = 0.0
        return Sketch(
            text=sketch.text,
            named=sketch.named,
            furniture=marks,
            most_differing=most_differing,
            other_title=other_title,
        )

    def can_tell(self, sketch: Sketch, page: Shingled, furniture: NDArray[np.uint64]) -> bool:
        """Return whether enough of a sketch isn't furniture to tell its page from others."""
        shingles, bits = len(page.views[0]), 8 * len(sketch.text)
        if (shingles - len(furniture)) * bits >= 2 * _FEWEST_BITS * shingles:
            return True  # so many are sure to be left
        marks = int.from_bytes(bytes(sketch.furniture), "little")
        return bits - marks.bit_count() >= _FEWEST_BITS

    def marks(self, page: Shingled, furniture: NDArray[np.uint64]) -> bytes:
        """Return the bins that hold furniture, all bits set: without it they change."""
        shared = _common(page.views[0], furniture)
        if not len(shared):
            return bytes(self.bins * self.bits // 8)
        held = held_by(page.minima[0], shared)[: self.bins]
        return np.packbits(held.repeat(self.bits), bitorder="little").tobytes()

    def _is_few(self, shingles: NDArray[np.uint64], furniture: NDArray[np.uint64]) -> bool:
        """Whether few of the shingles are no furniture."""
        if len(shingles) - len(furniture) >= self.fewest:
            return False
        return len(shingles) - len(_common(shingles, furniture)) < self.fewest

    def _named(self, text: NDArray[np.uint64], core: NDArray[np.uint64]) -> bytes:
        """Return the bins in which these minima differ, as `Sketch.named` has them."""
        named = text[: self.bins] != core[: self.bins]
        if core is text or not named.any():
            return b""
        parts = named.reshape(self.bits, -1, 8 // self.bits)
        return np.packbits(parts.transpose(1, 2, 0), bitorder="little").tobytes()


@dataclass(slots=True, eq=False)
class _Marks:
    """`Sketcher.marks` when somebody looks: nobody does where no page is like this one.

    That is most pages.
    """

    sketcher: Sketcher
    page: Shingled
    furniture: NDArray[np.uint64]
    _found: bytes = b""

    def __bytes__(self) -> bytes:
        self._found = self._found or self.sketcher.marks(self.page, self.furniture)
        return self._found


def _common(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return what is in both sets, neither of them empty, each ascending."""
    fewer, more = (ours, theirs) if len(ours) < len(theirs) else (theirs, ours)
    places = np.searchsorted(more, fewer)
    common: NDArray[np.uint64] = fewer[more.take(places, mode="clip") == fewer]
    return common
