"""Pages with features and evidence: some made by hand, a site's at random."""

import random
from dataclasses import replace

from store_registry import page

from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.sketch import Sketch
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Page

FAR = (0, 0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000)
"""Fingerprints that are pairwise more than k bits apart."""

BY_FEATURES = Matching(by_distance=False, features=3)
BY_BOTH = Matching(features=3)
BY_TWO = Matching(features=3, shared_features=2)
SIZES = 512, 64
CONFIRMED = Matching(features=3, text_bits=SIZES[0], named_bits=SIZES[1])
NEAR_CONFIRMED = Matching(features=1, text_bits=SIZES[0], named_bits=SIZES[1])
"""Its pages have no features but the path."""


def evidence(text: bytes, named: bytes = bytes(8), **head) -> bytes:
    """Return what a store keeps of a page with these sketches; `head` as `Evidence` has it."""
    sketches = tuple(Sketch(0, int.from_bytes(each, "little")) for each in (text, named))
    return Evidence(sketches=sketches, **head).pack((8 * len(text), 8 * len(named)))


ZEROS = "0" * 16


def like(digits: str) -> dict[str, object]:
    text = bytes(17 * int(digit, 16) for digit in digits for _ in range(4))
    path = 1 + int(digits, 16) % 65521  # pages of other texts are at other addresses
    return {"evidence": evidence(text, path=path, rows=path)}


def own_evidence(seed: object, matching: Matching) -> bytes:
    rng = random.Random(seed)
    text, named = (rng.randbytes(size // 8) for size in matching.sketch)
    return evidence(text, named, path=rng.getrandbits(32), rows=rng.getrandbits(32))


def unique_page(page_id: int, seed: object, matching: Matching, **more: object) -> Page:
    """Return the page of this seed: equal to all others of it, unlike those of other seeds."""
    rng = random.Random(seed)
    fingerprint, *features = (rng.getrandbits(64) for _ in range(1 + matching.features))
    evidence = own_evidence(seed, matching) if matching.sketch else b""
    own = {"features": tuple(features), "evidence": evidence}
    own["url"] = f"https://a.example/{page_id}"
    return page(page_id, **{"fingerprint": fingerprint, **own, **more})


class Site:
    """Pages of clusters: variants of one page that share some features, a prefix of another."""

    def __init__(self, seed: int, matching: Matching, max_distance: int = 3) -> None:
        self.rng = random.Random(seed)
        self.matching, self.max_distance = matching, max_distance
        self.paths = [self.rng.getrandbits(64) for _ in range(20)]
        self.centres = [unique_page(0, self.rng.getrandbits(64), matching) for _ in range(8)]

    def page(self) -> Page:
        rng = self.rng
        centre, other = rng.sample(self.centres, 2)
        # Most pages stay what they are about.
        home = self.centres.index(centre) if rng.random() < 0.9 else rng.randrange(8)
        flips = sum({1 << rng.randrange(64) for _ in range(rng.randrange(self.max_distance + 4))})
        exact = rng.random() < 0.1
        return replace(
            centre,
            id=8 * rng.randrange(6) + home,
            fingerprint=(other if rng.random() < 0.2 else centre).fingerprint ^ flips,
            url=(None, "https://a.example/", "https://b.example/")[flips % 3],
            exact=exact,
            scope=rng.choice(("", "", "a.example")),
            tokens=rng.choice((0, 0, 0, 1, 2, 3)),
            features=() if exact else self._features(centre, other),
            evidence=self._evidence(centre),
        )

    def _features(self, centre: Page, other: Page) -> tuple[int, ...]:
        rng, matching = self.rng, self.matching
        found = tuple(
            rng.choices((mine, theirs, rng.getrandbits(64)), (4, 1, 10))[0]
            for mine, theirs in zip(centre.features, other.features, strict=True)
        )
        return (*found[:-1], rng.choice(self.paths)) if matching.sketch else found

    def _evidence(self, centre: Page) -> bytes:
        rng, matching = self.rng, self.matching
        if not matching.sketch:
            return b""
        kept = Evidence.unpack(centre.evidence, matching.sketch)
        words = [rng.sample((1, 2, 3), rng.choice((0, 1, 2, 2))) for _ in range(2)]
        changed = kept._replace(
            path=rng.randrange(12),
            query=rng.choice((0, 0, 1)),
            name=rng.randrange(3),
            segments=frozenset(words[0]),
            title=len(words[1]),
            rows=rng.choice((kept.rows, rng.getrandbits(32))),
        )
        packed = bytearray(changed.pack(matching.sketch))
        size = sum(matching.sketch) // 8
        for bit in rng.sample(range(8 * size), rng.choice((0, 0, 0, 1, 3, 2 * size))):
            packed[bit // 8 - size] ^= 1 << bit % 8
        return bytes(packed)
