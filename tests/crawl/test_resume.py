"""Crawls that go on: after a clean stop, after ``kill -9``, on a store of an earlier crawl."""

import asyncio
import os
import signal

import scrapy
from crawl_client import Worker
from crawl_spiders import Visit
from sqlite_files import kept
from store_registry import until


class Goes(Visit):
    """Starts with `/a/1`, which leads to its paths, and stops after some pages."""

    async def start(self):
        yield scrapy.Request(self.site + "/a/1", dont_filter=True)

    def parse(self, response):
        self.note(response)
        for place, path in enumerate(self.paths):
            yield self.request(response, path, -1000 * place)


def test_a_crawl_resumed_after_a_clean_stop_knows_its_pages(crawl, tmp_path):
    jobdir = {"JOBDIR": str(tmp_path / "job"), "NEARDUP_KEEP_START": False}
    jobdir["NEARDUP_HASH_KEY"] = None  # the store's own
    paths = ["/b/1", "/b/2", "/c/1", "/b/3"]
    first = crawl(Goes, *paths, settings=jobdir | {"CLOSESPIDER_PAGECOUNT": 2})
    assert first.notes == ["/a/1", "/b/1"]
    assert first.reason == "closespider_pagecount"
    assert b'"hash_key": "own"' in (tmp_path / "job" / "neardup.sqlite").read_bytes()

    second = crawl(Goes, *paths, settings=jobdir)
    # The start request runs again: its page was seen, and is no duplicate of itself.
    assert sorted(second.notes) == ["/a/1", "/c/1"]
    assert second.pages("seen", "new", "dropped") == [1, 1, 2]


def test_a_store_of_ones_own_outlives_the_crawl_unless_the_namespace_says_so(crawl, tmp_path):
    store = {"NEARDUP_STORE": f"sqlite:{tmp_path / 'pages.sqlite'}"}
    assert crawl(Visit, "/a/1", settings=store).notes == ["/a/1"]
    assert crawl(Visit, "/a/2", settings=store).notes == []
    assert crawl(Visit, "/a/2", **store, NEARDUP_NAMESPACE="visit %(time)s").notes == ["/a/2"]


class Killed(Visit):
    """`/a/1` is never done with."""

    async def page(self, response):
        if self.path_of(response) == "/a/1":
            await asyncio.sleep(3600)


def test_after_kill_9_only_pages_that_were_processed_count(crawl, site, tmp_path):
    path = tmp_path / "pages.sqlite"
    settings = {"NEARDUP_STORE": f"sqlite:{path}", "NEARDUP_NAMESPACE": "killed"}
    settings |= {"CONCURRENT_REQUESTS": 8, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000}
    victim = Worker()
    victim.begin(crawl.part(Killed, "/a/1", "/b/1", settings=settings))
    asyncio.run(until(lambda: "/a/1" in site.requests and path.exists() and kept(path)))
    os.kill(victim.pid, signal.SIGKILL)
    victim.close()

    assert crawl(Visit, "/a/2", "/b/2", settings=settings).notes == ["/a/2"]
