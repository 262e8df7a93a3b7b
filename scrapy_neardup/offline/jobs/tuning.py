"""Precision and recall of several configurations on given pages.

Each configuration judges all pages in the order of the collection, as a crawl would. They are
compared with the truth about a sample (`truth`). Single pages are drawn, and each is compared with
the whole collection; pairs within a sample of one page in three would be only one pair in nine.
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

from scrapy_neardup.fingerprints import one_permutation_sketch
from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.clusters import UnionFind
from scrapy_neardup.offline.jobs.scanning import judge
from scrapy_neardup.offline.jobs.truth import (
    DUPLICATE,
    LOST,
    ReadPage,
    Texts,
    Truth,
    truth_of,
)
from scrapy_neardup.report.differences import Difference, Groups
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Verdict

_FILTER, _BINS = Filter(16, 6, 1), 128
"""Number of features that find candidates, minima of each, and bins of a sketch. One pair in
100,000 with resemblance 0.9 shares no feature, one in 120 with 0.8, three quarters with 0.5."""

_COMPARED = 16
"""Maximum number of earlier pages with which a page is compared for each feature: the first and
the newest."""

_DOUBT = (0.72, 0.98)
"""Ranges of resemblance by sketch (error some .03) in which it is open whether a page is a
duplicate, or lost if dropped."""

_DOUBTED = 0.75
"""Share of a sample drawn from the pages in doubt, if there are more of them."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Estimates from the sketches of all pages.

    `alike` (n,) float64: resemblance to the nearest earlier page; `groups` (n,) int64: the
    first page of each group of similar pages.
    """

    alike: NDArray[np.float64]
    groups: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Numbers of pages, ascending, int64, and the pages that each represents, float64."""

    numbers: NDArray[np.int64]
    weights: NDArray[np.float64]


def foresee(texts: Texts) -> Foreseen:
    """Compare the sketches of all pages that share a feature; 0.5 kB a page of memory."""
    count = len(texts)
    holders: dict[tuple[int, int], list[int]] = {}
    sketches = np.zeros((count, _BINS), np.uint32)
    alike = np.zeros(count)
    pairs: list[tuple[int, int]] = []
    for number in range(count):
        shingles = texts.shingles(number)
        if not len(shingles):
            continue
        minima = one_permutation_sketch(shingles, _BINS)
        sketches[number] = minima.astype(np.uint32)
        near: set[int] = set()
        for feature in enumerate(_FILTER.digests(minima).tolist()):
            known = holders.setdefault(feature, [])
            near.update(known)
            pairs += ((first, number) for first in known[:1])
            if len(known) == _COMPARED:
                del known[_COMPARED // 2]
            known.append(number)
        if near:
            others = sketches[list(near)]
            alike[number] = (others == sketches[number]).mean(axis=1).max()
    joined = UnionFind(count)
    joined.union_many(*np.array(pairs, np.int64).reshape(-1, 2).T)
    return Foreseen(alike, joined.find_many(np.arange(count)))


def draw(seen: Foreseen, dropped: NDArray[np.bool_], size: int, seed: int = 0) -> Sample:
    """Draw up to `size` pages that are `dropped` (n,) or share a feature with an earlier page.

    Pages that the sketches leave open come first, because an estimate errs only by the rest: this
    is a stratified sample.
    """
    question = dropped | (seen.alike > 0)
    doubted = question & (seen.alike >= _DOUBT[0]) & (seen.alike < _DOUBT[1])
    strata = [np.flatnonzero(doubted), np.flatnonzero(question & ~doubted)]
    sizes = [len(stratum) for stratum in strata]
    first = min(sizes[0], max(int(_DOUBTED * size), size - sizes[1]))
    source = np.random.default_rng(seed)
    numbers, weights = [], []
    for stratum, wanted in zip(strata, (first, size - first), strict=True):
        drawn = source.choice(stratum, min(len(stratum), wanted), replace=False)
        numbers.append(drawn)
        weights.append(np.full(len(drawn), len(stratum) / max(len(drawn), 1)))
    order = np.argsort(together := np.concatenate(numbers))
    return Sample(together[order], np.concatenate(weights)[order])


def estimated(
    among: NDArray[np.bool_], foreseen: NDArray[np.bool_], sample: Sample, found: NDArray[np.bool_]
) -> float:
    """Estimate the number of pages `among` (n,) with a property that `foreseen` (n,) guesses.

    `found` (m,) are the pages of the sample that have it. This is the difference estimator
    (Särndal, Swensson and Wretman, "Model Assisted Survey Sampling", 1992, section 6.3): it counts
    the guess over all pages, and corrects it by the sample.
    """
    numbers = sample.numbers
    errors = found.astype(float) - foreseen[numbers]
    total = (among & foreseen).sum() + (sample.weights * errors)[among[numbers]].sum()
    return float(np.clip(total, 0, among.sum()))


_SURE = 1.96
"""Number of standard errors on either side of a 95 % interval."""

_MAX_LOST = 0.01
"""Share of lost drops above which losing fewer comes before finding more."""

_EXPECTED = 100_000
"""Number of pages that the tables are sized for; more take longer."""

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
    """An estimated share, with the interval that contains it in 95 of 100 samples."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The effect of a configuration on a collection; shares and `lost` are estimates.

    `precision` is the share of drops that are right, `recall` that of duplicates that are dropped,
    `lost` the number of drops whose content is lost. `matches` (n,) int64: the page that each is
    dropped for, -1 for those that aren't, -2 where it isn't known. `differences`: number of a page
    -> how those dropped for it differ, where that is little.
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
        """Return whether more than one drop in a hundred is lost."""
        return self.lost > _MAX_LOST * self.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All results on a collection; the first of `outcomes` is the default.

    `groups` (m,) int64: for each page of the sample, its group of similar pages.
    """

    names: list[str]
    sample: Sample
    truth: Truth
    groups: NDArray[np.int64]
    outcomes: list[Outcome]


def configurations() -> Iterator[Configuration]:
    """Yield the default, and configurations that differ from it in one setting."""
    for preset in PRESETS:
        settings: dict[str, Any] = {} if preset == "best" else {"NEARDUP_PRESET": preset}
        yield _configuration("NEARDUP_PRESET", preset, settings)
    for k in (0, 1, 2, 4, 6):
        settings = {"NEARDUP_PRESET": "paper", "NEARDUP_MAX_DISTANCE": k}
        yield _configuration("k (preset paper)", str(k), settings)
    resemblances, titles = (0.8, 0.85, 0.95, 0.98), ("strict", "ignore")
    for name, values in (("MIN_RESEMBLANCE", resemblances), ("TITLES", titles)):
        for value in values:
            yield _configuration(f"NEARDUP_{name}", str(value), {f"NEARDUP_{name}": value})


def measure(
    pages: Iterable[ReadPage], size: int, seed: int = 0, progress: Progress = lambda *_: None
) -> Measured:
    """Judge a collection with all `configurations`, and compare a sample of `size` exactly.

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


def share(part: float, whole: float, observations: float) -> Share:
    """Return the share `part` / `whole` with its interval (Wilson 1927).

    `observations` is the number of independent observations: of groups, because the pages of a
    group are dropped or kept for the same reasons. With 0 the interval is from 0 to 1.
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
    """Judge pages in each run, and return their names."""
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
            # Where these are the same, so is the `Page` that is made of a page.
            confirmed = Parameters().min_resemblance if parameters.min_resemblance else 0
            read_as = replace(
                parameters, titles="learn", max_distance=0, min_resemblance=confirmed
            )
            detectors.setdefault(read_as, []).append((run, detector))
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
