"""Precision and recall of several configurations on given pages.

Each configuration judges all pages in the order of the collection, as a crawl would. Its drops are
compared with the truth (`truth`).
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

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.scanning import judge
from scrapy_neardup.offline.jobs.truth import LOST, ReadPage, Texts, Truth, truth_of
from scrapy_neardup.report.differences import Groups
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Verdict

_SURE = 1.96
"""Number of standard errors on either side of a 95 % interval."""

_MAX_LOST = 0.01
"""Share of lost drops above which losing fewer comes before finding more."""

_PRESET = "NEARDUP_PRESET"

Progress = Callable[[int, str], None]
"""Function of the number of finished pages and the step."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings to measure: their name, changes of the default, and parameters."""

    varied: tuple[str, str]
    settings: dict[str, Any]
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class Share:
    """A share, with the interval that contains the true share in 95 of 100 collections."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The effect of a configuration on a collection.

    `precision` is the share of drops that are right, `recall` that of duplicates that are dropped,
    `lost` the number of drops whose content is lost. `matches` (n,) int64: the page that each page
    repeats, -1 if it isn't dropped, -2 if unknown. `differences`: number of a page -> how the
    pages dropped for it differ, if they differ little.
    """

    configuration: Configuration
    precision: Share
    recall: Share
    dropped: int
    lost: int
    matches: NDArray[np.int64]
    differences: dict[int, str]

    @property
    def loses_content(self) -> bool:
        """Return whether more than one drop in a hundred is lost."""
        return self.lost > _MAX_LOST * self.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All results on a collection; the first of `outcomes` is the default."""

    names: list[str]
    truth: Truth
    outcomes: list[Outcome]


def configurations() -> Iterator[Configuration]:
    """Yield the default, and configurations that differ from it in one setting."""
    varied: list[tuple[str, Any, dict[str, Any]]] = [
        (_PRESET, preset, {} if preset == "best" else {_PRESET: preset}) for preset in PRESETS
    ]
    varied += [
        ("k (preset paper)", k, {_PRESET: "paper", "NEARDUP_MAX_DISTANCE": k})
        for k in (0, 1, 2, 4, 6)
    ]
    resemblances, titles = (0.8, 0.85, 0.95, 0.98), ("strict", "ignore")
    for name, values in (("MIN_RESEMBLANCE", resemblances), ("TITLES", titles)):
        varied += ((f"NEARDUP_{name}", each, {f"NEARDUP_{name}": each}) for each in values)
    for name, value, settings in varied:
        known = {key.removeprefix("NEARDUP_").lower(): each for key, each in settings.items()}
        parameters = Parameters.of_preset(known.pop("preset", "best"), **known)
        yield Configuration((name, str(value)), settings, parameters)


def measure(pages: Iterable[ReadPage], progress: Progress = lambda *_: None) -> Measured:
    """Judge a collection with all `configurations`, and compare all pages exactly.

    O(words) of time, some 8 ms a page of 700 words; memory for 13 stores, and 8 bytes a word, as
    many as in temporary files.
    """
    runs = [_Run(configuration) for configuration in configurations()]
    texts = Texts()
    names = asyncio.run(_judged(pages, runs, texts, progress))
    texts.learn_template(np.array(runs[0].matches) == -1)
    truth = truth_of(texts, lambda done: progress(done, "pages compared"))
    groups = truth.groups
    return Measured(
        names=names, truth=truth, outcomes=[_outcome(run, truth, groups) for run in runs]
    )


def chosen(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome to choose: the default, unless another is clearly better.

    Another one is clearly better if its recall is above the interval of the default's, it
    loses no more pages, and is no less precise. If more than one in a hundred of the default's
    drops is lost, the outcome that loses fewest is chosen instead.
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
    best = max(rivals, key=lambda outcome: outcome.recall.value)
    is_better = default.loses_content or best.recall.value > default.recall.high
    return best if is_better else default


def share(part: int, whole: int, observations: int) -> Share:
    """Return the share `part` / `whole` with its interval (Wilson 1927).

    `observations` is the number of independent observations: of groups, because the pages of a
    group are dropped or kept for the same reasons. With 0 the interval is from 0 to 1.
    """
    if not observations:
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
    differences: dict[int, str] = field(default_factory=dict)
    _groups: Groups = field(default_factory=Groups)

    def add(self, name: str, text: str, verdict: Verdict) -> None:
        """Note the verdict on the next page."""
        match = verdict.match
        if not verdict.is_duplicate or match is None:
            self.matches.append(-2 if verdict.is_duplicate else -1)
            return
        self.matches.append(match.page_id)
        if (found := self._groups.add(name, match, text)) is not None:
            self.differences[match.page_id] = found


async def _judged(
    pages: Iterable[ReadPage], runs: list[_Run], texts: Texts, progress: Progress
) -> list[str]:
    """Judge pages in each run, and return their names."""
    names: list[str] = []
    detectors: dict[Parameters, list[tuple[_Run, Detector]]] = {}
    async with AsyncExitStack() as stack:
        for run in runs:
            parameters = run.configuration.parameters
            store = open_store(
                "memory:",
                max_distance=parameters.max_distance,
                expected_pages=100_000,  # more of them take longer
                schema=parameters.schema(),
                matching=parameters.matching,
            )
            detector = Detector(Analyser(parameters), await stack.enter_async_context(store))
            # If these are equal, so is the `Page` that is made of a page.
            confirmed = Parameters().min_resemblance if parameters.min_resemblance else 0
            read_as = replace(
                parameters, titles="learn", max_distance=0, min_resemblance=confirmed
            )
            detectors.setdefault(read_as, []).append((run, detector))
        for number, (name, content) in enumerate(pages):
            names.append(name)
            texts.add((name, content))
            if content is None:
                for run in runs:
                    run.matches.append(-1)
                continue
            text = f"{content.title}\n{content.text}"
            for alike in detectors.values():
                analysed = alike[0][1].analyser.page(content, page_id=number, url=name)
                for run, detector in alike:
                    run.add(name, text, await judge(analysed, detector))
            progress(len(names), "pages judged")
            await asyncio.sleep(0)  # an interrupt ends it here: a store in memory never waits
    return names


def _outcome(run: _Run, truth: Truth, groups: NDArray[np.int64]) -> Outcome:
    matches = np.array(run.matches, np.int64)
    dropped, duplicates = matches != -1, truth.duplicates
    right = int((dropped & duplicates).sum())

    def of(pages: NDArray[np.bool_]) -> Share:
        return share(right, int(pages.sum()), len(np.unique(groups[pages])))

    return Outcome(
        configuration=run.configuration,
        precision=of(dropped),
        recall=of(duplicates),
        dropped=int(dropped.sum()),
        lost=int((dropped & (truth.best < LOST)).sum()),
        matches=matches,
        differences=run.differences,
    )
