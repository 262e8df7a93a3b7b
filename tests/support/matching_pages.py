"""Pages with features and sketches: some made by hand, a site's at random."""

from __future__ import annotations

import random
from dataclasses import replace

from store_registry import page

from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Page, Sketch

FAR = (0, 0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000)
"""Fingerprints that are pairwise more than k bits apart."""

BY_FEATURES = Matching(by_distance=False, features=3)
BY_BOTH = Matching(features=3)
BY_TWO = Matching(features=3, shared_features=2)
CONFIRMED = Matching(features=3, sketch_bits=4, sketch_bytes=8)
NEAR_CONFIRMED = Matching(sketch_bits=4, sketch_bytes=8)

ZEROS = "0" * 16
"""A sketch of 16 bins."""


def sketch(text: str, named: str = "", furniture: str = "00" * 8, most: float = 0.25) -> Sketch:
    """Return a sketch of 16 bins, each a hexadecimal digit; `named` has an ``x`` for each."""
    marks = bytearray(2 if "x" in named else 0)
    for digit in (place for place, mark in enumerate(named) if mark == "x"):
        byte, is_high = digit // 2, digit % 2 == 0
        marks[byte % 2] |= 1 << 4 * is_high + byte // 2
    return Sketch(
        text=bytes.fromhex(text),
        named=bytes(marks),
        furniture=bytes.fromhex(furniture),
        most_differing=most,
    )


def with_ones(count: int) -> str:
    """Return a text that differs from `ZEROS` in so many bins."""
    return ("1" * count).ljust(16, "0")


class Site:
    """Pages of clusters: variants of one page that share some features, a prefix of another."""

    def __init__(self, seed: int, matching: Matching) -> None:
        self.rng = random.Random(seed)
        self.matching = matching
        self.centres = [self._centre() for _ in range(8)]

    def page(self) -> Page:
        rng = self.rng
        centre, other = rng.sample(self.centres, 2)
        # Most pages stay what they are about.
        home = self.centres.index(centre) if rng.random() < 0.9 else rng.randrange(8)
        flips = sum({1 << rng.randrange(64) for _ in range(rng.randrange(7))})
        exact = rng.random() < 0.1
        return replace(
            centre,
            id=8 * rng.randrange(6) + home,
            fingerprint=(other if rng.random() < 0.2 else centre).fingerprint ^ flips,
            exact=exact,
            scope=rng.choice(("", "", "a.example")),
            title=rng.choices((0, 1, 2), (3, 5, 2))[0],
            content=rng.randrange(2),
            features=() if exact else self._features(centre, other),
            sketch=self._sketch(centre) if not exact and rng.random() < 0.9 else None,
        )

    def _centre(self) -> Page:
        rng, size = self.rng, self.matching.sketch_bytes
        named = rng.choice((b"", rng.randbytes(self.matching.named_bytes)))
        made = Sketch(
            text=rng.randbytes(size), named=named, furniture=bytes(size), most_differing=0.0
        )
        return page(
            0,
            rng.getrandbits(64),
            features=tuple(rng.getrandbits(64) for _ in range(self.matching.features)),
            sketch=made,
        )

    def _features(self, centre: Page, other: Page) -> tuple[int, ...]:
        rng = self.rng
        return tuple(
            rng.choices((mine, theirs, rng.getrandbits(64)), (4, 1, 10))[0]
            for mine, theirs in zip(centre.features, other.features, strict=True)
        )

    def _sketch(self, centre: Page) -> Sketch | None:
        rng, size = self.rng, self.matching.sketch_bytes
        if not size:
            return None
        changed = rng.sample(range(size), rng.randrange(size // 3))
        furniture = bytes(rng.choice((0, 0, 255)) for _ in range(size))
        text = bytearray(centre.sketch.text)
        for place in changed:
            text[place] ^= rng.randrange(256)
        named = rng.choice((centre.sketch.named, b"", rng.randbytes(self.matching.named_bytes)))
        return Sketch(text=bytes(text), named=named, furniture=furniture, most_differing=0.3)
