"""URL rules in a crawl: learnt from its verdicts, applied to its requests, checked.

The rules themselves are `scrapy_neardup.dust`'s. A request that a rule maps onto a page which is
known, or about to be, is skipped where ``NEARDUP_URLS`` is ``"skip"``: when a callback yields it,
or, if the rule has begun since, before it is downloaded. Three things keep a wrong rule from
costing a page:

- one in twenty of such requests is made all the same (``NEARDUP_URLS_EXPLORE``), and before the
  crawl ends as many more as the rule's evidence lacks;
- what is skipped is remembered, and requested after all if its rule is contradicted, or if the
  page for which it was skipped never came, or failed;
- start requests, pages of a sitemap, and requests with ``dont_filter``, ``neardup_skip`` or
  ``neardup_keep`` are never skipped.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import KEEP_KEY, SKIP_KEY
from scrapy_neardup.dust.addresses import Parts, hash_of
from scrapy_neardup.dust.host import Host
from scrapy_neardup.dust.hosts import Hosts
from scrapy_neardup.dust.table import VALUE_BITS
from scrapy_neardup.errors import StoreError
from scrapy_neardup.verdict import Decision

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.journal import Journal
    from scrapy_neardup.dust.rulebook import Change
    from scrapy_neardup.dust.rules import Rule
    from scrapy_neardup.settings.crawling import CrawlSettings
    from scrapy_neardup.stores import Store
    from scrapy_neardup.verdict import Verdict

logger = logging.getLogger(__name__)

MARK: Final = "_neardup_found"
"""Key of `request.meta`: a callback has yielded the request, so that it may be skipped. It goes to
disk with the request, and is taken out before the download."""

REMEMBERED_SKIPS: Final = 32_768
"""Maximum number of skipped requests that are remembered; of more, the oldest are forgotten."""

REMEMBERED_PENDING: Final = 65_536
"""Maximum number of requests that are remembered as scheduled, for others that rules join."""

_EXCHANGED: Final = 128
"""Number of judged pages of a host after which crawlers tell each other what they have learnt."""


class Skipped(NamedTuple):
    """A request that wasn't made."""

    request: Request
    rules: tuple[Rule, ...]
    key: int
    """Of the address under the rules (`Host.joined`)."""
    was_scheduled: bool
    """Whether the scheduler has seen it, and would refuse it."""


