"""With the add-on a crawl is filtered, or it ends at its start with one sentence and a status."""

import asyncio
import os
from contextlib import contextmanager

import forked
import pytest
from crawl_spiders import Visit
from redis_servers import port_of_nobody
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.statscollectors import MemoryStatsCollector
from sqlite_files import make

from scrapy_neardup.crawl import pagestate, stopping
from scrapy_neardup.crawl.reporting import Reporter
from scrapy_neardup.verdict import Decision, Reason, Verdict

ADDONS = {"ADDONS": '{"scrapy_neardup.Addon": 500}'}
MIDDLEWARE = "scrapy_neardup.crawl.middlewares.NearDuplicate{}Middleware"
DOWNLOADER = MIDDLEWARE.format("Downloader")
SPIDER = MIDDLEWARE.format("Spider")


def raising(what):
    return (
        "from scrapy_neardup.stores.sqlite.sqlitestore import SQLiteStore\n"
        f"async def opened(self):\n    raise {what}\n"
        "SQLiteStore.open = opened\n"
    )


def without(module):
    return f"import sys; sys.modules[{module!r}] = None\n"


A_FILE = {"NEARDUP_STORE": "sqlite:{here}/a.db"}
CHANGED = "import numpy\ndef changed(*_, **__): raise IndexError('out of bounds')\n"
BROKEN = {
    # Where -> settings, Python that runs first, what the sentence says. {here}: a folder.
    "a module of the package": ({}, without("scrapy_neardup.crawl.session"), "can't start: M"),
    "a middleware": ({}, without("scrapy_neardup.crawl.middlewares"), "can't start: Module"),
    "numpy": ({}, without("numpy"), "doctor --project' says what is installed"),
    "what few pages need": ({}, without("chardet"), "doctor --project' says what is installed"),
    "numpy that changed": ({}, CHANGED + "numpy.argsort = changed\n", "IndexError('out of"),
    "redis-py": (
        {"NEARDUP_STORE": "redis://h/0"}, without("redis"), "pip install '.[redis]' in a clone"),
    "a server": (
        {"NEARDUP_STORE": "redis://:hunter2@127.0.0.1:{port}/0"}, "", "/0 doesn't answer"),
    "a server, and pages are to be kept": (
        {"NEARDUP_STORE": "redis://127.0.0.1:{port}/0", "NEARDUP_ON_ERROR": "keep"}, "",
        "/0 doesn't answer"),
    "a host": ({"NEARDUP_STORE": "redis://no.invalid/0"}, "", "redis://no.invalid/0"),
    "a store's folder": ({"NEARDUP_STORE": "sqlite:{here}/no/a.db"}, "", "NEARDUP_STORE: "),
    "a store's file": ({"NEARDUP_STORE": "sqlite:{here}/text"}, "", "is not a store of scrapy"),
    "a store's parameters": (
        {"NEARDUP_STORE": "sqlite:{here}/pages.db", "NEARDUP_NAMESPACE": "default"}, "",
        "was made with"),
    "a store, an odd error": (A_FILE, raising("ZeroDivisionError('odd')"), "'odd'"),
    "a store, an error of the worst kind": (
        A_FILE, "class Panic(BaseException): pass\n" + raising("Panic('odd')"),
        "start: Panic('odd')"),
    "a store that ends Python": (A_FILE, raising("SystemExit(0)"), "SystemExit(0)"),
    "a base": ({"NEARDUP_BASE": "{here}/no.pack"}, "", "no.pack: can't be read"),
    "a base's file": ({"NEARDUP_BASE": "{here}/text"}, "", "text: not a packed file"),
    "a value": ({"NEARDUP_MAX_DISTANCE": "11"}, "", "NEARDUP_MAX_DISTANCE must be"),
    "a number": ({"NEARDUP_PATTERN_BUDGET": "many"}, "", "NEARDUP_PATTERN_BUDGET must be"),
    "both halves off": (
        {"SPIDER_MIDDLEWARES": f'{{"{SPIDER}": null}}',
         "DOWNLOADER_MIDDLEWARES": f'{{"{DOWNLOADER}": null}}'},
        "", "set NEARDUP_ENABLED = False"),
    "the reactor": (
        {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}, "",
        "remove the setting TWISTED_REACTOR"),
}  # fmt: skip
"""Beside what `test_start.py` has."""
PLACES = {"NEARDUP_STORE", "NEARDUP_BASE"}
COMMANDS = {name for name, (_, before, _) in BROKEN.items() if before} | {
    "a server", "a value", "the reactor",
}  # fmt: skip
"""Those that are tried by Scrapy's command, in a process of its own: its status is what Scrapy
makes of a crawl that didn't start."""


PLAIN = """
from scrapy import Spider

class Plain(Spider):
    name = "plain"

    def __init__(self, site):
        super().__init__()
        self.start_urls = [site + "/start.json"]

    def parse(self, response):
        pass
"""


@contextmanager
def surroundings(folder):
    (folder / "text").write_text("Neither a store nor a packed file.\n" * 100)
    (folder / "plain.py").write_text(PLAIN)
    with port_of_nobody() as port:
        yield {"here": folder, "port": port}


