"""What a crawl reports of its URL rules and patterns; see `scrapy_neardup.crawl.journal`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from scrapy_neardup import signals
from scrapy_neardup.urls import redact

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_neardup.crawl.dust.novelty import Pattern
    from scrapy_neardup.crawl.journal import Journal
    from scrapy_neardup.dust.rulebook import Change
    from scrapy_neardup.dust.urlrule import Rule

SHOWN_RULES: Final = 12
"""Maximum number of URL rules that a log line shows."""


def report_change(journal: Journal, change: Change) -> None:
    """Report that a URL rule begins, or is contradicted and ends."""
    pair = " and ".join(redact(url) for url in change.pair if url)
    journal.count("urls/rules-begun" if change.begins else "urls/rules-ended")
    journal.log.log(
        logging.INFO if change.begins else logging.WARNING,
        "URL rule %s: %s%s",
        "begins" if change.begins else "ends, as two pages contradict it",
        change.rule,
        f" ({pair})" if pair else "",
    )


def report_rules(journal: Journal, rules: Sequence[Rule], saveable: int, *, asks: bool) -> None:
    """Report the URL rules in force at the end, and the requests that they save.

    `asks`: whether to name the setting by which they aren't made, and what it costs.
    """
    if not rules:
        return
    shown = [str(rule) for rule in rules[:SHOWN_RULES]] + ["…"] * (len(rules) > SHOWN_RULES)
    worth = f"the pages of {saveable:,} requests were known before they were made"
    journal.log.info(
        "URL rules: %s; %s%s",
        "; ".join(shown),
        worth,
        " (with NEARDUP_URLS = 'skip' they wouldn't be made; where a rule errs, pages are lost"
        " until a check contradicts it)"
        if asks
        else "",
    )


def report_skipped(journal: Journal, request: Request, rules: Sequence[Rule]) -> None:
    """Report a request that isn't made, as URL rules say that its page is known."""
    named = list(map(str, rules))
    journal.count("urls/skipped")
    journal.log.debug("%s isn't requested: %s", redact(request.url), "; ".join(named))
    journal.send(signals.request_skipped, request=request, rules=named)
    journal.write(lambda audit: audit.skipped(redact(request.url), named))


def report_spent(
    journal: Journal, host: str, name: str, pattern: Pattern, *, is_exact: bool
) -> None:
    """Report that the text of a URL pattern's pages brings next to nothing new.

    No way to have fewer of them is named without what it costs, and none where every character
    counts (`is_exact`): goods that differ in a price alone look like this.
    """
    journal.count("urls/patterns-spent")
    journal.log.info(
        "After %d pages like %s%s, nearly all text of further ones was on earlier ones%s",
        pattern.pages,
        host,
        name,
        ""
        if is_exact
        else ". Pages that differ in a number or a few words look like that, too: if you can do "
        "without them, NEARDUP_PATTERN_BUDGET limits their number; the others are never fetched",
    )
