"""Is a candidate confirmed? How the sketches of two pages are compared.

Rule of this room: pure, and only about stored bytes; the scripts of the Redis store decide
the same (``lua/sketches.lua``).

An entry's sketches are stored one after the other, each view's; where all are equal, the
first stands for them. Of a view's bins those don't count in which both pages have the same
value and it is furniture of the site: what every page shares says nothing of these two. Nor do
those in which a view after the first differs from the first one of its own page. There what is
left out of that view is the minimum, in one page at least; but the other may not have left it
out, if it is a printable version whose elements have no names. What remains is a sample of the
view all the same. A page repeats an entry if in each view

    differing <= most_differing * counted

so that where next to nothing but furniture is left, all of it must agree. Where the entry has
another title (`base.another_title`), only the page's `other_title` of that may differ.
"""

from __future__ import annotations

from typing import NamedTuple

from scrapy_neardup.verdict import Sketch


class Compared(NamedTuple):
    """One view of two pages, in bins."""

    differing: int
    counted: int


def stored(sketch: Sketch | None) -> bytes:
    """Return the sketches of a page as a store keeps them; ``b""`` where there is none."""
    if sketch is None:
        return b""
    first = sketch.views[0]
    if all(view == first for view in sketch.views):
        return first
    return b"".join(sketch.views)


class Comparison:
    """A page's sketches, made ready to be compared with those of many entries.

    Parameters
    ----------
    sketch
        The page's.
    bits
        Bits of a bin: 1, 2, 4 or 8.

    Notes
    -----
    A sketch is one long integer: all of its bins are compared in a handful of operations.
    """

    __slots__ = (
        "_bits",
        "_lowest",
        "_most_differing",
        "_other_title",
        "_shifts",
        "_size",
        "_views",
    )

    def __init__(self, sketch: Sketch, bits: int) -> None:
        self._bits = bits
        self._most_differing = sketch.most_differing
        self._other_title = sketch.other_title
        self._size = len(sketch.views[0])
        # A word that is shifted so, and joined with itself, has in the lowest bit of each
        # bin whether any bit of the bin is set.
        self._shifts = [shift for shift in (4, 2, 1) if shift < bits]
        lowest = bytes([sum(1 << place for place in range(0, 8, bits))])
        self._lowest = _word(lowest * self._size)
        views = [_word(view) for view in sketch.views]
        self._views = [
            (view, self._differing(view, views[0]), _word(furniture) & self._lowest)
            for view, furniture in zip(views, sketch.furniture, strict=True)
        ]

    def compare(self, entry: bytes) -> list[Compared]:
        """Compare each view of the page with an entry's.

        Parameters
        ----------
        entry
            What `stored` returned for another page.
        """
        size = self._size
        others = [_word(entry[start : start + size]) for start in range(0, len(entry), size)]
        others += others[:1] * (len(self._views) - len(others))
        compared = []
        for other, (view, apart, furniture) in zip(others, self._views, strict=False):
            counted = self._lowest & ~(apart | self._differing(other, others[0]))
            differing = self._differing(view, other) & counted
            counted &= ~furniture | differing
            compared.append(Compared(differing.bit_count(), counted.bit_count()))
        return compared

    def _differing(self, one: int, two: int) -> int:
        """Return the lowest bit of each bin in which two views differ."""
        word = one ^ two
        if word:
            for shift in self._shifts:
                word |= word >> shift
        return word & self._lowest

    def confirmed(self, entry: bytes, *, another_title: bool = False) -> float | None:
        """Return the estimated resemblance if the page repeats the entry, else None."""
        compared = self.compare(entry)
        most = self._most_differing * (self._other_title if another_title else 1)
        if any(differing > most * counted for differing, counted in compared):
            return None
        return resemblance(compared, self._bits)


def resemblance(compared: list[Compared], bits: int) -> float:
    """Return the estimated resemblance, the lowest of the views, not below 0.

    See `scrapy_neardup.fingerprints.b_bit_resemblance`; 1.0 where no bin of a view counts.
    """
    accident = 2.0**-bits
    return min(
        max(0.0, 1 - differing / counted / (1 - accident)) if counted else 1.0
        for differing, counted in compared
    )


def _word(sketch: bytes) -> int:
    return int.from_bytes(sketch, "little")
