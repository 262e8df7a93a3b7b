"""Item pipelines."""

import asyncio


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
