"""A frontier that several crawlers share: each URL belongs to the crawler that its hash names.

What a crawler finds for itself goes into its own scheduler, as ever. What belongs to
another one goes into a list on a Redis server, from where that one takes it. All end when
they have fetched EXAMPLE_PAGES between them, or when nobody has anything left to do. Off
unless EXAMPLE_FRONTIER names the server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urldefrag
from zlib import crc32

from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider, NotConfigured

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

POLL_SECONDS = 0.05
MAX_TAKEN = 500
"""URLs that are taken over at a time."""


class SharedFrontier:
    """Spider middleware. It stands near the engine, so that requests have their depth."""

    def __init__(
        self, crawler: Crawler, server: str, *, crawlers: int, number: int, pages: int
    ) -> None:
        self._crawler = crawler
        from redis.asyncio import Redis  # noqa: PLC0415  (an example without Redis needs none)

        self._redis = Redis.from_url(server, decode_responses=True)
        self._crawlers = crawlers
        self._number = number
        self._pages = pages
        self._counted = 0
        self._sent: set[str] = set()
        self._over = False
        self._taking: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        if not settings.get("EXAMPLE_FRONTIER"):
            raise NotConfigured("no EXAMPLE_FRONTIER")
        frontier = cls(
            crawler,
            settings["EXAMPLE_FRONTIER"],
            crawlers=settings.getint("EXAMPLE_CRAWLERS"),
            number=settings.getint("EXAMPLE_CRAWLER"),
            pages=settings.getint("EXAMPLE_PAGES"),
        )
        crawler.signals.connect(frontier.spider_opened, signals.spider_opened)
        crawler.signals.connect(frontier.spider_idle, signals.spider_idle)
        crawler.signals.connect(frontier.spider_closed, signals.spider_closed)
        return frontier

    def owner(self, url: str) -> int:
        return crc32(urldefrag(url).url.encode()) % self._crawlers

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for request in start:
            if self.owner(request.url) == self._number:
                yield request

    async def process_spider_output(
        self,
        response: Response,  # noqa: ARG002
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002  (Scrapy 2.13 passes it)
    ) -> AsyncIterator[Any]:
        if self._over:
            raise CloseSpider("budget")
        found: dict[int, list[str]] = {}
        async for entry in result:
            if not isinstance(entry, Request) or (owner := self.owner(entry.url)) == self._number:
                yield entry
            elif (url := urldefrag(entry.url).url) not in self._sent:
                self._sent.add(url)
                words = json.dumps([url, entry.meta["depth"], entry.priority])
                found.setdefault(owner, []).append(words)
        for owner, requests in found.items():
            await self._redis.rpush(f"frontier:{owner}", *requests)

    def spider_opened(self) -> None:
        self._taking = asyncio.get_running_loop().create_task(self._take())

    def spider_idle(self) -> None:
        if not self._over:
            raise DontCloseSpider

    async def spider_closed(self) -> None:
        if self._taking:
            self._taking.cancel()
            with suppress(asyncio.CancelledError):
                await self._taking
        await self._redis.aclose()

    async def _take(self) -> None:
        """Take over what others have found; note when nobody has anything left to do."""
        engine, stats = self._crawler.engine, self._crawler.stats
        while not self._over:
            await asyncio.sleep(POLL_SECONDS)
            if not engine.running:
                continue
            received = stats.get_value("response_received_count", 0)
            # One transaction: nobody may see an empty list and a crawler that is still idle.
            async with self._redis.pipeline() as together:
                together.srem("idle", self._number)
                together.lpop(f"frontier:{self._number}", MAX_TAKEN)
                together.incrby("pages", received - self._counted)
                _, words, pages = await together.execute()
            self._counted = received
            for url, depth, priority in map(json.loads, words or ()):
                engine.crawl(Request(url, meta={"depth": depth}, priority=priority))
            if pages >= self._pages:
                self._over = True
            elif not words and engine.spider_is_idle():
                await self._redis.sadd("idle", self._number)
                self._over = await self._nobody_works()

    async def _nobody_works(self) -> bool:
        frontiers = [f"frontier:{number}" for number in range(self._crawlers)]
        async with self._redis.pipeline() as together:
            together.scard("idle")
            together.exists(*frontiers)
            idle, waiting = await together.execute()
        return idle == self._crawlers and not waiting
