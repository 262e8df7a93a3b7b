"""What a filter does with the pages of a world, counted against the truth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache

from worlds_site import Page

from scrapy_neardup.detector import Analyser, Detector, page_id
from scrapy_neardup.parameters import PRESETS, Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import parse_html
from scrapy_neardup.urls import identity
from scrapy_neardup.verdict import Decision, Verdict

Judge = Callable[[Sequence[Page]], list[Verdict]]


def judge(pages: Sequence[Page], preset: str) -> list[Verdict]:
    """Return the plugin's verdicts on pages in the order of a crawl, without HTTP."""
    return asyncio.run(_judge(pages, Analyser(parameters_of(preset))))


async def _judge(pages: Sequence[Page], analyser: Analyser) -> list[Verdict]:
    parameters = analyser.parameters
    store = open_store(
        "memory:",
        max_distance=parameters.max_distance,
        expected_pages=len(pages),
        schema=parameters.schema(),
        matching=parameters.matching,
    )
    verdicts = []
    async with store:
        detector = Detector(analyser, store)
        for page in pages:
            content = analyser.read(parse_html(page.html))
            number = page_id(identity(page.url))
            verdict = await detector.judge(content, page_id=number, url=page.url)
            if verdict.decision is Decision.NEW:
                await store.confirm(verdict.page_id)
            verdicts.append(verdict)
    return verdicts


@cache
def parameters_of(preset: str) -> Parameters:
    """Return the parameters of a preset."""
    return Parameters(**PRESETS[preset])


@dataclass
class Tally:
    """Counts over crawls of worlds; add them up.

    A page is a repetition if its content was delivered before. A content is lost if none of its
    pages was delivered.
    """

    pages: int = 0
    contents: int = 0
    lost: int = 0
    repetitions: int = 0
    found: int = 0
    worst: float = 1.0
    """The smallest share of repetitions found in one crawl."""
    examples: list[tuple[Page, Verdict]] = field(default_factory=list, repr=False)
    """Of each lost content the first page, and the verdict on it."""

    @property
    def recall(self) -> float:
        """Found among the repetitions."""
        return self.found / self.repetitions if self.repetitions else 1.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.pages + other.pages,
            self.contents + other.contents,
            self.lost + other.lost,
            self.repetitions + other.repetitions,
            self.found + other.found,
            min(self.worst, other.worst),
            self.examples + other.examples,
        )


def tally(pages: Sequence[Page], verdicts: Sequence[Verdict]) -> Tally:
    """Hold verdicts on the pages that were met, in order, against the truth."""
    count = Tally(pages=len(pages))
    delivered: set[Hashable] = set()
    first: dict[Hashable, tuple[Page, Verdict]] = {}
    for page, verdict in zip(pages, verdicts, strict=True):
        first.setdefault(page.content, (page, verdict))
        if page.content in delivered:
            count.repetitions += 1
            count.found += verdict.is_duplicate
        elif not verdict.is_duplicate:
            delivered.add(page.content)
    count.contents = len(first)
    count.examples = [met for content, met in first.items() if content not in delivered]
    count.lost = len(count.examples)
    count.worst = count.recall
    return count
