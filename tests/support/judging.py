"""Pages judged one after another, as a crawl meets them, but without HTTP; and their text."""

import asyncio
import random

from scrapy_neardup.crawl.experiments.refetch import Due
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.sketch import Sketch, level_of, marked
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


def read(analyser, shown):
    """Return the content of HTML, or what is a content already."""
    return shown if isinstance(shown, Content) else analyser.read(parse_html(shown.encode()))


def analysed(analyser, pages):
    """Return what a store may know of pages of (URL, HTML or content, ...)."""
    return [
        analyser.page(read(analyser, shown), page_id=number, url=url)
        for number, (url, shown, *_) in enumerate(pages)
    ]


async def judge(pages, parameters, uri="memory:"):
    """Judge pages of (URL, HTML or content, ...) in this order and confirm them.

    Another response to the same request may follow the content: it is learnt from where a crawl
    would ask for it. Returns a verdict for each page.
    """
    async with store_for(parameters, uri) as store:
        analyser, due, verdicts = Analyser(parameters), Due(), []
        detector = Detector(analyser, store)
        for number, (url, *responses) in enumerate(pages):
            contents = (read(analyser, shown) for shown in responses)
            first, *again = (analyser.page(each, page_id=number, url=url) for each in contents)
            verdicts.append(await detector.decide(first))
            await store.confirm(number)
            if (
                again
                and isinstance(first, AnalysedPage)
                and (due.includes(first) or detector.asks_again(first))
            ):
                await detector.learn_response(first, again[0])
        return verdicts


def judged(*arguments, **options):
    """Do as `judge` does where no event loop runs."""
    return asyncio.run(judge(*arguments, **options))


def sketch_of(shingles, size, level=None):
    """Return the sketch of a set, at the lowest level that isn't too dense unless one is given."""
    level = level_of(len(shingles), size) if level is None else level
    return Sketch(level, int.from_bytes(marked(shingles, size, level), "little"))


async def _crawl(pages, again, learn, beside):
    parameters, released = Parameters(learn=learn), []
    async with store_for(parameters) as store:
        said = []
        detector = Detector(Analyser(parameters), store, on_learnt=lambda *each: said.append(each))
        filling = [
            (f"http://a.test/jobs/f{n}", f"<title>{n}</title>{prose(n, 60)}{beside}")
            for n in range(9)
        ]
        read = analysed(detector.analyser, [*filling, *pages, again])
        pages, second = read[len(filling) : -1], read[-1]
        verdicts = {}

        async def judge(page):
            verdicts[page.id] = verdict = await detector.decide(page)
            if not verdict.is_duplicate:
                await store.confirm(page.id)
            return verdict

        for page in read[: len(filling)]:
            await judge(page)
        for number, page in enumerate(pages):
            verdict = await judge(page)
            if number == 1:
                await detector.learn_response(page, second)
            elif detector.asks_again(page):
                await detector.learn_response(page, page)
            released += verdict.released
            for each in verdict.released:
                await judge(read[each])
        assert ("records" in [name for _, name, _ in said]) == bool(released)
        return [verdicts[page.id] for page in pages], released


def kept(pages, again, learn=("boilerplate", "changing", "titles", "records"), beside=""):
    """Judge pages of a site, with `again` as the second response for the second one.

    Return whether each was kept, the ids of those that were requested again, and the verdicts.
    Other pages have the same second response, and `beside` is on nine pages before these.
    """
    verdicts, released = asyncio.run(_crawl(pages, again, learn, beside))
    return [not verdict.is_duplicate for verdict in verdicts], released, verdicts
