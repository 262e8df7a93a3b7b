"""Pages with features and evidence: some made by hand, a site's at random."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from store_registry import page

from scrapy_neardup.evidence.layout import HEAD, LINKS, NAMED, OWNER_BITS, Head
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Page

FAR = (0, 0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000)
"""Fingerprints that are pairwise more than k bits apart."""

BY_FEATURES = Matching(by_distance=False, features=3)
BY_BOTH = Matching(features=3)
BY_TWO = Matching(features=3, shared_features=2)
BITS = 4
CONFIRMED = Matching(features=3, bins=128, bits=BITS)
NEAR_CONFIRMED = Matching(features=1, bins=128, bits=BITS)
"""Its pages have no features but the path."""


def planes(rows: list[list[int]], count: int) -> bytes:
    """Return the bit planes of numbers, one list a bin's: the lowest bit first."""
    numbers = np.array(rows)
    return b"".join(
        np.packbits(numbers >> place & 1, bitorder="little").tobytes() for place in range(count)
    )


def evidence(
    values: list[int], owners: list[int] | None = None, *, bits: int = BITS, **head
) -> bytes:
    """Return what a store keeps of a page with these bins and owners; `head` as `Head` has it."""
    owners = owners or [0] * len(values)
    return Head(**head).pack() + planes(values, bits) + planes(owners, OWNER_BITS)


ZEROS = "0" * 16


def like(digits: str) -> dict[str, object]:
    """Return the evidence of a page: 8 bins have the value of a digit."""
    values = [int(digit, 16) for digit in digits for _ in range(8)]
    path = 1 + int(digits, 16) % 65521  # pages of other texts are at other addresses
    return {"evidence": evidence(values, title=frozenset({1}), path=path)}


def with_ones(count: int) -> str:
    """Return digits of which so many differ from `ZEROS`."""
    return ("1" * count).ljust(16, "0")


def own_evidence(seed: object, matching: Matching) -> bytes:
    """Return the evidence of a page that is its own: unlike that of any other seed."""
    rng = random.Random(seed)
    values = rng.randbytes(matching.bits * matching.bins // 8)
    head = Head(title=frozenset({1}), path=rng.getrandbits(16))
    return head.pack() + values + bytes(OWNER_BITS * matching.bins // 8)


class Site:
    """Pages of clusters: variants of one page that share some features, a prefix of another."""

    def __init__(self, seed: int, matching: Matching) -> None:
        self.rng = random.Random(seed)
        self.matching = matching
        self.paths = [self.rng.getrandbits(64) for _ in range(20)]
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
            evidence=self._evidence(centre, exact=exact),
        )

    def _centre(self) -> Page:
        rng, matching = self.rng, self.matching
        values = [rng.randrange(1 << matching.bits) for _ in range(matching.bins)]
        owners = [rng.choice((0, 0, 0, 1, 2, 5, NAMED, LINKS)) for _ in range(matching.bins)]
        return page(
            0,
            rng.getrandbits(64),
            features=tuple(rng.getrandbits(64) for _ in range(matching.features)),
            evidence=evidence(values, owners, bits=matching.bits) if matching.bins else b"",
        )

    def _features(self, centre: Page, other: Page) -> tuple[int, ...]:
        rng, matching = self.rng, self.matching
        found = tuple(
            rng.choices((mine, theirs, rng.getrandbits(64)), (4, 1, 10))[0]
            for mine, theirs in zip(centre.features, other.features, strict=True)
        )
        return (*found[:-1], rng.choice(self.paths)) if matching.bins else found

    def _evidence(self, centre: Page, *, exact: bool) -> bytes:
        rng, matching = self.rng, self.matching
        if not matching.bins:
            return b""
        head = Head(
            steps=rng.randrange(4),
            path=rng.randrange(12),
            query=rng.choice((0, 0, 1)),
            title=frozenset(rng.sample((1, 2, 3), rng.choice((0, 1, 2, 2)))),
            places=tuple(rng.sample((11, 12, 13), 2)),
            name=rng.randrange(3),
        ).pack()
        if exact:
            return head
        sketch = int.from_bytes(centre.evidence[HEAD.size :], "little")
        size = len(centre.evidence) - HEAD.size
        for bin_ in rng.sample(range(8 * size), rng.choice((0, 0, 0, 1, 3, matching.bins // 4))):
            sketch ^= 1 << bin_
        return head + sketch.to_bytes(size, "little")
