"""Crawls of a site through the plugin's own analyser, detector and store, against the truth.

The pages of a site are fingerprinted once a hash seed, and then met in several orders, as no
fingerprint depends on what was met before.
"""

import ast
import asyncio
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import Any, Self

from made.promise import LOWEST, all_shown
from sites import KINDS, WORKERS, Score, Site, Source, load

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import Content
from scrapy_neardup.verdict import Decision, Match, Page, Verdict


@dataclass(frozen=True)
class Trial:
    """A site, crawled with one configuration and one hash seed in several orders."""

    label: str
    """The configuration's name in tables."""
    source: Source
    parameters: Parameters
    seed: int
    shuffles: int = 0
    """Random orders besides the site's own."""
    distances: tuple[int, ...] = ()
    """Values of `Parameters.max_distance` to try; none: as it is."""


@dataclass(frozen=True)
class Outcome:
    """One crawl of a trial."""

    label: str
    site: str
    seed: int
    order: int
    """0: the site's own, else the number of a random one."""
    k: int
    score: Score
    dropped: dict[int, Match] = field(default_factory=dict)


def preset(name: str, **changed: Any) -> Parameters:
    return Parameters(**{**PRESETS[name], **changed})


def seeded(parameters: Parameters, seed: int) -> Parameters:
    return replace(parameters, hash_key=f"seed {seed}".encode() if seed else None)


class Reader(Analyser):
    """An analyser that fingerprints each of these pages once, however often it is met."""

    def __init__(self, parameters: Parameters, contents: list[Content], urls: list[str]) -> None:
        super().__init__(parameters)
        self.contents, self.urls = contents, urls
        self.pages: dict[int, Page | Verdict] = {}

    @classmethod
    def of(cls, site: Site, parameters: Parameters) -> Self:
        """Return the reader of a site, whose page ids are the pages' numbers."""
        return cls(parameters, site.contents, [site.url(page) for page in range(len(site.pages))])

    def page(self, content: Content, *, page_id: int, url: str | None) -> Page | Verdict:
        """Return what is made of a page, anew if the crawl has changed its content."""
        if content is not self.contents[page_id]:
            return super().page(content, page_id=page_id, url=url)
        if page_id not in self.pages:
            self.pages[page_id] = super().page(content, page_id=page_id, url=url)
        return self.pages[page_id]

    def all_pages(self) -> list[Page | Verdict]:
        pages = enumerate(zip(self.contents, self.urls, strict=True))
        return [self.page(content, page_id=number, url=url) for number, (content, url) in pages]


async def crawl(reader: Reader, order: list[int], k: int | None = None) -> dict[int, Match]:
    """Meet pages in an order; return which are dropped, and what they were found to repeat.

    With `k`, at another distance than the reader's parameters say.
    """
    parameters, dropped = reader.parameters, {}
    is_confirmed = parameters.min_resemblance > 0
    k = parameters.max_distance if k is None else k
    of_pages = {"expected_pages": len(order), "matching": parameters.matching}
    async with open_store("memory:", max_distance=k, **of_pages) as store:
        detector = Detector(reader, store)
        for number in order:
            content, url = reader.contents[number], reader.urls[number]
            page = detector.analyser.page(content, page_id=number, url=url)
            verdict = await detector.decide(page)
            if verdict.decision is Decision.NEW:
                await store.confirm(verdict.page_id)
            elif verdict.is_duplicate and verdict.match:
                dropped[number] = verdict.match
                if is_confirmed:
                    pages = [reader.pages[each] for each in (number, verdict.match.page_id)]
                    knowledge = detector._sites  # noqa: SLF001
                    excluded = [knowledge.exclude(page.known) for page in pages]
                    shown = all_shown(pages, excluded)
                    assert shown >= LOWEST, f"{url}: {shown:.3f} of {verdict}"
    return dropped


def play(trial: Trial) -> list[Outcome]:
    site = load(trial.source)
    parameters = seeded(trial.parameters, trial.seed)
    reader = Reader.of(site, parameters)
    outcomes = []
    for k in trial.distances or (parameters.max_distance,):
        for number, order in enumerate(site.orders(trial.shuffles)):
            dropped = asyncio.run(crawl(reader, order, k))
            score = site.judge(order, set(dropped))
            outcomes.append(Outcome(trial.label, site.name, trial.seed, number, k, score, dropped))
    return outcomes


def play_all(trials: list[Trial]) -> Iterator[list[Outcome]]:
    with ProcessPoolExecutor(WORKERS) as workers:
        for done, outcomes in enumerate(workers.map(play, trials), 1):
            progress(done, len(trials))
            yield outcomes


def progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {of} ", end="\n" if done == of else "", file=sys.stderr, flush=True)


def pooled(outcomes: Iterable[Outcome]) -> list[Score]:
    """Return the scores of crawls with one seed and order, added up over the sites."""
    sums: dict[tuple[int, int], Score] = defaultdict(Score)
    for outcome in outcomes:
        sums[outcome.seed, outcome.order] += outcome.score
    return list(sums.values())


def cells(scores: list[Score]) -> str:
    """Return mean precision and recall, and lost pages with the most of any crawl."""
    precision, recall = (
        fmean(getattr(s, name) for s in scores) for name in ("precision", "recall")
    )
    lost = [score.lost for score in scores]
    kinds = " ".join([_recall(scores, kind) for kind in KINDS])
    return f"{fmean(lost):7.1f} {max(lost):5} {kinds} {precision:6.3f} {recall:6.3f}"


def _recall(scores: list[Score], kind: str) -> str:
    """Return the recall of one kind of duplicates, and their number."""
    number = fmean(getattr(s, kind) for s in scores)
    found = fmean(getattr(s, f"{kind}_found") for s in scores)
    share = f"{found / number:.3f}" if number else "-"
    return f"{share:>6} of {number:<5.0f}"


HEADINGS = f"{'lost':>7} {'most':>5} " + " ".join([f"{kind:14}" for kind in KINDS])
HEADINGS += f" {'P':>6} {'R':>6}"
"""Over `cells`."""

CONFIGURATION_OPTIONS: dict[str, Any] = {
    "seeds": (5, "hash seeds"),
    "method": (str, "the same as --set method=..."),
    "set": ([""], "NAME=VALUE: any field of scrapy_neardup.judge.parameters.Parameters"),
}
"""Options of the benchmarks that try configurations."""


def overridden(name: str, options: Namespace) -> Parameters:
    changed = {}
    given = [*options.set, f"method={options.method}" if options.method else ""]
    for one in filter(None, given):
        field_name, _, value = one.partition("=")
        if field_name not in {each.name for each in fields(Parameters)}:
            raise SystemExit(f"--set {one}: Parameters has no field {field_name!r}")
        try:
            changed[field_name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            changed[field_name] = value
    return preset(name, **changed)