def scrapy_command(folder, site, settings, before=""):
    """Run ``scrapy runspider plain.py`` with the add-on in a folder, `before` first.

    What changes modules or numpy does so before anything is imported.
    """
    settings = {**ADDONS, "TELNETCONSOLE_ENABLED": 0, "LOG_LEVEL": "INFO", **settings}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    command = ["runspider", "plain.py", "-a", f"site={site.url}", *options]
    script = f"{before}\nfrom scrapy.cmdline import execute\n"
    if "sys.modules" in before or "numpy" in before:
        return forked.python("-P", "-c", f"{script}execute()", *command, cwd=folder)
    (folder / "changed_scrapy.py").write_text(script)
    return forked.run("changed_scrapy", "execute", *command, cwd=folder)


def filled(settings, around):
    return {
        name: value.format_map(around) if name in PLACES else value
        for name, value in settings.items()
    }


@pytest.mark.parametrize("where", sorted(COMMANDS))
def test_a_broken_start_ends_the_command_with_a_sentence(where, site, tmp_path):
    settings, before, sentence = BROKEN[where]
    with surroundings(tmp_path) as around:
        done = scrapy_command(tmp_path, site, filled(settings, around), before)
    assert site.requests == []
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if " ERROR: " in line]
    assert len(told) == 1, done.stderr
    assert sentence in told[0]
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("where", sorted(BROKEN.keys() - COMMANDS))
async def test_a_broken_start_ends_the_crawl_with_a_sentence(where, crawl, site, tmp_path):
    settings, _, sentence = BROKEN[where]
    await make(f"sqlite:{tmp_path}/pages.db")
    with surroundings(tmp_path) as around:
        outcome = crawl(Visit, "/a/1", settings=filled(settings, around), errors=True)
    assert site.requests == []
    assert not outcome.started
    [told] = outcome.logged("ERROR")
    assert sentence in told
    assert "Traceback" not in told


def test_a_wrong_name_of_the_add_on_ends_the_crawl_too(site, tmp_path):
    with surroundings(tmp_path):
        done = scrapy_command(tmp_path, site, {"ADDONS": '{"scrapy_neardup.AddOn": 500}'})
    assert site.requests == []
    assert done.returncode == 1
    assert "'scrapy_neardup' doesn't define any object named 'AddOn'" in done.stderr


BROKEN_TWIN = """
import sys
from types import ModuleType
import scrapy_neardup._speed as speed
broken = ModuleType("scrapy_neardup._speed.counting")
def counted(*_): raise IndexError("index -36 is out of bounds")
broken.counted = counted
sys.modules[broken.__name__] = speed.counting = broken
"""


@pytest.mark.skipif(os.environ.get("NEARDUP_PURE") == "1", reason="pure Python")
def test_a_crawl_with_a_broken_twin_is_filtered(site, tmp_path):
    with surroundings(tmp_path):
        done = scrapy_command(tmp_path, site, {}, BROKEN_TWIN)
    assert done.returncode == 0
    assert "scrapy-neardup runs counting.counted in pure Python" in done.stderr
    assert "IndexError('index -36 is out of bounds')" in done.stderr
    assert "'neardup/pages/checked': 1" in done.stderr


RAISES = """
from scrapy_neardup.judge.analysis import Analyser

def page(self, *_, **__):
    raise ZeroDivisionError

Analyser.page = page
"""


def test_a_crawl_whose_first_pages_all_raise_ends_with_status_1(site, tmp_path):
    with surroundings(tmp_path):
        many = PLAIN.replace('site + "/start.json"', 'f"{site}/{n}/1" for n in range(26)')
        (tmp_path / "plain.py").write_text(many)
        done = scrapy_command(tmp_path, site, {"CONCURRENT_REQUESTS": 1}, RAISES)
    assert done.returncode == 1
    assert "None of the first 20 pages could be judged" in done.stderr
    assert "'finish_reason': 'neardup_error'" in done.stderr


@pytest.mark.parametrize(("story", "ends"), [
    ("x" * 20, True), ("-" * 30 + "x" * 20, True), ("x" * 19, False), ("x-" * 20, True),
    ("x" * 19 + "o" + "x" * 40, False), ("o" + "x" * 40, False), ("x" * 60, True),
])  # fmt: skip
async def test_only_pages_at_the_start_end_it_if_none_was_judged(monkeypatch, story, ends):
    """x: judging raises; o: a page is judged; -: one has no verdict, such as a picture."""
    closed, url = [], "http://h.test/"
    close = lambda *called: asyncio.sleep(0, closed.append(called))
    monkeypatch.setattr(stopping, "close_spider", close)
    verdicts = {
        "o": Verdict(decision=Decision.NEW, page_id=1, reason=Reason.UNMATCHED),
        "-": Verdict(decision=Decision.UNJUDGED, page_id=1, reason=Reason.NOT_HTML),
    }
    crawler = Crawler(Visit)
    crawler.stats = MemoryStatsCollector(crawler)
    reporter = Reporter(crawler)
    for page in story:
        if page == "x":
            reporter.raised(url, ZeroDivisionError())
        else:
            visit = pagestate.Visit(verdict=verdicts[page], action="keep")
            reporter.page(Response(url), visit)
    for _ in range(3):
        await asyncio.sleep(0)
    assert closed == [(crawler, "neardup_error")] * ends
