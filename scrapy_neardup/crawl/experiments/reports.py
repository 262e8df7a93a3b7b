"""The reports of a crawl about its claims; see `scrapy_neardup.crawl.reporting`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from scrapy_neardup import signals
from scrapy_neardup.claims.claimbook import ANYWHERE
from scrapy_neardup.urls import redact

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_neardup.claims.claim import Change, Claim
    from scrapy_neardup.claims.claimbook import Key
    from scrapy_neardup.claims.host import Host
    from scrapy_neardup.crawl.reporting import Reporter

SHOWN: Final = 12
"""Maximum number of claims that are logged at the end."""


class ClaimReports:
    """The reports of one crawl."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def changed(self, host: str, change: Change, made: int = 0) -> None:
        """Report that a claim begins, or is contradicted and ends.

        `made` is the number of requests that are no longer withheld.
        """
        begins, key, (page, other) = change.begins, change.key, change.pair
        showed = "the same page" if begins else "a new page"
        followed = f"{host}: {key}" if begins else f"{host}: it isn't so that {key}"
        if made:
            followed += f"; withheld requests that are made now: {made}"
        self._reporter.count("urls/rules-begun" if begins else "urls/rules-ended")
        self._reporter.write(
            lambda audit: audit.experiment(
                "claim", page, of=other, showed=showed, followed=followed
            )
        )
        level = logging.INFO if key.place == ANYWHERE else logging.DEBUG
        self._reporter.log.log(
            logging.WARNING if made else level,
            "%s (%s)",
            followed,
            " and ".join(redact(url) for url in change.pair if url),
        )

    def skipped(self, request: Request, keys: Sequence[Key]) -> None:
        """Report a request that isn't made because claims say that its page is known."""
        named = list(map(str, keys))
        self._reporter.count("urls/skipped")
        self._reporter.log.debug("%s isn't requested: %s", redact(request.url), "; ".join(named))
        self._reporter.send(signals.request_skipped, request=request, rules=named)
        self._reporter.write(lambda audit: audit.skipped(redact(request.url), named))

    def sum_up(self, hosts: Mapping[str, Host], *, skips: bool, is_exact: bool) -> None:
        """Report the claims in force at the end: what they withhold, and how sure that is.

        Without ``skip`` it reports the requests that could have been withheld, except under
        ``exact``.
        """
        used = [
            (name, key, host.claims[key])
            for name, host in hosts.items()
            for key in host.claims.in_force
            if host.claims[key].covered
        ]
        used.sort(key=lambda each: each[2].covered, reverse=True)
        for name, key, claim in used:
            self._write(name, key, claim)
        for name, key, claim in used[:SHOWN]:
            if skips:
                self._reporter.log.info(
                    "%s: %s; %s", name, key, said(claim.withheld, claim.row, claim.bound)
                )
            elif not is_exact:
                self._reporter.log.info(
                    "%s: %s; NEARDUP_URLS = 'skip' wouldn't have made most of %d requests, of"
                    " which at most %.1f %% show something new (with 95 %% confidence)",
                    name, key, claim.covered, 100 * claim.bound,
                )  # fmt: skip

    def _write(self, host: str, key: Key, claim: Claim) -> None:
        self._reporter.write(
            lambda audit: audit.claim(
                host,
                place=key.place,
                part=key.part,
                sentence=str(key),
                claim=claim,
            )
        )


def said(withheld: int, tests: int, bound: float) -> str:
    """Return the number of requests withheld under a claim, and the maximum that differ."""
    return (
        f"{withheld:,} requests weren't made; {tests:,} tested it, so that at most"
        f" {bound:.1%} of them show something new (with 95 % confidence)"
    )
