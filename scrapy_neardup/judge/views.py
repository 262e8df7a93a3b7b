"""How the texts of two pages compare, as far as their sketches show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import SharedShingles
from scrapy_neardup.judge.shingling import KINDS, NAMED, TEXT, Text
from scrapy_neardup.judge.sketch import Overlap, Sketch, marked, overlap

_DEVIATIONS: Final = 2.0
"""Number of standard deviations by which a sampled resemblance may be too high."""
_UNSEEN: Final = 3.0
"""Number of sampled shingles that may differ if none was seen to, with 95 % confidence."""


class Views(NamedTuple):
    """How two texts compare: without elements named as boilerplate, and with them."""

    text: Overlap
    all: Overlap
    text_scale: float
    """Number of shingles for each one compared: sketches sample, and boilerplate hides some."""
    all_scale: float
    """The same of both kinds, on average: most named elements are sampled more coarsely."""
    unseen: float
    """Number of shingles of named elements that may differ although no sampled one does."""

    def least(self) -> float:
        """Return what the resemblance of all text is at least, but for one case in forty."""
        return _least(self.all.plus(Overlap(0.0, self.unseen, 0.0)), self.all_scale)

    def least_beside(self, ours: int, theirs: int) -> float:
        """Return the same of the text and so many words of each page that have no equal."""
        return _least(self.text.plus(Overlap(0.0, ours, theirs)), self.text_scale)


def _least(view: Overlap, scale: float) -> float:
    found, union = view.resemblance, max(1.0, sum(view))
    return found - _DEVIATIONS * sqrt(max(0.0, found * (1 - found) * (scale - 1) / union))


def views_of(  # noqa: PLR0917
    ours: Sequence[Sketch],
    theirs: Evidence,
    sizes: tuple[int, int],
    shared: Iterable[SharedShingles],
    changing: Collection[int],
    is_named_equal: bool,
) -> Views:
    """Return how the texts of a page at hand and of a stored one compare.

    `ours` are the sketches of the first, without the text at DOM paths that are `changing`;
    `shared` is boilerplate; `is_named_equal` says that elements named as boilerplate are equal.
    """
    found, scales = [], []
    for a, b, size, kind in zip(ours, theirs.sketches, sizes, KINDS, strict=True):
        level, boilerplate = max(a.level, b.level), 0
        for each in shared:
            boilerplate |= each.sketch(kind, size, level)
        seen = max(1, size - boilerplate.bit_count())
        scales.append(size / seen * 2.0**level)
        # Of the stored page it isn't known which shingles change, but how many.
        at_changing = theirs.shingles_at(changing, kind)
        both = overlap(a, b, boilerplate, size)
        found.append(both._replace(theirs=max(0.0, both.theirs - at_changing)))
    text, named = found
    if is_named_equal:
        scales[NAMED] = 1.0  # nothing is sampled of what is known to be equal
    whole = text.plus(named)
    scale = (scales[TEXT] * sum(text) + scales[NAMED] * sum(named)) / max(1.0, sum(whole))
    return Views(text, whole, scales[TEXT], scale, _UNSEEN * (scales[NAMED] - 1))


def joints(
    text: Text,
    theirs: Sketch,
    size: int,
    our_shared: Collection[SharedShingles],
    their_shared: Collection[SharedShingles],
) -> int:
    """Return how many shingles differ only as they reach into headers and footers that differ.

    The text of the page at hand begins or ends with boilerplate, and its innermost shingle isn't
    boilerplate of the other page, which has boilerplate that this one lacks. The content beside it
    begins or ends as on the other page: its outermost shingles are in `theirs`, a sketch of `size`
    bits, as far as they are sampled. O(shingles of the page and of the boilerplate).
    """
    own, other = map(_merged, (our_shared, their_shared))
    if np.isin(other, own, assume_unique=True).all():
        return 0
    of_page = shingle_hashes(text.words, text.size) & ~np.uint64(1)
    is_known = np.isin(of_page, own)
    found = 0
    for shingles, known in ((of_page, is_known), (of_page[::-1], is_known[::-1])):
        run = int(known.argmin())
        if not run or np.isin(shingles[run - 1], other):
            continue
        joined, content = (
            int.from_bytes(marked(each, size, theirs.level), "little")
            for each in np.split(shingles[run : run + 2 * text.size - 1], [text.size - 1])
        )
        if content and not content & ~theirs.bits:
            missing = (joined & ~theirs.bits).bit_count()
            found += min(missing << theirs.level, text.size - 1)
    return found


def _merged(shared: Collection[SharedShingles]) -> NDArray[np.uint64]:
    return np.unique(np.concatenate([each.shingles for each in shared]))
