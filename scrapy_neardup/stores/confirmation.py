"""Is a candidate confirmed? How the sketches of two pages are compared.

Rule of this room: pure, and only about stored bytes; the scripts of the Redis store decide
the same (``lua/sketches.lua``).

An entry's sketches are stored one after the other, each view's; where all are equal, the
first stands for them. Of a view's bins those don't count in which both pages have the same
value and it is furniture of the site: what every page shares says nothing of these two. A
page repeats an entry if in each view

    differing <= most_differing * counted

so that where next to nothing but furniture is left, all of it must agree.
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


def compare(sketch: Sketch, entry: bytes, bits: int) -> list[Compared]:
    """Compare each view of a page with an entry's.

    Parameters
    ----------
    sketch
        The page's.
    entry
        What `stored` returned for another page.
    bits
        Bits of a bin: 1, 2, 4 or 8.
    """
    size = len(sketch.views[0])
    compared = []
    for place, (view, furniture) in enumerate(zip(sketch.views, sketch.furniture, strict=True)):
        other = entry[place * size : (place + 1) * size] or entry[:size]
        differs = int.from_bytes(view, "big") ^ int.from_bytes(other, "big")
        mask = int.from_bytes(furniture, "big")
        differing = _fields(differs, bits)
        shared = mask.bit_count() // bits - _fields(differs & mask, bits) if mask else 0
        compared.append(Compared(differing, size * 8 // bits - shared))
    return compared


def confirmed(sketch: Sketch, compared: list[Compared]) -> bool:
    """Whether a page repeats the entry that it was compared with."""
    return all(differing <= sketch.most_differing * counted for differing, counted in compared)


def resemblance(compared: list[Compared], bits: int) -> float:
    """Return the estimated resemblance, the lowest of the views, not below 0.

    See `scrapy_neardup.fingerprints.b_bit_resemblance`; 1.0 where no bin of a view counts.
    """
    accident = 2.0**-bits
    return min(
        max(0.0, 1 - differing / counted / (1 - accident)) if counted else 1.0
        for differing, counted in compared
    )


def _fields(word: int, bits: int) -> int:
    """Count the fields of `bits` bits that are not 0."""
    shift = bits // 2
    while shift:
        word |= word >> shift
        shift //= 2
    lowest = sum(1 << place for place in range(0, 8, bits))
    size = -(-word.bit_length() // 8)
    return (word & int.from_bytes(bytes([lowest]) * size, "big")).bit_count()
