"""What a store keeps of pages, made from bins instead of from text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scrapy_neardup.evidence.layout import OWNER_BITS, Head
from scrapy_neardup.verdict import Page

BINS, BITS = 512, 2
FULL = (1 << BINS) - 1


def packed(row, bits):
    """Return the planes of numbers, one a bin."""
    return b"".join(
        np.packbits(np.asarray(row) >> place & 1, bitorder="little").tobytes()
        for place in range(bits)
    )


def evidence(values, owners=None, *, bits=BITS, **head):
    """Return what a store keeps of a page whose bins have these values and owners."""
    owners = np.zeros(len(values), np.uint8) if owners is None else owners
    return Head(**head).pack() + packed(values, bits) + packed(owners, OWNER_BITS)


def drawn(seed, bins=BINS, bits=BITS):
    """Return random values of bins."""
    return np.random.default_rng(seed).integers(0, 2**bits, bins).astype(np.uint8)


def changed(values, places, bits=BITS):
    """Return the values with others in these bins."""
    values = values.copy()
    values[places] = (values[places] + 1) % 2**bits
    return values


def page(kept):
    """Return a page of which a store would keep this."""
    return Page(id=1, fingerprint=1, evidence=kept)


def plane(bins):
    """Return the bins that hold, as a plane."""
    return int.from_bytes(np.packbits(np.asarray(bins), bitorder="little").tobytes(), "little")


@dataclass(frozen=True)
class Known:
    """Furniture of a page, known as if it had been looked up."""

    bins: int = 0
    most: bool = False
    absent: tuple[int, tuple[int, ...]] | None = None

    def plane(self) -> int:
        return self.bins

    def lacked(self, bits: int) -> tuple[int, tuple[int, ...]] | None:
        return self.absent

    def is_most(self) -> bool:
        return self.most
