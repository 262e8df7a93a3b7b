"""The pages of a storm: groups of near-duplicates, and of pages that only look like some.

Without features and evidence a group is a pair, some equal pages, a chain, or a clique of
fingerprints. With them its pages are variants of each other: near in their fingerprints or
sharing features or both, with texts that confirm that in both directions, in one (what a crawler
takes for boilerplate makes it stricter), or in none. What is boilerplate depends on the page and
on the crawler that has it: two crawlers know different things of a site. Some features are
boilerplate: pages of many groups have them, and their texts say no.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from operator import eq

from deciders import by_tokens
from matching_pages import own_evidence

from scrapy_neardup.judge.comparison import Comparison, deciding
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import Excluded
from scrapy_neardup.judge.pair import AtHand
from scrapy_neardup.judge.sites import Context
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Candidate, Decide, Page

K = 3
_PAGES_OF_BOILERPLATE = 60


def decide_as(crawler: int, page: Page, matching: Matching) -> Decide:
    if not matching.sketch:
        return by_tokens(page)
    chance = random.Random(f"{crawler} {page.id}")
    if chance.random() >= 0.3 or not page.evidence:
        return deciding(page, matching)
    context = Context(knowledge=_Known(chance.getrandbits(32)))
    ours = Evidence.unpack(page.evidence, matching.sketch)
    known = AtHand(ours, context.knowledge.exclude(ours), None, matching.sketch, context)
    return Comparison(page, known).decide


class _Known:
    """Boilerplate that is next to all of a page."""

    version = 0

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def exclude(self, _):
        return Excluded(shared=(self,))

    def has_few_pages(self, *_):
        return False

    def sketch(self, size, level):
        bits = random.Random(self._seed + size).sample(range(size), size - 8)
        return sum(1 << bit for bit in bits)


class Pages:
    """Pages to be met together, and the rule by which they are judged."""

    def __init__(self, seed: int, count: int, matching: Matching) -> None:
        self._matching = matching
        self._chance = random.Random(seed)
        self._count = count

    def groups(self) -> list[list[Page]]:
        make = self._fingerprints if self._matching == Matching() else self._variants
        made: list[list[Page]] = []
        left = self._count
        while left > 0:
            made.append(make())
            left -= len(made[-1])
        return made

    def changed(self, page: Page) -> Page:
        """Return the same page at another time: much as it was, or quite another."""
        new = self._page() if self._chance.random() < 0.5 else self._variant(page)
        return replace(new, id=page.id)

    def _fingerprints(self) -> list[Page]:
        chance = self._chance
        base = chance.getrandbits(64)
        prints = [base]
        match chance.choice(["pair", "same", "chain", "clique", "single"]):
            case "same":
                prints = [base] * chance.randint(2, 4)
            case "pair":
                prints = [base, self._flip(base, chance.randint(1, K))]
            case "clique":
                prints = [self._flip(base, 1) for _ in range(chance.randint(3, 6))]
            case "chain":
                for _ in range(chance.randint(2, 5)):
                    prints.append(self._flip(prints[-1], K))
        return [Page(id=self._id(), fingerprint=one, tokens=self._tokens()) for one in prints]

    def _variants(self) -> list[Page]:
        chance, base = self._chance, self._page()
        pages = [base]
        for _ in range(chance.randrange(6)):
            # Of the first one, or of the last one.
            pages.append(replace(self._variant(pages[chance.choice([0, -1])]), id=self._id()))
        return pages

    def _page(self) -> Page:
        features = tuple(self._id() for _ in range(self._matching.features))
        keys = {"id": self._id(), "fingerprint": self._id(), "features": features}
        made = Page(**keys, evidence=self._evidence(), tokens=self._tokens())
        return self._with_common_feature(made)

    def _variant(self, page: Page) -> Page:
        chance, other = self._chance, self._page()
        near = self._flip(page.fingerprint, chance.randint(0, K))
        count = len(page.features)
        # Boilerplate, if any, is the last of them.
        others = max(count - 1, 0)
        least = min(self._matching.shared_features, others)
        shared = chance.sample(range(others), chance.randint(least, others))
        features = tuple(
            page.features[place] if place in shared else other.features[place]
            for place in range(count)
        )
        ways = ["distance"] * self._matching.by_distance + ["features", "both"] * bool(others)
        way = chance.choice(ways or ["distance"])
        like = {} if way == "features" else {"fingerprint": near}
        like |= {} if way == "distance" else {"features": features}
        return replace(other, evidence=self._like(page), **like)

    def _with_common_feature(self, page: Page) -> Page:
        if not page.features or not page.evidence or self._chance.random() < 0.3:
            return page
        values = max(1, self._count // _PAGES_OF_BOILERPLATE)
        return replace(page, features=(*page.features[:-1], self._chance.randrange(1, values + 1)))

    def _evidence(self) -> bytes:
        if not self._matching.sketch:
            return b""
        return own_evidence(self._chance.getrandbits(64), self._matching)

    def _like(self, page: Page) -> bytes:
        chance = self._chance
        if not page.evidence or chance.random() < 0.25:
            return self._evidence()
        text = bytearray(page.evidence)
        if chance.random() < 0.7:
            text[-1] ^= 0x11  # two bits
        return bytes(text)

    def _tokens(self) -> int:
        return self._chance.choice((0, 0, 0, 1, 2, 3))

    def _flip(self, fingerprint: int, bits: int) -> int:
        for bit in self._chance.sample(range(64), bits):
            fingerprint ^= 1 << bit
        return fingerprint

    def _id(self) -> int:
        return self._chance.getrandbits(64)

    def repeats(self, crawler: int, page: Page, other: Page) -> bool:
        if not self.are_candidates(page, other):
            return False
        candidate = Candidate(other.id, _distance(page, other), other.evidence)
        return decide_as(crawler, page, self._matching)(candidate).is_same

    def are_candidates(self, page: Page, other: Page) -> bool:
        shared = sum(map(eq, page.features, other.features))
        return self._are_near(page, other) or shared >= self._matching.shared_features

    def _are_near(self, page: Page, other: Page) -> bool:
        return self._matching.by_distance and _distance(page, other) <= K

    def keys(self, page: Page) -> Iterator[tuple[str, int, int]]:
        if self._matching.by_distance:
            for block in range(4):
                yield "block", block, page.fingerprint >> 16 * block & 0xFFFF
        for place, feature in enumerate(page.features):
            yield "feature", place, feature

    def links(self, page: Page, other: Page) -> list[tuple[str, int, int]] | None:
        """Return the features that two pages have in common; None if they are near as well."""
        if self._are_near(page, other):
            return None
        return [key for key in set(self.keys(page)) & set(self.keys(other)) if key[0] == "feature"]


def _distance(page: Page, other: Page) -> int:
    return (page.fingerprint ^ other.fingerprint).bit_count()
