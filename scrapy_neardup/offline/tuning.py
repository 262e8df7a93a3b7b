"""How good the filter is on pages at hand, with one configuration and another.

Rule of this module: the truth is exact and knows nothing of the filter. A page is a duplicate if
an earlier one has a resemblance of at least 0.9 (word 4-shingles of the main text, by
`scrapy_neardup.joins`); a drop loses content if no earlier page has 0.8. Each configuration
judges the pages in the order of the collection, as a crawl would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.detector import Detector
from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.joins import self_join
from scrapy_neardup.offline.sampling import (
    DUPLICATE,
    LOST,
    SHINGLE,
    ReadPage,
    Sample,
    draw,
    judged,
)
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.text import Content
from scrapy_neardup.verdict import Page, Verdict

_SURE = 1.96
"""Number of standard errors on either side of a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings to be measured.

    Parameters
    ----------
    varied
        What differs from the default, and its value: ``("NEARDUP_TITLES", "strict")``.
    settings
        The lines of a settings file; none for the default.
    parameters
        What they mean.
    """

    varied: tuple[str, str]
    settings: dict[str, Any]
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class Share:
    """An estimated share, and the interval that holds it in 95 of 100 samples."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a configuration does to the sample.

    Parameters
    ----------
    configuration
        The configuration.
    precision, recall
        The share of drops that are right, and of duplicates that are dropped.
    dropped, right, lost
        How many pages of the sample were dropped, rightly, and with content lost.
    drops
        Page -> the page that it was found to repeat, or None where that isn't known; numbers in
        the sample.
    """

    configuration: Configuration
    precision: Share
    recall: Share
    dropped: int
    right: int
    lost: int
    drops: dict[int, int | None]


@dataclass(frozen=True, slots=True)
class Truth:
    """What is right, for each page of a sample.

    Parameters
    ----------
    best
        The largest resemblance to an earlier page, 0 for less than 0.8; shape (n,), float64.
    nearest
        Which page that is, -1 for none; shape (n,), int64.
    """

    best: NDArray[np.float64]
    nearest: NDArray[np.int64]

    @property
    def duplicates(self) -> NDArray[np.bool_]:
        """Whether each page is a duplicate."""
        return self.best >= DUPLICATE


def drawn(pages: Callable[[], Iterable[ReadPage]], size: int, seed: int = 0) -> Sample:
    """Return a sample of about `size` pages; see `sampling.draw`."""

    async def judge_and_draw() -> Sample:
        parameters = Parameters()
        async with _store(parameters, 1_000_000) as store:
            return await draw(pages, size, Detector(Analyser(parameters), store), seed)

    return asyncio.run(judge_and_draw())


def truth_of(sample: Sample) -> Truth:
    """Return the truth about a sample: an exact join of its pages."""
    sets = []
    for page in sample.pages:
        tokens = token_hashes(page.content.text if page.content else "")
        sets.append(features(tokens, shingle_size=SHINGLE)[0].tolist() if len(tokens) else [])
    pairs = self_join(sets, LOST)
    best = np.zeros(len(sets))
    nearest = np.full(len(sets), -1)
    order = np.argsort(pairs.similarity, kind="stable")
    later, earlier = np.maximum(pairs.i, pairs.j)[order], np.minimum(pairs.i, pairs.j)[order]
    best[later], nearest[later] = pairs.similarity[order], earlier
    return Truth(best, nearest)


def configurations() -> Iterator[Configuration]:
    """Yield the default, and what differs from it in one setting."""
    yield _configuration("NEARDUP_PRESET", "best", {})
    for preset in ("compact", "paper"):
        yield _configuration("NEARDUP_PRESET", preset, {"NEARDUP_PRESET": preset})
    for k in (0, 1, 2, 4, 6):
        settings = {"NEARDUP_PRESET": "paper", "NEARDUP_MAX_DISTANCE": k}
        yield _configuration("k (preset paper)", str(k), settings)
    for least in (0.8, 0.85, 0.95, 0.98):
        yield _configuration(
            "NEARDUP_MIN_RESEMBLANCE", str(least), {"NEARDUP_MIN_RESEMBLANCE": least}
        )
    for titles in ("strict", "ignore"):
        yield _configuration("NEARDUP_TITLES", titles, {"NEARDUP_TITLES": titles})


def measured(sample: Sample, truth: Truth, progress: Callable[[int, int], None]) -> list[Outcome]:
    """Return what each of the `configurations` does to a sample, the default first."""
    planned = list(configurations())
    contents = [page.content for page in sample.pages]
    outcomes = []
    known: dict[Parameters, dict[int, Page | Verdict]] = {}
    with asyncio.Runner() as runner:
        for done, configuration in enumerate(planned):
            progress(done, len(planned))
            analyser = _Remembering(configuration.parameters, contents)
            same = replace(configuration.parameters, titles="learn", max_distance=0)
            analyser.known = known.setdefault(same, {})
            drops = runner.run(_crawl(sample, analyser))
            outcomes.append(_outcome(configuration, sample, truth, drops))
    return outcomes


def chosen(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome to choose: the default, unless another is clearly better.

    Better is what loses fewer pages, or as many with a recall above the interval of the
    default's.
    """
    default = outcomes[0]
    fewest = min(outcome.lost for outcome in outcomes)
    rivals = [outcome for outcome in outcomes if outcome.lost == fewest]
    best = max(rivals, key=lambda outcome: outcome.recall.value)
    if default.lost > fewest or best.recall.value > default.recall.high:
        return best
    return default


