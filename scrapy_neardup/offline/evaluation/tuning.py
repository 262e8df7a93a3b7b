"""Precision and recall of several configurations on pages at hand.

Each configuration judges all pages in the order of the collection, as a crawl would; only the
truth that they are held against (`truth`) is that of a sample (`sampling`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.offline.evaluation.sampling import Foreseen, Sample, draw, estimated, foresee
from scrapy_neardup.offline.evaluation.truth import (
    DUPLICATE,
    LOST,
    ReadPage,
    Texts,
    Truth,
    truth_of,
)
from scrapy_neardup.offline.jobs.scanning import judge
from scrapy_neardup.pipeline.analysis import Analyser
from scrapy_neardup.pipeline.detector import Detector
from scrapy_neardup.reports.differences import Difference, Groups
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Verdict

_SURE = 1.96
"""Number of standard errors on either side of a 95 % interval."""

_MAX_LOST = 0.01
"""Share of drops that lose content above which losing less comes before finding more."""

_EXPECTED = 100_000
"""Number of pages that the tables are made for; more take longer."""

Progress = Callable[[int, str], None]
"""Function that is called with the number of pages that are done, and in which step."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings to be measured, what they change of the default, and their parameters."""

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
    """The effect of a configuration on a collection.

    Parameters
    ----------
    precision, recall
        The share of drops that are right, and of duplicates that are dropped; estimated.
    dropped, lost
        Number of dropped pages, and an estimate of those whose content is lost.
    matches
        The page that each page is dropped for, -1 for those that aren't, -2 where it isn't known;
        shape (n,), int64.
    differences
        Number of a page -> how those that are dropped for it differ, where they differ in little.
    """

    configuration: Configuration
    precision: Share
    recall: Share
    dropped: int
    lost: int
    matches: NDArray[np.int64]
    differences: dict[int, Difference]

    @property
    def loses_content(self) -> bool:
        """Whether more than one drop in a hundred loses content."""
        return self.lost > _MAX_LOST * self.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All results on a collection.

    Parameters
    ----------
    names
        Of all pages.
    sample, truth
        The pages that were compared with all others, and the truth about them.
    groups
        Of each page of the sample the group of pages that look alike; shape (m,), int64.
    outcomes
        Of each configuration, the default first.
    """

    names: list[str]
    sample: Sample
    truth: Truth
    groups: NDArray[np.int64]
    outcomes: list[Outcome]


def configurations() -> Iterator[Configuration]:
    """Yield the default, and configurations that differ from it in one setting."""
    yield _configuration("NEARDUP_PRESET", "best", {})
    for preset in list(PRESETS)[1:]:
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


def measure(
    pages: Iterable[ReadPage], size: int, seed: int = 0, progress: Progress = lambda *_: None
) -> Measured:
    """Judge a collection with each of the `configurations`, and compare a sample exactly.

    Parameters
    ----------
    size
        Number of pages to compare with all others, of those that may be duplicates.
    seed
        Of the random sample.

    Notes
    -----
    O(words) of time, some 8 ms a page of 700 words; memory for 13 stores, and 0.5 kB a page; a
    temporary file of 8 bytes a word.
    """
    runs = [_Run(configuration) for configuration in configurations()]
    with Texts() as texts:
        names = asyncio.run(_judged(pages, runs, texts, progress))
        dropped = np.array([run.matches for run in runs], np.int64) != -1
        texts.learn_template(~dropped[0])
        seen = foresee(texts)
        sample = draw(seen, dropped.any(axis=0), size, seed)
        truth = truth_of(texts, sample.numbers, lambda done: progress(done, "pages compared"))
    return Measured(
        names=names,
        sample=sample,
        truth=truth,
        groups=seen.groups[sample.numbers],
        outcomes=[_outcome(run, seen, sample, truth) for run in runs],
    )


def chosen(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome to choose: the default, unless another is clearly better.

    Another one is clearly better if its recall is above the interval of the default's, and it
    neither loses more pages nor is less precise. If more than one in a hundred of the default's
    drops loses content, the outcome that loses fewest is chosen instead.
    """
    default = outcomes[0]
    rivals = [
        outcome
        for outcome in outcomes
        if outcome.lost <= default.lost and outcome.precision.value >= default.precision.value
    ]
    if default.loses_content:
        fewest = min(outcome.lost for outcome in rivals)
        rivals = [outcome for outcome in rivals if outcome.lost == fewest]
        return max(rivals, key=lambda outcome: outcome.recall.value)
    best = max(rivals, key=lambda outcome: outcome.recall.value)
    return best if best.recall.value > default.recall.high else default


