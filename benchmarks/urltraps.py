# ruff: noqa: ARG002  (each policy looks at what it needs)
"""How many needless requests URL rules save among crawl traps, beside other tools.

Crawls a folder of pages behind the traps of `trapsite`, breadth first and without HTTP, judged by
the plugin's detector. A duplicate's links aren't followed. The columns differ in what keeps a
request from being made: nothing; our rules (``NEARDUP_URLS = "skip"``, the class that runs in
Scrapy); MaybeDont's predictor at its defaults; and rules for duplicate-url-discarder, written by
hand for these traps. The latter two need `maybedont` and `duplicate-url-discarder` (PyPI).

A request is needless if it shows what an earlier one of the same crawl showed; months of the
calendar are left out. Saved is what a crawl made fewer of these than the first one, after the
first 500 requests of both.

    python benchmarks/urltraps.py FOLDER…
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lxml import html
from scrapy import Request
from scrapy.settings import Settings
from trapsite import CALENDAR, HOME, TrapSite
from trapstrengths import Traps

from scrapy_neardup.analysis import Analyser, page_id
from scrapy_neardup.crawl.dust.skipping import UrlRules
from scrapy_neardup.detector import Detector
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import parse_html
from scrapy_neardup.urls import identity
from scrapy_neardup.verdict import Page

HOST = "http://site.test"
FIRST = 500
"""Requests that don't count: nothing is known yet."""
PROGRESS = 2_000


class Nothing:
    """Makes every request."""

    def __init__(self, _: Crawl) -> None: ...

    def found(self, request: Request) -> bool:
        """Return whether a request that was found is scheduled."""
        return True

    def due(self, request: Request) -> bool:
        """Return whether a request whose turn it is is made."""
        return True

    async def judged(self, request: Request, page: Any, verdict: Any, content: Any) -> None:
        """Learn from a page."""

    def idle(self) -> None:
        """Schedule what is left to do."""


class Ours(Nothing):
    """The rules of the plugin."""

    def __init__(self, crawl: Crawl) -> None:
        signals = SimpleNamespace(connect=lambda *_: None)
        engine = SimpleNamespace(crawl=crawl.schedule)
        journal = SimpleNamespace(
            count=lambda *_: None, rule=lambda _: None, skipped=lambda *_: None,
            spent=lambda *_: None,
        )  # fmt: skip
        settings = SimpleNamespace(
            urls="skip", urls_explore=0.05, pattern_budget=0, priority_adjust=0
        )
        crawler = SimpleNamespace(signals=signals, engine=engine, settings=Settings())
        self._rules = UrlRules(crawler, settings, crawl.store, journal, None)

    def found(self, request: Request) -> bool:
        return self._rules.passes(request)

    def due(self, request: Request) -> bool:
        return not self._rules.is_skipped_now(request)

    async def judged(self, request: Request, page: Any, verdict: Any, content: Any) -> None:
        if isinstance(page, Page):
            response = SimpleNamespace(request=request)
            await self._rules.judged(response, page, content, verdict)

    def idle(self) -> None:
        self._rules.request_what_is_left()


class MaybeDont(Nothing):
    """MaybeDont's predictor, used as its middleware uses it."""

    def __init__(self, _: Crawl) -> None:
        self._first: list[tuple[str, str]] = []
        self._predictor = None
        self._chance = random.Random(5)

    def due(self, request: Request) -> bool:
        if self._predictor is None or self._predictor.get_dupe_prob(request.url) <= 0.98:
            return True
        return self._chance.random() < 0.05

    async def judged(self, request: Request, page: Any, verdict: Any, content: Any) -> None:
        from maybedont import DupePredictor

        if self._predictor is not None:
            self._predictor.update_model(request.url, content.text)
            return
        self._first.append((request.url, content.text))
        if len(self._first) == 300:
            self._predictor = DupePredictor([text for _, text in self._first])
            for url, text in self._first:
                self._predictor.update_model(url, text)


