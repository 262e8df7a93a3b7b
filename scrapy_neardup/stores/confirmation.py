"""Is a candidate confirmed? How the sketches of two pages are compared.

Rule of this room: pure, and only about stored bytes; the scripts of the Redis store decide
the same (``lua/sketches.lua``).

An entry's sketches are stored one after the other, each view's; a view whose sketch equals
the first's isn't stored again. A page repeats an entry if in each view no more bins differ
than `Sketch.most_differing` allows, among those that its mask counts.
"""

from __future__ import annotations

from scrapy_neardup.verdict import Sketch


def stored(sketch: Sketch | None) -> bytes:
    """Return the sketches of a page as a store keeps them; ``b""`` where there is none."""
    if sketch is None:
        return b""
    first = sketch.views[0]
    if all(view == first for view in sketch.views):
        return first
    return b"".join(sketch.views)


def differing(sketch: Sketch, entry: bytes, bits: int) -> list[int]:
    """Return for each view of a page in how many counted bins an entry's sketch differs.

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
    return [
        _fields(
            (
                int.from_bytes(view, "big")
                ^ int.from_bytes(entry[place * size : (place + 1) * size] or entry[:size], "big")
            )
            & int.from_bytes(mask, "big"),
            bits,
        )
        for place, (view, mask) in enumerate(zip(sketch.views, sketch.masks, strict=True))
    ]


def confirmed(sketch: Sketch, counts: list[int]) -> bool:
    """Whether a page with so many differing bins in each view repeats the entry."""
    return all(count <= most for count, most in zip(counts, sketch.most_differing, strict=True))


def resemblance(sketch: Sketch, counts: list[int], bits: int) -> float:
    """Return the estimated resemblance, the lowest of the views.

    See `scrapy_neardup.fingerprints.b_bit_resemblance` for the estimate; 1.0 where no bin
    of a view counts.
    """
    accident = 2.0**-bits
    estimates = [1.0]
    for count, mask in zip(counts, sketch.masks, strict=True):
        counted = int.from_bytes(mask, "big").bit_count() // bits
        if counted:
            estimates.append((1 - count / counted - accident) / (1 - accident))
    return min(estimates)


def _fields(word: int, bits: int) -> int:
    """Count the fields of `bits` bits that are not 0."""
    shift = bits // 2
    while shift:
        word |= word >> shift
        shift //= 2
    size = -(-word.bit_length() // 8) or 1
    lowest = sum(1 << place for place in range(0, 8, bits))
    return (word & int.from_bytes(bytes([lowest]) * size, "big")).bit_count()
