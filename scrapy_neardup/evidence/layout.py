"""The evidence that a store keeps of a page: a head, and bit planes of a sketch.

It says what bytes mean, and nothing else.

========== ============ =====================================================================
bytes      type         what
========== ============ =====================================================================
0 to 3     uint32       steps of site and path (`scrapy_neardup.urls.Address`)
4 to 7     2 x uint16   site and path; query
8 to 27    10 x uint16  words of title and headings, hashed, ascending; 0 for none
28 to 35   4 x uint16   the *tracked places* of the page: those that may change with each response
                        (`scrapy_neardup.evidence.places.tracked`); 0 for none
36, 37     uint16       name: the last part of the path and the query
38, 39     uint16       sum of the shingles of the text; 0 for a short page
40 to 49   5 x uint16   sums of the shingles within rows of the core: outside of tracked places,
                        and in each of these
50 on      planes       for each bit of a bin one plane of `bins` bits
========== ============ =====================================================================

The first `bits` planes are the b-bit values of the bins (Li & König, "b-Bit minwise hashing",
WWW 2010). Three more planes are the *owner* of each bin: where in the page the shingle stands
whose hash is the minimum. 0 is content of any place, 1 to 4 a tracked place, 5 the *border* of two
rows (a shingle that begins in one and ends in another, which depends on their order); 6 and 7 what
by its form is likely to be no content: elements named as furniture, and links.

So two pages can be compared without any part of either that turns out not to be content, long
after they were read, from 50 bytes and five bits a bin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.hashing import PUBLIC

MAX_TITLE_WORDS: Final = 10
"""Number of hashed words of title and headings that are kept; the last one stands for the rest."""
MAX_TRACKED: Final = 4
"""Number of places that are told apart."""
BORDER: Final = 5
"""Owner of the bins whose minimum spans two rows."""
NAMED: Final = 6
"""Owner of the bins whose minimum is in an element named as furniture."""
LINKS: Final = 7
"""Owner of the bins whose minimum is in links."""
OWNER_BITS: Final = 3

_PLACES_END: Final = MAX_TITLE_WORDS + MAX_TRACKED
HEAD: Final = Struct(f"<I2H{MAX_TITLE_WORDS}H{MAX_TRACKED}H2H{1 + MAX_TRACKED}H")


class Head(NamedTuple):
    """The part of the evidence that every page has, short ones too."""

    steps: int = 0
    path: int = 0
    query: int = 0
    title: frozenset[int] = frozenset()
    """Hashed words of title and headings, at most `MAX_TITLE_WORDS`."""
    places: tuple[int, ...] = ()
    """Tracked places, 16 bits each; the first is owner 1."""
    name: int = 0
    text: int = 0
    """Sum of the shingles of the text, its upper 16 bits."""
    rows: tuple[int, ...] = ()
    """Sums of the shingles within rows of the core outside of tracked places and in each of these,
    their lower 16 bits."""

    def rows_without(self, places: Collection[int]) -> int:
        """Return the sum of the shingles within rows, 16 bits, but for those of some places."""
        of_places = zip(self.rows[1:], self.places, strict=False)
        kept = [sum_ for sum_, place in of_places if place not in places]
        return sum(kept, *self.rows[:1]) & 0xFFFF

    def pack(self) -> bytes:
        """Return the bytes of it."""
        words = sorted(self.title) + [0] * (MAX_TITLE_WORDS - len(self.title))
        places = [*self.places, *[0] * (MAX_TRACKED - len(self.places))]
        rows = [*self.rows, *[0] * (1 + MAX_TRACKED - len(self.rows))]
        return HEAD.pack(
            self.steps, self.path, self.query, *words, *places, self.name, self.text, *rows
        )

    @classmethod
    def unpack(cls, stored: bytes) -> Head:
        """Return the head of what a store keeps of a page."""
        steps, path, query, *rest = HEAD.unpack_from(stored)
        words = frozenset(filter(None, rest[:MAX_TITLE_WORDS]))
        places = tuple(rest[MAX_TITLE_WORDS:_PLACES_END])
        name, text, *rows = rest[_PLACES_END:]
        return cls(steps, path, query, words, places, name, text, tuple(rows))


class Planes(NamedTuple):
    """The bit planes of a sketch, each one long integer.

    Parameters
    ----------
    values
        As many as a bin has bits.
    owners
        `OWNER_BITS` of them.
    """

    values: tuple[int, ...]
    owners: tuple[int, ...]

    def owned_by(self, owner: int, full: int) -> int:
        """Return the bins of an owner, as a plane; `full` is a plane of ones. O(bins)."""
        found = full
        for place, plane in enumerate(self.owners):
            found &= plane if owner >> place & 1 else ~plane
        return found

    @classmethod
    def unpack(cls, stored: bytes, bins: int, bits: int) -> Planes:
        """Return the planes in what a store keeps of a page."""
        size = bins // 8
        planes = tuple(
            int.from_bytes(stored[start : start + size], "little")
            for start in range(HEAD.size, HEAD.size + (bits + OWNER_BITS) * size, size)
        )
        return cls(planes[:bits], planes[bits:])


def stored_size(bins: int, bits: int) -> int:
    """Return the number of bytes that a store keeps of a page with a sketch."""
    return HEAD.size + (bits + OWNER_BITS) * bins // 8


def bin_values(minima: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the values of bins with these minima, shape (bins,), uint8; the low bits count."""
    return PUBLIC.mix(minima.copy()).astype(np.uint8)


def pack_planes(minima: NDArray[np.uint64], owners: NDArray[np.uint8], bits: int) -> bytes:
    """Return the planes of a sketch.

    Parameters
    ----------
    minima
        Shape (bins,), uint64, from `one_permutation_sketch`.
    owners
        Shape (bins,), uint8, below ``2 ** OWNER_BITS``.
    bits
        Bits of a bin, 1 to 8.

    Notes
    -----
    O(bins), some 10 µs for 512.
    """
    values = bin_values(minima)
    return b"".join(
        np.packbits(row >> place & 1, bitorder="little").tobytes()
        for row, count in ((values, bits), (owners, OWNER_BITS))
        for place in range(count)
    )


def hash_words(words: Sequence[int]) -> frozenset[int]:
    """Return at most `MAX_TITLE_WORDS` numbers of 16 bits, not 0, that stand for distinct words.

    Parameters
    ----------
    words
        64-bit hashes, in the order of the title; words beyond the ninth are one number.
    """
    distinct = list(dict.fromkeys(words))
    if len(distinct) > MAX_TITLE_WORDS:
        rest = 0
        for word in sorted(distinct[MAX_TITLE_WORDS - 1 :]):
            rest = (rest * 0x9E3779B97F4A7C15 + word) % 2**64
        distinct = [*distinct[: MAX_TITLE_WORDS - 1], rest]
    return frozenset(word >> 48 or 1 for word in distinct)
