"""The reports of a crawl about its claims; see `scrapy_neardup.crawl.reporting`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from scrapy_neardup import signals
from scrapy_neardup.claims.claim import bound
from scrapy_neardup.claims.claimbook import ANYWHERE
from scrapy_neardup.urls import redact

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_neardup.claims.claim import Change
    from scrapy_neardup.claims.claimbook import Key
    from scrapy_neardup.claims.host import Host
    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.reporting import Reporter

SHOWN: Final = 12
"""Maximum number of claims that are logged at the end."""

VAGUE: Final = 0.2
"""With ``report``, a claim isn't logged if this share of its pages may be new."""

_REPORTED: Final = ("streak", "ended", "covered", "withheld", "checks", "example", "counter")
"""The fields of a claim that an audit has."""


def changed(reporter: Reporter, host: str, change: Change, made: int = 0) -> None:
    """Report that a claim begins, or is contradicted and ends.

    `made` is the number of requests that are no longer withheld.
    """
    begins, key, (page, other) = change.begins, change.key, change.pair
    showed = "the same page" if begins else "a new page"
    state = "" if begins else "no longer used, because a page contradicts it: "
    followed = f"{host}: {state}{key}"
    if made:
        followed += f"; withheld requests that are made now: {made}"
    reporter.count("urls/rules-begun" if begins else "urls/rules-ended")
    reporter.experiment("claim", page, of=other, showed=showed, followed=followed)
    level = logging.INFO if key.place == ANYWHERE else logging.DEBUG
    pages = " and ".join(redact(url) for url in change.pair if url)
    reporter.log.log(logging.WARNING if made else level, "%s (%s)", followed, pages)


def skipped(reporter: Reporter, request: Request, keys: Sequence[Key]) -> None:
    """Report a request that isn't made because claims say that its page is known."""
    named = list(map(str, keys))
    reporter.count("urls/skipped")
    reporter.log.debug("%s isn't requested: %s", redact(request.url), "; ".join(named))
    reporter.send(signals.request_skipped, request=request, rules=named)
    reporter.event("skipped", page=redact(request.url), rules=named)


def sum_up(reporter: Reporter, settings: CrawlSettings, hosts: Mapping[str, Host]) -> None:
    """Report the claims in force at the end: the requests that they withhold, and the confidence.

    Without ``skip`` it reports the requests that could have been withheld, except under ``exact``.
    """
    used = [
        (name, key, host.claims.summary(key))
        for name, host in hosts.items()
        for key in host.claims.in_force
        if host.claims[key].covered
    ]
    used.sort(key=lambda each: each[2].covered, reverse=True)
    for name, key, claim in used:
        about = {each: getattr(claim, each) for each in _REPORTED}
        reporter.event(
            "claim", host=name, place=key.place, part=list(key.part), claim=str(key), **about
        )
    skips = settings.urls == "skip"
    told = [
        each for each in used if (each[2].withheld if skips else bound(each[2].checks) < VAGUE)
    ]
    for name, key, claim in told[:SHOWN]:
        if skips:
            reporter.log.info(
                "%s: %s; %s requests weren't made; %s tested it, so that at most %.1f%% of"
                " them show something new (with 95 %% confidence)",
                name, key, f"{claim.withheld:,}", f"{claim.checks:,}", 100 * bound(claim.checks),
            )  # fmt: skip
        elif not settings.parameters.is_exact:
            reporter.log.info(
                "%s: %s; NEARDUP_URLS = 'skip' would have left out most of %d requests, at most"
                " %.1f %% of which show something new (with 95 %% confidence)",
                name, key, claim.covered, 100 * bound(claim.checks),
            )  # fmt: skip
