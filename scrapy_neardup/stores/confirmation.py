"""Is a candidate confirmed? How the sketches of two pages are compared.

Rule of this room: pure, and only about stored bytes; the scripts of the Redis store decide
the same (``lua/sketches.lua``).

A page repeats an entry if their texts resemble each other, and so do their cores, which are
estimated from the same sketch: by the bins that neither page has `named`. There both have the
minimum of their core. (What one has named the other need not: elements of a printable version
have no names.) Of either, the bins don't count in which both pages have the same value and it is
furniture of the site: what every page shares says nothing of these two. In each

    differing <= most_differing * counted

so that where next to nothing but furniture is left, all of it must agree. Where the entry has
another title (`base.another_title`), only the page's `other_title` of that may differ.
"""

from __future__ import annotations

from typing import NamedTuple

from scrapy_neardup.verdict import Sketch


class Compared(NamedTuple):
    """Texts or cores of two pages, in bins."""

    differing: int
    counted: int


def stored(sketch: Sketch | None) -> bytes:
    """Return the sketch of a page as a store keeps it; ``b""`` where there is none."""
    return b"" if sketch is None else sketch.text + sketch.named


class Comparison:
    """A page's sketch, made ready to be compared with those of many entries.

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
        "_bits", "_furniture", "_lowest", "_most_differing", "_named", "_other_title", "_shifts",
        "_size", "_text",
    )  # fmt: skip

    def __init__(self, sketch: Sketch, bits: int) -> None:
        self._bits = bits
        self._most_differing = sketch.most_differing
        self._other_title = sketch.other_title
        self._size = len(sketch.text)
        # A word that is shifted so, and joined with itself, has in the lowest bit of each
        # bin whether any bit of the bin is set.
        self._shifts = [shift for shift in (4, 2, 1) if shift < bits]
        self._lowest = _word(bytes([_lowest(bits)]) * self._size)
        self._text = _word(sketch.text)
        self._furniture = _word(bytes(sketch.furniture)) & self._lowest
        self._named = self._spread(sketch.named)

    def compare(self, entry: bytes) -> list[Compared]:
        """Compare the page with an entry: their texts, and their cores if these are others.

        Parameters
        ----------
        entry
            What `stored` returned for another page.
        """
        differing = self._text ^ _word(entry[: self._size])
        for shift in self._shifts:
            differing |= differing >> shift
        differing &= self._lowest
        counted = self._lowest & (~self._furniture | differing)
        compared = [Compared(differing.bit_count(), counted.bit_count())]
        if named := self._named | self._spread(entry[self._size :]):
            core = differing & ~named, counted & ~named
            compared.append(Compared(core[0].bit_count(), core[1].bit_count()))
        return compared

    def _spread(self, named: bytes) -> int:
        """Return the lowest bit of each bin that is named."""
        if not named:
            return 0
        word, lowest = _word(named), _word(bytes([_lowest(self._bits)]) * len(named))
        return sum((word >> part & lowest) << 8 * len(named) * part for part in range(self._bits))

    def confirmed(self, entry: bytes, *, another_title: bool = False) -> float | None:
        """Return the estimated resemblance if the page repeats the entry, else None."""
        compared = self.compare(entry)
        most = self._most_differing * (self._other_title if another_title else 1)
        if any(differing > most * counted for differing, counted in compared):
            return None
        return resemblance(compared, self._bits)


def resemblance(compared: list[Compared], bits: int) -> float:
    """Return the estimated resemblance, the lower one of text and core, not below 0.

    See `scrapy_neardup.fingerprints.b_bit_resemblance`; 1.0 where no bin counts.
    """
    accident = 2.0**-bits
    return min(
        max(0.0, 1 - differing / counted / (1 - accident)) if counted else 1.0
        for differing, counted in compared
    )


def _lowest(bits: int) -> int:
    """Return a byte with the lowest bit of each of its bins."""
    return 0xFF // ((1 << bits) - 1)


def _word(sketch: bytes) -> int:
    return int.from_bytes(sketch, "little")