def share(part: float, whole: float, observations: float) -> Share:
    """Return the share `part` / `whole` with its interval (Wilson 1927).

    `observations` is the number of independent ones: of groups, as the pages of one are dropped or
    kept for the same reasons. With none nothing is known.
    """
    if not (whole and observations):
        return Share(1.0, 0.0, 1.0)
    p, n, z = part / whole, observations, _SURE
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    width = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Share(p, min(max(middle - width, 0.0), p), max(min(middle + width, 1.0), p))


@dataclass(slots=True)
class _Run:
    """The drops of one configuration so far."""

    configuration: Configuration
    matches: list[int] = field(default_factory=list)
    """As in `Outcome`."""
    differences: dict[int, Difference] = field(default_factory=dict)
    _groups: Groups = field(default_factory=Groups)

    def add(self, page: ReadPage, text: str, verdict: Verdict) -> None:
        """Note the verdict on the next page."""
        match = verdict.match
        if not verdict.is_duplicate or match is None:
            self.matches.append(-2 if verdict.is_duplicate else -1)
            return
        self.matches.append(match.page_id)
        if (found := self._groups.add(page.name, match, text)) is not None:
            self.differences[match.page_id] = found


async def _judged(
    pages: Iterable[ReadPage], runs: list[_Run], texts: Texts, progress: Progress
) -> list[str]:
    """Judge pages in each of the runs, and return their names."""
    names: list[str] = []
    detectors: dict[Parameters, list[tuple[_Run, Detector]]] = {}
    async with AsyncExitStack() as stack:
        for run in runs:
            parameters = run.configuration.parameters
            store = open_store(
                "memory:",
                max_distance=parameters.max_distance,
                expected_pages=_EXPECTED,
                schema=parameters.schema(),
                matching=parameters.matching,
            )
            detector = Detector(Analyser(parameters), await stack.enter_async_context(store))
            detectors.setdefault(_read_as(parameters), []).append((run, detector))
        for number, page in enumerate(pages):
            names.append(page.name)
            texts.add(page)
            if (content := page.content) is None:
                for run in runs:
                    run.matches.append(-1)
                continue
            text = f"{content.title}\n{content.text}"
            for alike in detectors.values():
                analysed = alike[0][1].analyser.page(content, page_id=number, url=page.name)
                for run, detector in alike:
                    run.add(page, text, await judge(analysed, detector))
            progress(len(names), "pages judged")
    return names


def _read_as(parameters: Parameters) -> Parameters:
    """Return the part of the parameters that decides which `Page` is made of a page."""
    confirmed = Parameters().min_resemblance if parameters.min_resemblance else 0
    return replace(parameters, titles="learn", max_distance=0, min_resemblance=confirmed)


def _outcome(run: _Run, seen: Foreseen, sample: Sample, truth: Truth) -> Outcome:
    matches = np.array(run.matches, np.int64)
    dropped, alike = matches != -1, seen.alike
    everywhere = np.ones_like(dropped)
    right = estimated(dropped, alike >= DUPLICATE, sample, truth.duplicates)
    duplicates = estimated(everywhere, alike >= DUPLICATE, sample, truth.duplicates)
    of_sample, groups = dropped[sample.numbers], seen.groups[sample.numbers]
    return Outcome(
        configuration=run.configuration,
        precision=share(right, int(dropped.sum()), len(np.unique(groups[of_sample]))),
        recall=share(right, max(duplicates, right), len(np.unique(groups[truth.duplicates]))),
        dropped=int(dropped.sum()),
        lost=round(estimated(dropped, alike < LOST, sample, truth.best < LOST)),
        matches=matches,
        differences=run.differences,
    )


def _configuration(setting: str, value: str, settings: dict[str, Any]) -> Configuration:
    changed = dict(settings)
    preset = changed.pop("NEARDUP_PRESET", "best")
    known = {name.removeprefix("NEARDUP_").lower(): value for name, value in changed.items()}
    return Configuration((setting, value), settings, Parameters.of_preset(preset, **known))