def share(part: float, whole: float, observations: int) -> Share:
    """Return the share `part` / `whole` with its interval (Wilson 1927).

    `observations` is how many independent ones it rests on: groups, as the pages of one are
    dropped or kept for the same reasons. With none nothing is known.
    """
    if not (whole and observations):
        return Share(1.0, 0.0, 1.0)
    p, n, z = part / whole, observations, _SURE
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    width = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Share(p, min(max(middle - width, 0.0), p), max(min(middle + width, 1.0), p))


class _Remembering(Analyser):
    """An analyser that fingerprints a page once, however often it is judged as it is.

    Neither titles nor k have a part in that: configurations that differ in these only share what
    is remembered.
    """

    def __init__(self, parameters: Parameters, contents: list[Content | None]) -> None:
        super().__init__(parameters)
        self._contents = contents
        self.known: dict[int, Page | Verdict] = {}

    def page(self, content: Content, *, page_id: int, url: str | None) -> Page | Verdict:
        """See `Analyser.page`; a page that was changed is fingerprinted anew."""
        if content is not self._contents[page_id]:
            return super().page(content, page_id=page_id, url=url)
        if page_id not in self.known:
            self.known[page_id] = super().page(content, page_id=page_id, url=url)
        return self.known[page_id]


def _store(parameters: Parameters, pages: int) -> Store:
    return open_store(
        "memory:",
        max_distance=parameters.max_distance,
        expected_pages=pages,
        schema=parameters.schema(),
        matching=parameters.matching,
    )


async def _crawl(sample: Sample, analyser: Analyser) -> dict[int, int | None]:
    """Judge the pages in order; return which are dropped, and for which other one."""
    drops: dict[int, int | None] = {}
    async with _store(analyser.parameters, len(sample.pages)) as store:
        detector = Detector(analyser, store)
        for number, page in enumerate(sample.pages):
            if (verdict := await judged(page, number, detector)) and verdict.is_duplicate:
                drops[number] = verdict.match.page_id if verdict.match else None
    return drops


def _outcome(
    configuration: Configuration, sample: Sample, truth: Truth, drops: dict[int, int | None]
) -> Outcome:
    dropped = np.zeros(len(sample.pages), bool)
    dropped[list(drops)] = True
    right = dropped & truth.duplicates

    def counted(which: NDArray[np.bool_], of: NDArray[np.bool_]) -> Share:
        weights, groups = sample.weights, len(np.unique(sample.groups[of]))
        return share(float(weights[which].sum()), float(weights[of].sum()), groups)

    return Outcome(
        configuration=configuration,
        precision=counted(right, dropped),
        recall=counted(right, truth.duplicates),
        dropped=int(dropped.sum()),
        right=int(right.sum()),
        lost=int((dropped & (truth.best < LOST)).sum()),
        drops=drops,
    )


def _configuration(setting: str, value: str, settings: dict[str, Any]) -> Configuration:
    changed = dict(settings)
    preset = changed.pop("NEARDUP_PRESET", "best")
    known = {name.removeprefix("NEARDUP_").lower(): value for name, value in changed.items()}
    return Configuration((setting, value), settings, Parameters.of_preset(preset, **known))
