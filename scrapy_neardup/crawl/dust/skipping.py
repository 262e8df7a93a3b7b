"""URL rules in a crawl: learnt from its verdicts, applied to its requests, checked.

The rules themselves are in `scrapy_neardup.dust`. With ``NEARDUP_URLS = "skip"`` a request isn't
made if a rule says that its page is known, or scheduled: it is skipped when a callback yields it,
or, if the rule has begun since, before it is downloaded. One whose page is scheduled waits for it,
and so does, rule or not, that of a printed page whose original is scheduled. Three things keep a
wrong rule from costing a page:

- one in twenty of such requests is made all the same (``NEARDUP_URLS_EXPLORE``), at least one of
  sixty in a row, and before the crawl ends the last one, and as many more as the rule still needs
  for its confirmation;
- skipped requests are remembered, also over a pause of the crawl (``JOBDIR``), and made after all
  if their rule is contradicted, or if the page for which they were skipped never came, or failed;
- start requests, pages of a sitemap, and requests with ``dont_filter``, ``neardup_skip`` or
  ``neardup_keep`` are never skipped.
"""

from __future__ import annotations

import logging
import pickle
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.job import job_dir

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import KEEP_KEY, SKIP_KEY
from scrapy_neardup.crawl.dust.budget import PatternBudget
from scrapy_neardup.crawl.dust.reports import report_change, report_rules, report_skipped
from scrapy_neardup.crawl.dust.skips import REMEMBERED_SKIPS, Skipped, Skips, requested
from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.host import SHORT, Host, Hosts
from scrapy_neardup.dust.knownurls import letters_of
from scrapy_neardup.dust.rulebook import TOPIC
from scrapy_neardup.dust.urlparts import Parts
from scrapy_neardup.errors import StoreError
from scrapy_neardup.pipeline.analysis import AnalysedPage
from scrapy_neardup.verdict import Decision

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.journal import Journal
    from scrapy_neardup.dust.rulebook import Change
    from scrapy_neardup.dust.urlrule import Rule
    from scrapy_neardup.settings.crawling import CrawlSettings
    from scrapy_neardup.stores import Store
    from scrapy_neardup.text import Content
    from scrapy_neardup.verdict import Page, Verdict

logger = logging.getLogger(__name__)

MARK: Final = "_neardup_found"
"""Key of `request.meta`: the request may be skipped, as a callback has yielded it. It goes to disk
with the request, and is removed before the download."""

REMEMBERED_PENDING: Final = 65_536
"""Maximum number of scheduled requests that are remembered, for others of the same page."""

MAX_WAITING: Final = 256
"""Maximum number of requests that are looked at again when the page comes for which they wait;
further ones are when the crawl is idle."""

LESSON: Final = 64
"""Number of pages after which rules that skip nothing learn from them. Many at once cost a third
of what each costs alone, between other work, as they find the processor's caches warm."""

_EXCHANGED: Final = 128
"""Number of judged pages of a host after which crawlers exchange what they have learnt."""

_FILE: Final = "neardup.urls"
"""File in ``JOBDIR`` with the skipped requests, how often rules were checked, and the patterns."""


