"""Pages judged one after another, as a crawl meets them, but without HTTP; and their text."""

import asyncio
import random

from scrapy_neardup.pipeline.analysis import Analyser
from scrapy_neardup.pipeline.detector import Detector
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import Content, parse_html


def words(seed, count=200):
    chance = random.Random(seed)
    return [f"w{chance.randrange(10**6)}" for _ in range(count)]


def prose(seed, count=200):
    return " ".join(words(seed, count))


def store_for(parameters, uri="memory:"):
    return open_store(uri, max_distance=parameters.max_distance,
                      schema=parameters.schema(), matching=parameters.matching)  # fmt: skip


def contents(analyser, pages, first_id=0):
    """Give (page id, URL, content) of pages of (URL, HTML or content)."""
    for number, (url, page) in enumerate(pages, first_id):
        is_read = isinstance(page, Content)
        yield number, url, page if is_read else analyser.read(parse_html(page.encode()))


def analysed(analyser, pages):
    """Return what a store may know of pages of (URL, HTML or content)."""
    read = contents(analyser, pages)
    return [analyser.page(content, page_id=number, url=url) for number, url, content in read]


async def judge(pages, parameters, uri="memory:", first_id=0):
    """Judge pages of (URL, HTML or content) in this order and confirm them: a verdict for each."""
    async with store_for(parameters, uri) as store:
        detector, verdicts = Detector(Analyser(parameters), store), []
        for number, url, content in contents(detector.analyser, pages, first_id):
            verdicts.append(await detector.judge(content, page_id=number, url=url))
            await store.confirm(number)
        return verdicts


def judged(*arguments, **options):
    """Do as `judge` does where no event loop runs."""
    return asyncio.run(judge(*arguments, **options))