class UrlRules:
    """The rules of one crawl.

    Parameters
    ----------
    job
        What this crawl has in common with the one that goes on with it; None: none does.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: CrawlSettings,
        store: Store,
        journal: Journal,
        job: str | None,
    ) -> None:
        self._crawler = crawler
        self._skips = settings.urls == "skip"
        self._explore = round(settings.urls_explore * (1 << VALUE_BITS))
        self._store = store
        self._journal = journal
        self._job = job
        self._member = secrets.token_hex(4)
        self._hosts = Hosts()
        self._pages: dict[str, int] = {}
        self._pending: BoundedDict[int, str] = BoundedDict(REMEMBERED_PENDING)
        self._skipped: BoundedDict[str, Skipped] = BoundedDict(REMEMBERED_SKIPS)
        self._waiting: set[str] = set()
        """Addresses of skipped requests whose page was only pending."""
        self._saveable = 0
        if self._skips:
            crawler.signals.connect(self._idle, signals.spider_idle)

    # Requests

    def passes(self, request: Request) -> bool:
        """Return whether a request that a callback has yielded is to be scheduled."""
        if not self._skips or not _may_be_skipped(request):
            return True
        if self._is_skipped(request, was_scheduled=False):
            return False
        request.meta[MARK] = True
        return True

    def is_skipped_now(self, request: Request) -> bool:
        """Return whether a request that was scheduled needn't be made any more."""
        if request.meta.pop(MARK, False) is not True:
            return False
        return self._is_skipped(request, was_scheduled=True)

    def _is_skipped(self, request: Request, *, was_scheduled: bool) -> bool:
        parts = Parts.of(request.url)
        host = parts and self._hosts.get(parts.host)
        if not parts or not host or not host.has_rules or host.knows(parts):
            return False  # what was fetched before is left to the scheduler
        key, rules = host.joined(parts)
        waits = False
        if (found := host.find(parts)) is not None:
            rules = found.rules
        elif (owner := self._pending.get(key)) is not None and owner != request.url:
            theirs = Parts.of(owner)
            rules = rules or (host.joined(theirs)[1] if theirs else ())
            waits = True
        else:
            self._pending[key] = request.url
            return False
        if not rules:
            return False
        if hash_of(f"explore {request.url}", VALUE_BITS) < self._explore:
            if not was_scheduled:
                self._journal.count("urls/explored")
            return False
        self._remember(Skipped(request, rules, key, was_scheduled), waits=waits)
        return True

    def _remember(self, skipped: Skipped, *, waits: bool) -> None:
        url = skipped.request.url
        if url in self._skipped:
            return
        if len(self._skipped) == REMEMBERED_SKIPS:
            self._journal.count("urls/forgotten")
        self._skipped[url] = skipped
        if waits:
            self._waiting.add(url)
        self._journal.skipped(skipped.request, skipped.rules)

    # Pages

    async def judged(self, request: Request, verdict: Verdict, words: int, *, short: bool) -> None:
        """Learn from a page that was judged.

        Parameters
        ----------
        words, short
            As of `Host.learn`.
        """
        if verdict.decision not in {Decision.NEW, Decision.DUPLICATE}:
            return
        parts = Parts.of(request.url)
        if parts is None:
            return
        if self._hosts.get(parts.host) is None:
            await self._meet(parts.host)
        host = self._hosts.met(parts.host)
        match = verdict.match
        changes, is_joined = host.learn(
            parts,
            (verdict.page_id if match is None else match.page_id) % (1 << VALUE_BITS),
            is_new=verdict.decision is Decision.NEW,
            match=Parts.of(match.url) if match and match.url else None,
            words=words,
            is_short=short,
        )
        if is_joined:
            self._saveable += 1
            self._journal.count("urls/saveable")
        self._tell(changes)
        pages = self._pages[parts.host] = self._pages.get(parts.host, 0) + 1
        if changes or not pages % _EXCHANGED:
            await self._exchange(parts.host, host)

    def withdrawn(self, request: Request) -> None:
        """Forget a page whose callback failed, and request what was skipped for its sake."""
        parts = Parts.of(request.url)
        if parts is None or (host := self._hosts.get(parts.host)) is None or not host.has_rules:
            return
        key, _ = host.joined(parts)
        host.clear_pages()
        self._pending.pop(key, None)
        self._request_again(url for url, each in self._skipped.items() if each.key == key)

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._journal.rule(change)
            if not change.begins:
                self._request_again(
                    url for url, each in self._skipped.items() if change.rule in each.rules
                )

    def _request_again(self, urls: Iterable[str], *, forced: bool = False) -> int:
        """Request what was skipped, unless another rule skips it; return the number of requests.

        With `forced` no rule is asked.
        """
        made = 0
        for url in list(urls):
            request, *_, was_scheduled = self._skipped.pop(url)
            self._waiting.discard(url)
            if not forced and self._is_skipped(request, was_scheduled=was_scheduled):
                continue
            made += 1
            assert self._crawler.engine is not None  # noqa: S101  (for the type checker)
            self._crawler.engine.crawl(request.replace(dont_filter=was_scheduled))
        if made:
            self._journal.count("urls/requested-again", made)
        return made

    def _idle(self) -> None:
        if self.request_what_is_left():
            raise DontCloseSpider

    def request_what_is_left(self) -> int:
        """Request what still has to be before the crawl ends; return the number of requests."""
        self._pending.clear()
        made = self._request_again(list(self._waiting & self._skipped.keys()))
        if not made:
            made = self._request_again(self._unchecked(), forced=True)
        return made

    def _unchecked(self) -> list[str]:
        """Return skipped requests that are to be made, as their rules lack evidence."""
        lacking: dict[tuple[str, Rule], int] = {}
        chosen = []
        for url in sorted(self._skipped, key=lambda url: hash_of(url, VALUE_BITS)):
            parts = Parts.of(url)
            host = parts and self._hosts.get(parts.host)
            if not parts or not host:
                continue
            for rule in self._skipped[url].rules:
                key = parts.host, rule
                lacking.setdefault(key, host.lacks(rule))
                if lacking[key] > 0:
                    lacking[key] -= 1
                    chosen.append(url)
                    break
        return chosen

    # What is known

    async def close(self) -> None:
        """Sum up, and leave what was learnt in the store."""
        rules = dict.fromkeys(rule for _, host in self._hosts.items() for rule in host.active)
        self._journal.rules(list(rules), self._saveable, skips=self._skips)
        for name, host in self._hosts.items():
            with suppress(StoreError):
                await self._store.exchange(f"urls {name}", self._member, host.dump())
                if self._job is not None:
                    topic = f"urls {name} of {self._job}"
                    await self._store.exchange(topic, "state", host.state())

    async def _meet(self, name: str) -> None:
        """Go on with a host as an earlier run has left it, or hear of it from other crawlers."""
        if self._job is not None:
            with suppress(StoreError):
                for state in await self._store.exchange(f"urls {name} of {self._job}", "", None):
                    if (host := Host.restored(state)) is not None:
                        self._hosts.add(name, host)
        await self._exchange(name, self._hosts.met(name))

    async def _exchange(self, name: str, host: Host) -> None:
        """Tell other crawlers what was learnt of a host, and hear what they have learnt."""
        mine = host.dump()
        with suppress(StoreError):  # what is missed is heard the next time
            heard = await self._store.exchange(f"urls {name}", self._member, mine)
            self._tell(host.add_others(value for value in heard if value != mine))


def _may_be_skipped(request: Request) -> bool:
    meta = request.meta
    return (
        request.method == "GET"
        and not request.body
        and not request.dont_filter
        and not meta.get(SKIP_KEY)
        and not meta.get(KEEP_KEY)
        and request.callback is not NO_CALLBACK
        and not (meta.get("is_start_request") and not meta.get("depth"))
    )
