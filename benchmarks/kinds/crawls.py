"""Crawls of known sites by real Scrapy, in processes of their own, and what came of them.

A process crawls one site after the other. It asks one server for all hosts, as a proxy, so that
URLs are the same in every run. The site stays here, and notes what it has shown.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import crawling
from crawling import BREADTH_FIRST, PLUGIN, Crawl, Job, served

from kinds.site import ENOUGH_URLS, Asked, KnownSite, Walk, walk
from scrapy_neardup.settings.catalogue import DEPRIORITIZE, FLAG

ORDERS = {"breadth": BREADTH_FIRST, "depth": {}}
ENDLESS = 4
"""A crawl of a site without end is ended after so many requests a content, and `SOME_MORE`."""
SOME_MORE = 200
FAST = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
ALWAYS = FAST | {"NEARDUP_HASH_KEY": "public"}


def _work(pipe: Connection) -> None:
    crawling.crawl(iter(pipe.recv, None), pipe.send)


class Process:
    """A process that makes crawls, one after the other."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def begin(self, job: Job) -> None:
        self._pipe.send(job)

    def end(self) -> Crawl:
        return self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self._pipe.send(None)
        self._process.join()


@dataclass(frozen=True, slots=True)
class How:
    """How sites are crawled."""

    action: str = "drop"
    urls: str = "report"
    order: str = "breadth"
    settings: tuple[tuple[str, Any], ...] = ()
    pauses: int = 0
    store: str = ""
    """A Redis server that all crawlers share."""
    most: int = 0

    @property
    def only_flags(self) -> bool:
        """Whether near-duplicates are delivered, too, and only marked."""
        return self.action in {FLAG, DEPRIORITIZE}

    def settings_of(self, site: KnownSite) -> dict[str, Any]:
        """Return the settings of a crawl of a site."""
        most = self.most or site.ends_after or limit_of(site)
        own = {"NEARDUP_ACTION": self.action, "NEARDUP_URLS": self.urls}
        limit = {"CLOSESPIDER_PAGECOUNT": most} if most else {}
        kind = dict(site.kind.settings)
        return PLUGIN | ALWAYS | ORDERS[self.order] | own | limit | kind | dict(self.settings)


@dataclass(slots=True)
class SiteOutcome:
    """What came of the crawl of a site. Contents and pages are counted, requests too."""

    name: str
    is_quick: bool
    contents: int
    """Contents that a crawl meets that follows every link."""
    delivered: int
    never: int
    """Contents that were never delivered, in a crawl that wasn't ended."""
    wrong: int
    """Pages that were dropped though no page of their content was delivered."""
    unmade: int
    """Contents never delivered of which a request was withheld, and none made."""
    twice: int
    """Pages delivered though their content was delivered before."""
    found: int
    """Pages dropped whose content was delivered from another page."""
    without: int
    """Requests of a crawl without the plugin; of an endless one, until it is ended."""
    requests: int
    needless: int
    """Requests that showed nothing that an earlier one hadn't shown."""
    skipped: int
    experiments: int
    unsaid: int | None
    """Of two crawls: pages that have changed, and whose verdict doesn't say so."""
    missaid: int | None
    """Of two crawls: pages whose verdict says that they have changed, and they haven't."""
    finished: bool
    errors: int
    seconds: float
    given: set[str]
    """The contents that were delivered, in an earlier crawl too."""
    earlier: set[str]
    """Those of an earlier crawl."""
    unreported: int | None = None
    misreported: int | None = None
    """As `unsaid` and `missaid`, by what ``scrapy-neardup changes`` says of the two audits."""
    rules: int | None = None
    """Rules that ``scrapy-neardup rules`` shows for the crawl's audit."""
    cut: int | None = None
    """Contents that a crawl doesn't meet which obeys ``rules --format deny``."""

    @property
    def recall(self) -> float:
        """The share of the repetitions that a callback could have got that were dropped."""
        total = self.found + self.twice
        return self.found / total if total else 1.0

    @property
    def saved(self) -> float:
        """The share of the needless requests without the plugin that weren't made."""
        needless = self.without - self.contents
        return 1 - self.needless / needless if needless > 0 else 0.0

    def row(self) -> dict[str, Any]:
        row = {
            name: value for name, value in asdict(self).items() if name not in {"given", "earlier"}
        }
        return row | {"recall": round(self.recall, 3), "saved": round(self.saved, 3)}


