"""The claims that a crawl has used, from an audit or a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from scrapy_neardup.claims.claim import Claim, Pair
from scrapy_neardup.claims.claimkeys import ALL, ANYWHERE, TOPIC, Key, patterns, places
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import Part
from scrapy_neardup.claims.urlparts import Parts


class UsedClaim(NamedTuple):
    """A claim about the URLs of one host."""

    host: str
    key: Key
    tests: int
    """Number of requests in a row that have tested it."""
    ended: int = 0
    """Number of times that it was contradicted while in force."""
    covered: int = 0
    """Number of requests whose pages were known by it before they were made."""
    withheld: int = 0
    """Number of these that weren't made."""
    example: Pair | None = None
    """A pair of pages that speaks for it."""

    @property
    def bound(self) -> float:
        """Maximum share of withheld requests that differ, with a confidence of 95 %."""
        return min(1.0, 3 / self.tests) if self.tests else 1.0

    def covers(self, page: Parts) -> bool:
        """Return whether it is about a URL."""
        place, part = self.key
        if page.host != self.host:
            return False
        if part in ALL:
            return place in patterns(page)
        without = part.without(page)
        return without != page and place in {ANYWHERE, *places(part, without)}


def of_audit(entries: Iterable[dict[str, Any]]) -> list[UsedClaim]:
    """Return the claims of audits, those that cover the most requests first, by host.

    `entries` are the lines of the event ``claim``. Raises `ValueError` or `TypeError` for others.
    """
    found: dict[tuple[str, Key], UsedClaim] = {}
    for entry in entries:
        kind, what, by, at = entry["part"]
        key = Key(entry["place"], Part(kind, what, by, at))
        example = entry.get("example")
        before = found.get((entry["host"], key))
        found[entry["host"], key] = UsedClaim(
            entry["host"],
            key,
            entry["row"],
            entry["ended"],
            entry["covered"] + (before.covered if before else 0),
            entry["withheld"] + (before.withheld if before else 0),
            None if example is None else (str(example[0]), str(example[1])),
        )
    return _sorted(found.values())


def of_notices(notices: Iterable[tuple[str, bytes]]) -> list[UsedClaim]:
    """Return the claims in force that crawlers have posted, given by topic."""
    hosts: dict[str, Host] = {}
    for topic, dump in notices:
        about, _, name = topic.partition(" ")
        if about == TOPIC and " " not in name:
            hosts.setdefault(name, Host()).add_others([dump])
    return _sorted(
        _used(name, key, claim)
        for name, host in hosts.items()
        for key, claim in host.claims.items()
        if claim.is_in_force and key.place != ANYWHERE
    )


def _used(host: str, key: Key, claim: Claim) -> UsedClaim:
    return UsedClaim(
        host, key, claim.row, claim.ended, claim.covered, claim.withheld, claim.example
    )


def _sorted(claims: Iterable[UsedClaim]) -> list[UsedClaim]:
    found = list(claims)
    weight: dict[str, int] = {}
    for each in found:
        weight[each.host] = weight.get(each.host, 0) + each.covered
    return sorted(
        found, key=lambda each: (-weight[each.host], each.host, -each.covered, -each.tests)
    )
