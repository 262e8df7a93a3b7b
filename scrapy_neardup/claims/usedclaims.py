"""The claims that a crawl has used, from an audit or a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from scrapy_neardup.claims.claim import Claim, pair_of
from scrapy_neardup.claims.claimkeys import ALL, ANYWHERE, TOPIC, Key, patterns, places
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import Part
from scrapy_neardup.claims.urlparts import Parts


class UsedClaim(NamedTuple):
    """A claim about the URLs of one host."""

    host: str
    key: Key
    claim: Claim

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
    found: dict[tuple[str, Key], Claim] = {}
    for entry in entries:
        kind, what, by, at = entry["part"]
        key = Key(entry["place"], Part(kind, what, by, at))
        claim = found.setdefault((entry["host"], key), Claim(is_in_force=True))
        claim.row, claim.ended = entry["row"], entry["ended"]
        claim.covered += entry["covered"]
        claim.withheld += entry["withheld"]
        claim.example = pair_of(entry.get("example"))
    return _sorted([UsedClaim(host, key, claim) for (host, key), claim in found.items()])


def of_notices(notices: Iterable[tuple[str, bytes]]) -> list[UsedClaim]:
    """Return the claims in force that crawlers have posted, given by topic."""
    hosts: dict[str, Host] = {}
    for topic, dump in notices:
        about, _, name = topic.partition(" ")
        if about == TOPIC and " " not in name:
            hosts.setdefault(name, Host()).add_others([dump])
    return _sorted([
        UsedClaim(name, key, host.claims[key])
        for name, host in hosts.items()
        for key in host.in_force
    ])  # fmt: skip


def _sorted(claims: list[UsedClaim]) -> list[UsedClaim]:
    weight: Counter[str] = Counter()
    for host, _, claim in claims:
        weight[host] += claim.covered
    return sorted(
        claims,
        key=lambda each: (-weight[each.host], each.host, -each.claim.covered, -each.claim.row),
    )
