"""Middlewares that get in the way of others, and an item pipeline."""

import asyncio

from crawl_stores import JOURNAL


class BreaksOff:
    """Near the engine: takes one entry of the output of `/a/1`, and no more."""

    async def process_spider_output(self, response, result, spider=None):
        async for entry in result:
            yield entry
            if "/a/1" in response.url:
                return


class OfCrawler:
    """A middleware that knows its crawler."""

    @classmethod
    def from_crawler(cls, crawler):
        middleware = cls()
        middleware.crawler = crawler
        return middleware


class Rejects:
    def process_spider_input(self, response, spider=None):
        if "/a/1" in response.url:
            raise ValueError("not this one")


class FetchesAgain:
    """Near the engine: fetches a page again before anybody gets to see it."""

    def process_response(self, request, response, spider=None):
        if request.meta.get("again") or "json" in response.url:
            return response
        return request.replace(meta={"again": True}, dont_filter=True)


class Swallows:
    """Near the engine: fetches `/b/1` instead of handing over `/a/1`."""

    def process_response(self, request, response, spider=None):
        if "/a/1" in response.url:
            return request.replace(url=response.url.replace("/a/1", "/b/1"))
        return response


class UntilConfirmed:
    """Holds `/later.json` back until the toy store is asked to confirm a page."""

    async def process_response(self, request, response, spider=None):
        while "later" in response.url and not any("confirm" in line for line in JOURNAL):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return response


class UntilOthersWait:
    """Holds the first item back until some other pages wait for its page to be done."""

    awaited = 2

    @classmethod
    def from_crawler(cls, crawler):
        pipeline = cls()
        pipeline.stats = crawler.stats
        return pipeline

    async def process_item(self, item, spider=None):
        while self.stats.get_value("neardup/pages/waited", 0) < self.awaited:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return item
