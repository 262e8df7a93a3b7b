"""What a real page costs from its parsed tree to its verdict: CPU time, stage by stage.

Pages drawn from each site are parsed, then judged one after the other as a crawl does it, and then
once more under another address. Every contestant (a preset and a store; with ``--pure`` the pure
code, too) has its turn in each round, in a process of its own. Printed are medians over the
rounds, in microseconds a page: what the spider pays for the tree anyway, a bare walk over it, each
stage, and all of them of a page and of its repetition. Checked: a page that was new is a duplicate
when it comes again.

    python benchmarks/cost.py SITE... --preset best --store memory: sqlite redis
"""

import asyncio
import itertools
import random
import time
from collections import deque
from pathlib import Path

import numpy as np
from harness import in_own_process
from lxml.html import HtmlElement
from real_pages import Contestant, options_of, sample, setting, way_taken

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.text import parse_html
from scrapy_neardup.verdict import Decide, Decision, Page, Verdict

WARM_UP = 20
"""Pages before any is timed: the first ones load what all others share."""
STEPS = ("parsing", "root.iter()", "text", "fingerprint, evidence", "store",
         "what the site shows", "a page", "the page again")  # fmt: skip
MAX_UNJUDGED = 0.5
"""Maximum share of a site's pages that have too little text to be judged."""


async def judge(folder: Path, count: int, preset: str, uri: str) -> dict:
    pages = sample(folder, count)
    start = time.process_time_ns()
    roots = [parse_html(html) for html in pages.values()]
    parsed = time.process_time_ns()
    for root in roots:
        deque(root.iter(), 0)
    walked = time.process_time_ns()
    parameters, namespace = Parameters.of_preset(preset), f"run{time.time_ns()}"
    async with open_store(uri, namespace=namespace, matching=parameters.matching) as store:
        stages = Stages(parameters, store)
        urls = [f"http://site.test{path}" for path in pages]
        first = [await stages.meet(url, root) for url, root in zip(urls, roots, strict=True)]
        judged = len(stages.taken)
        for number, (url, root) in enumerate(zip(urls, roots, strict=True)):
            again = await stages.meet(f"{url}?again={number}", root)
            assert again.is_duplicate or first[number].decision is not Decision.NEW
    assert judged > (1 - MAX_UNJUDGED) * len(pages)
    new, repeated = np.array(stages.taken[WARM_UP:judged]), np.array(stages.taken[judged:])
    took = (
        (parsed - start) / len(roots), (walked - parsed) / len(roots),
        *new.mean(axis=0), new.sum(axis=1).mean(), repeated.sum(axis=1).mean(),
    )  # fmt: skip
    tokens = float(np.median(stages.tokens))
    return {"way": way_taken(), "pages": judged, "tokens": tokens, "took": np.array(took) / 1000}


class Stages:
    """Judges pages as a crawl does, and notes how long each stage took."""

    def __init__(self, parameters: Parameters, store: Store) -> None:
        self._detector = Detector(Analyser(parameters), store)
        self._ask, store.check_and_add = store.check_and_add, self._ask_timed
        self._asked, self._met = 0, itertools.count()
        self.taken: list[tuple[int, ...]] = []
        """Nanoseconds of each of the four stages, of each page that could be judged."""
        self.tokens: list[int] = []

    async def meet(self, url: str, root: HtmlElement) -> Verdict:
        start = time.process_time_ns()
        content = self._detector.analyser.read(root)
        read = time.process_time_ns()
        page = self._detector.analyser.page(content, page_id=next(self._met), url=url)
        analysed = time.process_time_ns()
        verdict = await self._detector.decide(page)
        decided = time.process_time_ns() - analysed
        if not isinstance(page, Verdict):
            stages = (read - start, analysed - read, self._asked, decided - self._asked)
            self.taken.append(stages)
            self.tokens.append(page.tokens)
        return verdict

    async def _ask_timed(self, page: Page, decide: Decide) -> Verdict:
        start = time.process_time_ns()
        verdict = await self._ask(page, decide)
        self._asked = time.process_time_ns() - start
        return verdict


def measured(*given: object) -> dict:
    return asyncio.run(judge(*given))


def show(name: str, found: dict[Contestant, list[dict]]) -> None:
    one = next(iter(found.values()))[0]
    print(f"\n{name}: {one['pages']} pages, median of {one['tokens']:.0f} tokens; µs a page")
    heads = [f"{each.preset} {each.store}" for each in found]
    width = max(16, *map(len, heads)) + 2
    print(" " * 24 + "".join(head.rjust(width) for head in heads))
    print(" " * 24 + "".join(runs[0]["way"].rjust(width) for runs in found.values()))
    medians = [np.median([run["took"] for run in runs], axis=0) for runs in found.values()]
    for row, step in enumerate(STEPS):
        print(f"{step:24}" + "".join(f"{each[row]:{width}.0f}" for each in medians), flush=True)


def main() -> None:
    options = options_of(__doc__, quick={"pages": 30, "rounds": 1})
    with setting(options) as (folders, contestants):
        for folder in folders:
            found: dict[Contestant, list[dict]] = {one: [] for one in contestants}
            for _ in range(options.rounds):
                for one in random.sample(list(contestants), len(contestants)):
                    given = (folder, options.pages, one.preset, next(contestants[one]))
                    found[one].append(in_own_process(measured, *given, pure=one.pure))
            show(folder.name, found)


if __name__ == "__main__":
    main()
