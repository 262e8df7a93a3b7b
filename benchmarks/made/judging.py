"""What a filter does with the pages of a world, counted against the truth."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from made.world import Page

from scrapy_neardup.crawl.experiments.refetch import Due
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs import scanning
from scrapy_neardup.offline.readers.files import FoundPage
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Verdict


def judge(pages: Sequence[Page], preset: str) -> dict[str, Verdict]:
    """Return the pages that the plugin drops, met in this order, by their URLs; see `verdicts`."""
    again = [record(replace(page, html=page.again or page.html)) for page in pages]
    judged = verdicts(list(map(record, pages)), parameters_of(preset), again)
    found = zip(pages, judged, strict=True)
    return {page.url: verdict for page, verdict in found if verdict.is_duplicate}


def record(page: Page) -> FoundPage:
    """Return what `scan` would read of a page."""
    body = page.html.encode()
    return FoundPage(page=page.url, url=page.url, html=body, content_type=page.media_type)


def verdicts(
    records: Sequence[FoundPage], parameters: Parameters, again: Sequence[FoundPage] = ()
) -> list[Verdict]:
    """Judge pages in this order, as a crawl does with a store in memory, but without HTTP.

    `again` are other responses to the same requests: a crawl asks for some of them.
    """

    async def judged() -> list[Verdict]:
        analyser, matching = Analyser(parameters), parameters.matching
        given = {"max_distance": parameters.max_distance, "schema": parameters.schema()}
        async with open_store(
            "memory:", expected_pages=len(records), matching=matching, **given
        ) as store:
            detector = Detector(analyser, store)
            due, found = Due(), []
            numbers: dict[int, int] = {}
            for number, each in enumerate(records):
                page = scanning.analyse(each, analyser)
                found.append(await scanning.judge(page, detector))
                numbers[found[-1].page_id] = number
                released = [*found[-1].released]
                if (
                    again
                    and isinstance(page, AnalysedPage)
                    and (due.includes(page) or detector.asks_again(page))
                ):
                    second = scanning.analyse(again[number], analyser)
                    await detector.learn_response(page, second, released.extend)
                for at in map(numbers.__getitem__, released):  # its request is made again
                    page = scanning.analyse(records[at], analyser)
                    found[at] = await scanning.judge(page, detector)
            return found

    return asyncio.run(judged())


@cache
def parameters_of(preset: str) -> Parameters:
    """Return the parameters of a preset, or of one with strict titles: ``best+strict``."""
    name, plus, titles = preset.partition("+")
    return Parameters.of_preset(name, **({"titles": titles} if plus else {}))


@dataclass
class Tally:
    """Counts over crawls of worlds; add them up.

    A content is lost if none of its pages was delivered. Of any other, all pages but
    one are repetitions; those that were dropped are found.
    """

    contents: int = 0
    lost: int = 0
    repetitions: int = 0
    found: int = 0
    worst: float = 1.0
    """The smallest share of repetitions found in one crawl."""
    examples: list[tuple[Page, Verdict]] = field(default_factory=list, repr=False)
    """Of each content that was lost by drops a page, and the verdict on it."""
    missed: list[tuple[Page, Page]] = field(default_factory=list, repr=False)
    """Repetitions that were delivered, and what they repeat."""

    @property
    def recall(self) -> float:
        return self.found / self.repetitions if self.repetitions else 1.0

    def __add__(self, other: Tally) -> Tally:
        sums = {name: value + getattr(other, name) for name, value in vars(self).items()}
        return Tally(**sums | {"worst": min(self.worst, other.worst)})


def tally(pages: Sequence[Page], dropped: Mapping[str, Verdict]) -> Tally:
    """Compare what was dropped of a world's pages, by URL, with the truth."""
    groups: dict[Hashable, list[Page]] = defaultdict(list)
    for page in pages:
        groups[page.content].append(page)
    count = Tally(contents=len(groups))
    for group in groups.values():
        first, *again = [page for page in group if page.url not in dropped] or [None]
        if first is None:
            count.lost += 1
            count.examples.append((group[0], dropped[group[0].url]))
            continue
        count.repetitions += len(group) - 1
        count.found += len(group) - 1 - len(again)
        count.missed += ((page, first) for page in again)
    count.worst = count.recall
    return count
