"""One order of pages has one outcome: in a crawl, a stopped one, `scan`, and on every store."""

import asyncio
import json
from functools import cache
from itertools import islice
from random import Random

import pytest
import scrapy
from audits import verdicts
from click.testing import CliRunner
from crawl_spiders import ONE_BY_ONE, Visit
from judging import store_for
from made.world import Page
from site_server import Answer
from store_registry import PLACES
from worlds import FAMILIES

from scrapy_neardup.cli import main
from scrapy_neardup.crawl.experiments.refetch import Due
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.scanning import analyse, judge
from scrapy_neardup.offline.readers.files import FoundPage
from scrapy_neardup.verdict import Verdict

MIXED = {
    "timed-pages-mixed": 12, "advert-plain": 12, "clock-60": 12, "related-links-plain": 12,
    "editions-120-number": 16, "two-lines-end-short-pages": 10, "photos-10-own": 20,
    "archives-40-10": 20, "few-words": 8, "campaigns": 20, "highlighted-comments": 8,
    "corrections": 12,
}  # fmt: skip
"""Made-up sites (``benchmarks/worlds.py``), and how many contents of each."""

KEYS = ("page", "verdict", "reason", "rule", "of", "distance", "resemblance")


@cache
def mixed() -> list[Page]:
    """Return pages of several sites, as they come in turns."""
    chance = Random(1)
    sites, pages = [], []
    for name, most in MIXED.items():
        shown = FAMILIES[name].world(1).pages
        contents = list(dict.fromkeys(page.content for page in shown))[:most]
        sites.append(iter([page for page in shown if page.content in contents]))
    while sites:
        site = chance.choice(sites)
        some = list(islice(site, chance.randint(1, 6)))
        pages += some
        if not some:
            sites.remove(site)
    return pages


Analysed = AnalysedPage | Verdict


@cache
def analysed() -> list[tuple[str, Analysed, Analysed]]:
    """Return the address of each page, and what is known of its two responses."""
    analyser = Analyser(Parameters())

    def read(page: Page, html: str) -> Analysed:
        return analyse(FoundPage(page=page.url, url=page.url, html=html.encode()), analyser)

    return [
        (page.url, read(page, page.html), read(page, page.again or page.html)) for page in mixed()
    ]


Told = list[tuple[object, ...]]


async def judged(uri: str, *stops: int, asks: bool = True) -> Told:
    """Judge the pages on a store that is closed, and opened again, before some of them.

    Where a crawl `asks` for a page a second time, its other response is learnt from.
    """
    parameters = Parameters()
    analyser = Analyser(parameters)
    pages, told, due = analysed(), [], Due()
    for start, end in zip((0, *stops), (*stops, len(pages)), strict=True):
        async with store_for(parameters, uri) as store:
            detector = Detector(analyser, store, job="test")
            for url, page, again in pages[start:end]:
                verdict = await judge(page, detector)
                if asks and isinstance(page, AnalysedPage) and due.includes(page):
                    await detector.learn_response(page, again)
                match = verdict.match
                told.append((
                    url, verdict.decision, verdict.reason, verdict.rule or None,
                    match and match.url, match and match.distance, match and match.resemblance,
                ))  # fmt: skip
            await detector.close()
    return told


@pytest.fixture(scope="module")
def expected() -> Told:
    return asyncio.run(judged("memory:"))


@pytest.fixture(scope="module")
def unasked() -> Told:
    """Return what is told of them if no page is asked for twice, or always comes as it was."""
    return asyncio.run(judged("memory:", asks=False))


def test_the_pages_show_a_bit_of_everything(expected, unasked):
    for told, fewest in ((expected, 150), (unasked, 80)):
        decisions = [each[1] for each in told]
        assert len(told) > 250
        assert fewest < decisions.count("duplicate") < 300
        assert {"equal", "alike"} <= {each[3] for each in told}


@pytest.mark.parametrize(("name", "stops"), [
    ("redis-cluster", ()),
    pytest.param("sqlite", (7,), marks=pytest.mark.stress),
    ("sqlite", (40, 41, 80, 120, 150, 180, 210, 240)),
    ("redis", (40, 101, 230)),
])  # fmt: skip
async def test_every_store_tells_the_same_over_stops_as_well(name, stops, expected):
    with PLACES[name]() as place:
        assert await judged(place.uri, *stops) == expected


@pytest.mark.parametrize("jobs", [1, 2])
def test_scan_tells_the_same(jobs, unasked, tmp_path):
    lines = (json.dumps({"url": page.url, "html": page.html}) + "\n" for page in mixed())
    (tmp_path / "pages.jsonl").write_text("".join(lines))
    result = CliRunner().invoke(main, ["scan", str(tmp_path / "pages.jsonl"), f"--jobs={jobs}"])
    told = map(json.loads, result.stdout.splitlines())
    assert [tuple(map(row.get, KEYS)) for row in told] == unasked


class InOrder(Visit):
    """Requests pages of many hosts in order, through the site as their proxy."""

    async def start(self):
        yield scrapy.Request(self.site + "/start.json", dont_filter=True)

    def request(self, response, path, priority):
        return scrapy.Request(path, self.page, priority=priority, meta={"proxy": self.site})


def crawled(crawl, site, audit, settings):
    """Return what the audit of a crawl tells, which goes on until no page is left."""
    html = {"Content-Type": "text/html"}
    site.routes |= {page.url: Answer(page.html, headers=html) for page in mixed()}
    own = {"NEARDUP_KEEP_START": False, "NEARDUP_AUDIT": str(audit)}
    settings = ONE_BY_ONE | own | settings
    while crawl(InOrder, *site.routes, settings=settings).reason != "finished":
        pass
    judged = [line for line in verdicts(audit) if line.get("reason", "not-html") != "not-html"]
    return [tuple(map(line.get, KEYS)) for line in judged]


def test_a_crawl_tells_the_same(crawl, site, unasked, audit):
    assert crawled(crawl, site, audit, {}) == unasked


@pytest.mark.parametrize("name", ["sqlite", "redis"])
def test_a_crawl_that_is_stopped_and_resumed_tells_the_same(name, crawl, site, unasked, audit):
    settings = {"JOBDIR": str(audit.with_name("job")), "CLOSESPIDER_PAGECOUNT": 120}
    with PLACES[name]() as place:
        if name == "redis":  # else the store of the job
            settings["NEARDUP_STORE"] = place.uri
        assert crawled(crawl, site, audit, settings) == unasked
