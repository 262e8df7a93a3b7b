"""How good the filter is on pages at hand, with one configuration and another.

Rule of this module: each configuration judges all pages in the order of the collection, as a
crawl would, so that nothing is left to chance but what the pages are held against: `truth`, for a
sample of them (`sampling`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.detector import Detector
from scrapy_neardup.offline.collection import ReadPage
from scrapy_neardup.offline.sampling import Foreseen, Sample, draw, estimated, foresee
from scrapy_neardup.offline.scan import judge
from scrapy_neardup.offline.truth import DUPLICATE, LOST, Texts, Truth, truth_of
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import open_store

_SURE = 1.96
"""Number of standard errors on either side of a 95 % interval."""

_MAX_LOST = 0.01
"""Share of drops that lose content above which losing less comes before finding more."""

_EXPECTED = 100_000
"""Number of pages that the tables are made for; more take longer."""

Progress = Callable[[int, str], None]
"""Function that is told how many pages are done, and of what."""


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
    """What a configuration does to a collection.

    Parameters
    ----------
    configuration
        The configuration.
    precision, recall
        The share of drops that are right, and of duplicates that are dropped; estimated.
    dropped, lost
        How many pages are dropped, and how many of them with content lost, the latter estimated.
    matches
        The page that each page is dropped for, -1 for those that aren't, -2 where it isn't known;
        shape (n,), int64.
    """

    configuration: Configuration
    precision: Share
    recall: Share
    dropped: int
    lost: int
    matches: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was found out about a collection.

    Parameters
    ----------
    names
        Of all pages.
    sample, truth
        The pages that were compared with all others, and what they were found to be.
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


def measure(
    pages: Iterable[ReadPage], size: int, seed: int = 0, progress: Progress = lambda *_: None
) -> Measured:
    """Judge a collection with each of the `configurations`, and find out about a sample.

    Parameters
    ----------
    size
        Number of pages to compare with all others, of those that may be duplicates.
    seed
        Of the drawing.

    Notes
    -----
    O(words) of time, some 8 ms a page of 700 words; memory for 13 stores, and 0.5 kB a page; a
    temporary file of 8 bytes a word.
    """
    planned = list(configurations())
    with Texts() as texts:
        names, matches = asyncio.run(_judged(pages, planned, texts, progress))
        dropped = matches != -1
        texts.learn_template(~dropped[0])
        seen = foresee(texts)
        sample = draw(seen, dropped.any(axis=0), size, seed)
        truth = truth_of(texts, sample.numbers, lambda done: progress(done, "pages compared"))
    outcomes = [
        _outcome(configuration, own, seen, sample, truth)
        for configuration, own in zip(planned, matches, strict=True)
    ]
    return Measured(
        names=names,
        sample=sample,
        truth=truth,
        groups=seen.groups[sample.numbers],
        outcomes=outcomes,
    )


def chosen(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome to choose: the default, unless another is clearly better.

    Better is what finds more, beyond the interval of the default's recall, and neither loses more
    pages nor is less precise; or, where the default loses more than one drop in a hundred, what
    loses fewest.
    """
    default = outcomes[0]
    rivals = [
        outcome
        for outcome in outcomes
        if outcome.lost <= default.lost and outcome.precision.value >= default.precision.value
    ]
    if default.lost > _MAX_LOST * default.dropped:
        fewest = min(outcome.lost for outcome in rivals)
        rivals = [outcome for outcome in rivals if outcome.lost == fewest]
        return max(rivals, key=lambda outcome: outcome.recall.value)
    best = max(rivals, key=lambda outcome: outcome.recall.value)
    return best if best.recall.value > default.recall.high else default


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


async def _judged(
    pages: Iterable[ReadPage], planned: list[Configuration], texts: Texts, progress: Progress
) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of pages, and for each configuration what its `Outcome.matches` are."""
    names: list[str] = []
    matches: list[list[int]] = []
    detectors: dict[Parameters, list[tuple[int, Detector]]] = {}
    async with AsyncExitStack() as stack:
        for number, configuration in enumerate(planned):
            parameters = configuration.parameters
            store = open_store(
                "memory:",
                max_distance=parameters.max_distance,
                expected_pages=_EXPECTED,
                schema=parameters.schema(),
                matching=parameters.matching,
            )
            detector = Detector(Analyser(parameters), await stack.enter_async_context(store))
            detectors.setdefault(_read_as(parameters), []).append((number, detector))
        for page in pages:
            names.append(page.name)
            matches.append([-1] * len(planned))
            texts.add(page)
            if page.content is None:
                continue
            for alike in detectors.values():
                analysed = alike[0][1].analyser.page(
                    page.content, page_id=len(names) - 1, url=page.name
                )
                for number, detector in alike:
                    verdict = await judge(analysed, detector)
                    if verdict.is_duplicate:
                        matches[-1][number] = verdict.match.page_id if verdict.match else -2
            progress(len(names), "pages judged")
    return names, np.array(matches, np.int64).reshape(-1, len(planned)).T


def _read_as(parameters: Parameters) -> Parameters:
    """Return what all configurations have in common that make the same `Page` of a page."""
    confirmed = Parameters().min_resemblance if parameters.min_resemblance else 0
    return replace(parameters, titles="learn", max_distance=0, min_resemblance=confirmed)


def _outcome(
    configuration: Configuration,
    matches: NDArray[np.int64],
    seen: Foreseen,
    sample: Sample,
    truth: Truth,
) -> Outcome:
    dropped, alike = matches != -1, seen.alike
    everywhere = np.ones_like(dropped)
    right = estimated(dropped, alike >= DUPLICATE, sample, truth.duplicates)
    duplicates = estimated(everywhere, alike >= DUPLICATE, sample, truth.duplicates)
    of_sample, groups = dropped[sample.numbers], seen.groups[sample.numbers]
    return Outcome(
        configuration=configuration,
        precision=share(right, int(dropped.sum()), len(np.unique(groups[of_sample]))),
        recall=share(right, max(duplicates, right), len(np.unique(groups[truth.duplicates]))),
        dropped=int(dropped.sum()),
        lost=round(estimated(dropped, alike < LOST, sample, truth.best < LOST)),
        matches=matches,
    )


def _configuration(setting: str, value: str, settings: dict[str, Any]) -> Configuration:
    changed = dict(settings)
    preset = changed.pop("NEARDUP_PRESET", "best")
    known = {name.removeprefix("NEARDUP_").lower(): value for name, value in changed.items()}
    return Configuration((setting, value), settings, Parameters.of_preset(preset, **known))