class Discarder(Nothing):
    """duplicate-url-discarder under rules for these traps."""

    RULES = (
        {"order": 1, "processor": "queryRemoval", "args": ["sid", "utm_source", "utm_campaign"],
         "urlPattern": {"include": ["site.test"]}},
        {"order": 2, "processor": "subpathRemoval", "args": [0],
         "urlPattern": {"include": ["site.test/print/"]}},
    )  # fmt: skip

    def __init__(self, _: Crawl) -> None:
        from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "rules.json")
            file.write_text(json.dumps(self.RULES))
            self._canonicalizer = UrlCanonicalizer([file])
        self._seen: set[str] = set()

    def found(self, request: Request) -> bool:
        url = self._canonicalizer.process_url(request.url)
        is_new = url not in self._seen
        self._seen.add(url)
        return is_new


class Crawl:
    """One crawl of a site."""

    def __init__(self, site: TrapSite, policy: type[Nothing]) -> None:
        self.site = site
        self.store = open_store("memory:", **_options())
        self._detector = Detector(Analyser(Parameters()), self.store)
        self._queue: deque[Request] = deque()
        self._seen: set[str] = set()
        self._policy = policy(self)
        self.requests = 0
        self.needless: list[int] = []
        """Numbers of the requests that showed what was shown before."""
        self.shown: set[str] = set()
        self.delivered: set[str] = set()

    def schedule(self, request: Request) -> None:
        if request.dont_filter or request.url not in self._seen:
            self._seen.add(request.url)
            self._queue.append(request)

    async def run(self) -> Crawl:
        await self.store.open()
        self.schedule(Request(HOST + "/", meta={"is_start_request": True}))
        while self._queue:
            request = self._queue.popleft()
            if self._policy.due(request):
                await self._fetch(request)
            if not self._queue:
                self._policy.idle()
        return self

    async def _fetch(self, request: Request) -> None:
        self.requests += 1
        if self.requests % PROGRESS == 0:
            print(f"{self.requests:,} requests", file=sys.stderr, flush=True)
        status, text = self.site.answer(request.url.removeprefix(HOST))
        if status != 200:
            return
        shown = self.site.locate(request.url).page
        if shown != CALENDAR:
            if shown in self.shown:
                self.needless.append(self.requests)
            self.shown.add(shown)
        tree = parse_html(text.encode())
        content = self._detector.analyser.read(tree)
        number = page_id(identity(request.url))
        page = self._detector.analyser.page(content, page_id=number, url=request.url)
        verdict = await self._detector.decide(page)
        await self._policy.judged(request, page, verdict, content)
        if verdict.is_duplicate:
            return
        await self.store.confirm(number)
        self.delivered.add(shown)
        tree = html.fromstring(text, base_url=request.url)
        tree.make_links_absolute(request.url)
        for anchor in tree.iter("a", "area"):
            url = (anchor.get("href") or "").partition("#")[0]
            if url.startswith(HOST) and url not in self._seen:
                found = Request(url)
                if self._policy.found(found):
                    self.schedule(found)

    def wasted(self) -> int:
        """Return the number of needless requests after the first."""
        return sum(number > FIRST for number in self.needless)


def _options() -> dict[str, Any]:
    parameters = Parameters()
    return {"schema": parameters.schema(), "matching": parameters.matching}


POLICIES = {"drop": Nothing, "rules": Ours, "MaybeDont": MaybeDont, "discarder": Discarder}


def report(folder: Path, names: list[str], years: int) -> None:
    """Crawl a folder once a policy, and print a line for each."""
    site = TrapSite(folder, Traps(years=years))
    first: Crawl | None = None
    for name in names:
        crawl = asyncio.run(Crawl(site, POLICIES[name]).run())
        first = first or crawl
        met = first.shown - {HOME}
        saved = 1 - crawl.wasted() / max(first.wasted(), 1)
        print(
            f"{folder.parent.name}/{folder.name:8} {name:10} {crawl.requests:7,} requests,"
            f" {crawl.wasted():6,} needless, {saved:6.3f} saved,"
            f" {len(met - crawl.shown):4} pages never requested",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--policies", default=",".join(POLICIES), help="(%(default)s)")
    parser.add_argument("--years", type=int, default=3, help="of the calendar (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="a made-up site, without other tools")
    options = parser.parse_args()
    if options.quick:
        from traps import made_up

        with tempfile.TemporaryDirectory() as scratch:
            report(made_up(Path(scratch)), ["drop", "rules"], options.years)
        return
    for folder in options.folders:
        report(folder, options.policies.split(","), options.years)


if __name__ == "__main__":
    main()