class UrlRules:
    """The URL rules of one crawl, and the budgets of its patterns.

    Parameters
    ----------
    job
        What identifies this crawl and the one that resumes it; None: none does.
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
        self._is_exact = settings.parameters.is_exact
        self._lesson = 1 if self._skips or settings.pattern_budget else LESSON
        self._judged: list[tuple[Parts, str, Page, Content | None, Verdict]] = []
        self._store = store
        self._journal = journal
        self._job = job
        self._member = secrets.token_hex(4)
        self._hosts = Hosts()
        self._pending: BoundedDict[int, list[str]] = BoundedDict(REMEMBERED_PENDING)
        """Keys of pages -> the URL at which each is scheduled, if any, and others that wait."""
        self._skipped = Skips(self._hosts, settings.urls_explore)
        self._saveable = 0
        self._budget = PatternBudget(settings, journal)
        folder = job_dir(crawler.settings)
        self._file = None if folder is None else Path(folder, _FILE)
        self._resume()
        if self._skips:
            crawler.signals.connect(self._idle, signals.spider_idle)

    # Requests

    def passes(self, request: Request) -> bool:
        """Whether a request that a callback has yielded is to be scheduled."""
        if self._skips and _may_be_skipped(request):
            request.meta[MARK] = True
            if self._is_skipped(request, was_scheduled=False):
                return False
        return self._budget.admits(request)

    def is_skipped_now(self, request: Request) -> bool:
        """Whether a scheduled request needn't be made any more."""
        is_marked = request.meta.pop(MARK, False) is True
        return is_marked and self._is_skipped(request, was_scheduled=True)

    def _is_skipped(self, request: Request, *, was_scheduled: bool, is_last: bool = False) -> bool:
        """Whether a request isn't made, as its page is known, or is to come.

        That of a printed page waits for the original, until `is_last`.
        """
        parts, url = Parts.of(request.url), requested(request)
        host = parts and self._hosts.get(parts.host)
        if not parts or not host or host.knows(parts):
            return False  # a page that was fetched before is left to the scheduler
        if (found := host.sparing(parts)) is not None:
            key, rules = host.joined(parts)[0], found.rules
        else:
            key, rules = self._awaited(host, parts, url, is_last=is_last)
        if not rules:
            return False
        request.meta.pop(MARK, None)
        if found is not None and self._skipped.is_explored(url, parts.host, rules):
            self._journal.count("urls/explored")
            return False
        self._remember(url, Skipped(request, rules, key, was_scheduled, waits=found is None))
        return True

    def _awaited(
        self, host: Host, page: Parts, url: str, *, is_last: bool
    ) -> tuple[int, tuple[Rule, ...]]:
        """Return the key of the page for which a URL's request waits, and the rules by which.

        There are none if it waits for no other: it is the one for which others wait.
        """
        key, rules = host.joined(page)
        if not is_last and (printed := host.printed(page)) is not None:
            original = self._pending.get(printed[0])
            if rules or (original and original[0]):
                _add(self._pending.setdefault(printed[0], [""]), url)
                return printed
        waiting = self._pending.setdefault(key, [url])
        if waiting[0] in {"", url}:
            waiting[0] = url
            return key, ()
        theirs = Parts.of(waiting[0])
        rules = rules or (host.joined(theirs)[1] if theirs else ())
        if rules:
            _add(waiting, url)
        return key, rules

    def _remember(self, url: str, skipped: Skipped) -> None:
        if (first := self._skipped.get(url)) is not None:
            was_scheduled = first.was_scheduled or skipped.was_scheduled
            self._skipped[url] = skipped._replace(was_scheduled=was_scheduled)
            return
        if len(self._skipped) == REMEMBERED_SKIPS:
            oldest = next(iter(self._skipped))
            if self._skipped[oldest].waits:
                self._request_again([oldest], forced=True)
            else:
                self._journal.count("urls/forgotten")
        self._skipped[url] = skipped
        report_skipped(self._journal, skipped.request, skipped.rules)

    # Pages

    async def judged(
        self, url: str, page: Page, content: Content | None, verdict: Verdict
    ) -> None:
        """Learn from a page requested at `url`, later; an error changes nothing for it."""
        parts = Parts.of(url)
        if parts is not None and verdict.decision in {Decision.NEW, Decision.DUPLICATE}:
            self._judged.append((parts, url, page, content, verdict))
        if len(self._judged) >= self._lesson:
            await self._learn()

    async def _learn(self) -> None:
        """Learn from the pages that were judged since the last time."""
        pages, self._judged = self._judged, []
        try:
            brings = self._budget.judged([(p, page, v.is_duplicate) for p, _, page, _, v in pages])
            for page, brings_any in zip(pages, brings, strict=True):
                await self._learn_from(*page, brings=brings_any or self._is_exact)
        except Exception as error:  # noqa: BLE001  (see above)
            self._journal.failed(pages[-1][1], error)

    async def _learn_from(
        self, parts: Parts, url: str, page: Page, content: Content | None, verdict: Verdict,
        *, brings: bool,
    ) -> None:  # fmt: skip
        if self._hosts.get(parts.host) is None:
            await self._meet(parts.host)
        host = self._hosts.met(parts.host)
        match, is_new = verdict.match, verdict.decision is Decision.NEW
        is_short = page.tokens < SHORT
        if is_new and not (brings or is_short):
            self._journal.write(lambda audit: audit.nothing_new(verdict.page_id))
        number = (verdict.page_id if match is None else match.page_id) % (1 << VALUE_BITS)
        same = Parts.of(match.url) if match and match.url else None
        changes: list[Change] = []
        is_joined = True
        if is_new or not host.has_learnt(parts, number, same):
            texts = () if self._is_exact or content is None else content.blocks.texts
            changes, is_joined = host.learn(
                parts,
                number,
                is_new=is_new,
                match=same,
                words=0 if is_short or not isinstance(page, AnalysedPage) else page.words,
                letters=letters_of(texts) if texts else 0,
                brings=None if is_short else brings,
            )
        if is_joined:
            self._saveable += 1
            self._journal.count("urls/saveable")
        self._skipped.judged(url.partition("#")[0], parts.host)
        self._tell(changes)
        if self._pending:
            self._settle(self._pending.pop(host.joined(parts)[0], [])[1:])
        if changes or not host.pages % _EXCHANGED:
            await self._exchange(parts.host, host)

    def _settle(self, urls: Iterable[str]) -> None:
        """Skip the requests that have waited for a page if its coming makes them needless."""
        waiting = [url for url in dict.fromkeys(urls) if url in self._skipped]
        for url in waiting:
            self._skipped[url].request.meta[MARK] = True  # a rule may begin before the download
        self._request_again(waiting)

    def withdrawn(self, request: Request) -> None:
        """Forget a page whose callback failed, and request what was skipped for its sake."""
        self._judged = [page for page in self._judged if page[1] != request.url]
        parts = Parts.of(request.url)
        if parts is None or (host := self._hosts.get(parts.host)) is None:
            return
        key, _ = host.joined(parts)
        host.forget(parts)
        self._pending.pop(key, None)
        self._request_again(url for url, each in self._skipped.items() if each.key == key)

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            report_change(self._journal, change)
            if not change.begins:
                self._request_again(
                    url for url, each in self._skipped.items() if change.rule in each.rules
                )

    def _request_again(
        self, urls: Iterable[str], *, is_last: bool = False, forced: bool = False
    ) -> int:
        """Make skipped requests, unless another rule skips them; return their number.

        With `is_last` none waits for another one, with `forced` no rule is asked.
        """
        made = 0
        for url in list(urls):
            skipped = self._skipped[url]
            request, again = skipped.request, skipped.was_scheduled
            if not forced and self._is_skipped(request, was_scheduled=again, is_last=is_last):
                continue
            del self._skipped[url]
            made += 1
            assert self._crawler.engine is not None  # noqa: S101  (for the type checker)
            self._crawler.engine.crawl(request.replace(dont_filter=again))
        if made:
            self._journal.count("urls/requested-again", made)
        return made

    def _idle(self) -> None:
        """Make the requests that are needed before the crawl ends."""
        self._pending.clear()
        waiting = [url for url, skipped in self._skipped.items() if skipped.waits]
        made = self._request_again(waiting, is_last=True)
        if made or self._request_again(self._skipped.unchecked(), forced=True):
            raise DontCloseSpider

    # Pauses, and other crawlers

    async def close(self) -> None:
        """Report the rules, and save what was learnt for other crawlers and a resumed crawl."""
        await self._learn()
        self._save()
        rules = dict.fromkeys(rule for host in self._hosts.values() for rule in host.active)
        asks = not (self._skips or self._is_exact)
        report_rules(self._journal, list(rules), self._saveable, asks=asks)
        for name, host in list(self._hosts.items()):
            with suppress(StoreError):
                await self._store.exchange(f"{TOPIC} {name}", self._member, host.dump())
                if self._job is not None:
                    topic = f"{TOPIC} {name} of {self._job}"
                    await self._store.exchange(topic, "state", host.state())

    async def _meet(self, name: str) -> None:
        """Load what an earlier run or other crawlers have learnt of a host."""
        if self._job is not None:
            topic = f"{TOPIC} {name} of {self._job}"
            with suppress(StoreError):
                for state in await self._store.exchange(topic, "", None):
                    if (host := Host.restored(state)) is not None:
                        self._hosts[name] = host
        await self._exchange(name, self._hosts.met(name))

    async def _exchange(self, name: str, host: Host) -> None:
        """Exchange with other crawlers what was learnt of a host."""
        mine = host.dump()
        with suppress(StoreError):  # the next exchange makes up for it
            heard = await self._store.exchange(f"{TOPIC} {name}", self._member, mine)
            self._tell(host.add_others(value for value in heard if value != mine))

    def _save(self) -> None:
        """Write what isn't in the store to ``JOBDIR``, for the resumed crawl."""
        if self._file is None:
            return
        state = self._skipped.dump(self._crawler.spider), self._budget.state
        try:
            self._file.write_bytes(pickle.dumps(state))
        except OSError as error:
            logger.warning("Skipped requests can't be kept for a resumed crawl: %s", error)

    def _resume(self) -> None:
        """Read what `_save` has written."""
        if self._file is None or not self._file.exists():
            return
        try:
            # As Scrapy's own queues beside it, the file is the user's.
            skipped, patterns = pickle.loads(self._file.read_bytes())  # noqa: S301
            self._skipped.restore(skipped, self._crawler.spider)
            self._budget.state = patterns
        except Exception as error:  # noqa: BLE001  (cut off, or of another version)
            logger.warning("%s can't be read, and is ignored: %r", self._file, error)


def _add(waiting: list[str], url: str) -> None:
    """Add a URL whose request waits to those of its page, unless there are too many."""
    if len(waiting) <= MAX_WAITING:
        waiting.append(url)


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