class Crawlers:
    """The processes that crawl, and the crawls that they make."""

    def __init__(self, count: int = 1) -> None:
        self._stack = ExitStack()
        self._processes = [self._stack.enter_context(Process()) for _ in range(count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def crawl(self, site: KnownSite, how: How) -> SiteOutcome:
        """Crawl a site to its end, once or as often as its kind says, and return the outcome."""
        found = None
        with tempfile.TemporaryDirectory() as folder:
            for number in range(1, site.kind.crawls + 1):
                site.crawl = number
                whole = walk(site, most=limit_of(site) or ENOUGH_URLS)
                asked = Asked(site)
                settings = self._settings(site, how, folder)
                with served(asked) as server:
                    job = Job(site.kind.name, site.start, settings, proxy=server.url)
                    if how.pauses:
                        crawls = self._paused(job, how.pauses, whole.requests)
                    elif len(self._processes) > 1:
                        crawls = self._together(job, how.store)
                    else:
                        crawls = [self._once(job)]
                found = outcome(site, whole, asked, crawls, before=found, how=how)
            if "NEARDUP_AUDIT" in settings:
                audited(site, whole, found, folder)
            if how.store:
                name = settings["NEARDUP_NAMESPACE"]
                _command("clear", "--store", how.store, "--namespace", name, "--yes")
        return found

    def _settings(self, site: KnownSite, how: How, folder: str) -> dict[str, Any]:
        settings = {
            name: value.replace("FOLDER", folder) if isinstance(value, str) else value
            for name, value in how.settings_of(site).items()
        }
        if how.store:
            name = f"kinds-{os.getpid()}-{site.kind.name}"
            settings |= {"NEARDUP_STORE": how.store, "NEARDUP_NAMESPACE": name}
        elif site.kind.crawls > 1 or how.pauses:
            settings["NEARDUP_STORE"] = f"sqlite:{folder}/neardup.db"
        if how.pauses:
            settings["JOBDIR"] = f"{folder}/job-{site.crawl}"
        if site.kind.is_audited and len(self._processes) == 1:
            settings["NEARDUP_AUDIT"] = f"{folder}/audit-{site.crawl}.jsonl"
            settings["NEARDUP_AUDIT_TEXT"] = True
        return settings

    def _paused(self, job: Job, pauses: int, requests: int) -> list[Crawl]:
        """End a crawl after equal parts of its requests, and go on with the same JOBDIR."""
        ends = {"CLOSESPIDER_PAGECOUNT": max(1, requests // (pauses + 1))}
        crawls = []
        for _ in range(pauses):
            crawls.append(self._once(replace(job, settings=job.settings | ends)))
            if crawls[-1].finished:
                return crawls
        return [*crawls, self._once(job)]

    def _once(self, job: Job) -> Crawl:
        self._processes[0].begin(job)
        return self._processes[0].end()

    def _together(self, job: Job, server: str) -> list[Crawl]:
        """Crawl by several processes that share the URLs between them by a hash."""
        count = len(self._processes)
        shared = {
            "EXAMPLE_FRONTIER": server,
            "EXAMPLE_CRAWLERS": count,
            "EXAMPLE_PAGES": job.settings.get("CLOSESPIDER_PAGECOUNT") or 10**6,
            "SPIDER_MIDDLEWARES": {"example.frontier.SharedFrontier": 100},
        }
        for number, process in enumerate(self._processes):
            own = shared | {"EXAMPLE_CRAWLER": number}
            process.begin(replace(job, settings=job.settings | own))
        crawls = [process.end() for process in self._processes]
        from redis import Redis

        with Redis.from_url(server) as client:  # what the frontier keeps there
            client.delete("idle", "pages", *(f"frontier:{number}" for number in range(count)))
        return crawls


def limit_of(site: KnownSite) -> int:
    """Return the number of requests after which a crawl of an endless site is ended; else 0."""
    return ENDLESS * site.some(150, 60) + SOME_MORE if site.kind.endless else 0


def outcome(
    site: KnownSite,
    whole: Walk,
    asked: Asked,
    crawls: list[Crawl],
    *,
    before: SiteOutcome | None,
    how: How,
) -> SiteOutcome:
    """Compare what was delivered with what there is; `before` is the outcome of an earlier
    crawl."""
    known = set() if before is None else before.given
    given: Counter[str] = Counter()
    dropped: list[str] = []
    for crawl, record in [(each, record) for each in crawls for record in each.records]:
        if record.status == HTTPStatus.OK and record.shown:
            if record.has_item and not (record.dropped and how.only_flags):
                given[record.shown] += 1
            elif record.dropped or crawl.finished:  # others had no time to reach their callback
                dropped.append(record.shown)
    wanted = whole.contents - known
    shown = [content for _, content in asked.shown if content]
    finished = crawls[-1].finished
    missing = wanted - given.keys()
    skipped = {url for crawl in crawls for url in crawl.skipped}
    answers = map(site.answer, skipped)
    unmade = {answer.page.content for answer in answers if answer} & missing - set(shown)
    needed = given.keys() - known
    stats = [crawl.stats for crawl in crawls]
    said = {url for crawl in crawls for url in crawl.changed}
    changed = {url for url, content in asked.shown if before and content in wanted}
    return SiteOutcome(
        name=site.kind.name,
        is_quick=site.quick,
        contents=len(wanted),
        delivered=len(given.keys() & wanted),
        never=len(missing) if finished else len(missing.intersection(shown)),
        wrong=sum(content not in given and content not in known for content in dropped),
        unmade=len(unmade),
        twice=given.total() - len(needed),
        found=sum(content in given or content in known for content in dropped),
        without=whole.requests,
        requests=len(asked.shown),
        needless=len(asked.shown) - len(set(shown)),
        skipped=len(skipped),
        experiments=sum(
            value for each in stats for name, value in each.items()
            if name.startswith("neardup/experiments/")
            and isinstance(value, int)
            and not name.endswith(("/claims", "/doubts"))  # besides the budget
        ),
        unsaid=len(changed - said) if before else None,
        missaid=len(said - changed) if before else None,
        finished=finished,
        errors=sum(each.get("log_count/ERROR", 0) for each in stats),
        seconds=sum(crawl.seconds for crawl in crawls),
        given=known | given.keys(),
        earlier=known,
    )  # fmt: skip


def audited(site: KnownSite, whole: Walk, found: SiteOutcome, folder: str) -> None:
    """Note what the command says of the audits of a site's crawls."""
    audits = [f"{folder}/audit-{number}.jsonl" for number in range(1, site.kind.crawls + 1)]
    if site.kind.crawls > 1:
        lines = _command("changes", *audits).splitlines()
        said = {each["page"] for each in map(json.loads, lines) if each["change"] == "changed"}
        changed = {url for url in site.pages if (answer := site.answer(url))
                   and answer.page.content in whole.contents - found.earlier}  # fmt: skip
        found.unreported, found.misreported = len(changed - said), len(said - changed)
        return
    lines = [json.loads(each) for audit in audits for each in Path(audit).read_text().splitlines()]
    claims = {(each["host"], each["claim"]) for each in lines if each.get("event") == "claim"}
    found.rules = len(claims)
    denied = json.loads(_command("rules", "--format", "deny", *audits))
    found.cut = len(whole.contents - walk(site, [re.compile(each) for each in denied]).contents)


def _command(*words: str) -> str:
    """Return what the command prints."""
    from click.testing import CliRunner

    from scrapy_neardup.cli import main

    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@contextmanager
def redis_server(uri: str) -> Iterator[str]:
    """Yield a URI of Redis: the given one, or that of a server of our own for ``redis:``."""
    if uri in {"", "redis:"}:
        from redis_servers import RedisServer

        with RedisServer() as server:
            yield server.uri
    else:
        yield uri
