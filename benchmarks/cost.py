"""What a page costs each preset beyond its simhash: CPU time, and where it goes.

`Detector.judge` with the memory store, on new pages of one directory, of 1,000 tokens of
their own and 100 that are on every page, then on each of them again under another id; and on
such pages whose 100 shared tokens are furniture by their name, so that their core is another
than their text. The presets take turns; printed are medians over rounds of this process's CPU
time, and how much more that is than preset ``paper``'s, which is simhash alone; then the same of
each step of a new page by itself: what it says in bytes, what was learnt of its site and which
of its bins are furniture, what the store decides, what is learnt from it. Checked: every page is
new, its repetition is its duplicate, and all that the pages share is known as furniture.

    python benchmarks/cost.py
    python benchmarks/cost.py --quick
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.detector import Detector
from scrapy_neardup.options import PRESETS
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import Block, Content, Form

OWN, SHARED, WORDS = 1000, 100, 20_000
WARM_UP = 100
"""Pages before any is timed: of a site's first ones furniture is learnt page by page."""
TARGETS = {"compact": 100, "best": 250}
"""Microseconds beyond simhash."""
ROWS = ("a new page", "a duplicate", "a new page with a core")
STEPS = ("fingerprint, sketch, features", "what was learnt", "store", "learning")


def site(seed: int, pages: int, *, named: bool = False) -> list[Content]:
    drawn = random.Random(seed)
    words = [f"w{number}" for number in range(WORDS)]
    shared = " ".join(words[:SHARED])
    form = Form.NAMED if named else Form.CONTENT
    texts = (" ".join(drawn.choices(words, k=OWN)) for _ in range(pages))
    return [Content(blocks=[Block(shared, form, 1), Block(own, Form.CONTENT, 2)]) for own in texts]


def url(number: int) -> str:
    return f"https://www.example.com/manual/page-{number}.html"


async def judge(parameters: Parameters, contents: Sequence[Content]) -> list[float]:
    """Return in how many microseconds a new page is judged, and one that repeats it."""
    async with open_store("memory:", matching=parameters.matching) as store:
        detector = Detector(Analyser(parameters), store)
        for number, content in enumerate(contents[:WARM_UP]):
            await detector.judge(content, page_id=number, url=url(number))
        times, verdicts = [time.process_time_ns()], []
        for first in (0, len(contents)):
            for number, content in enumerate(contents[WARM_UP:], first + WARM_UP):
                verdicts.append(await detector.judge(content, page_id=number, url=url(number)))
            times.append(time.process_time_ns())
    timed = len(contents) - WARM_UP
    for number, (new, again) in enumerate(zip(verdicts[:timed], verdicts[timed:], strict=True)):
        assert not new.is_duplicate
        assert again.is_duplicate
        assert again.match.page_id == WARM_UP + number
    return (np.diff(times) / timed / 1000).tolist()


async def step_by_step(parameters: Parameters, contents: Sequence[Content]) -> list[float]:
    """Return how many microseconds of that each step takes."""
    taken = np.empty((len(contents), len(STEPS)))
    async with open_store("memory:", matching=parameters.matching) as store:
        detector = Detector(Analyser(parameters), store)
        for number, content in enumerate(contents):
            times = [time.process_time_ns()]
            page = weighed = detector.analyser.page(content, page_id=number, url=url(number))
            site = detector._sites[page.address.site]  # noqa: SLF001
            times.append(time.process_time_ns())
            if page.evidence:
                weighed = replace(page, weighing=detector._weighing(page, site))  # noqa: SLF001
                if weighed.weighing.furniture is not None:
                    weighed.weighing.furniture.plane()
            times.append(time.process_time_ns())
            verdict = await store.check_and_add(weighed)
            times.append(time.process_time_ns())
            if page.evidence:
                detector._learn(page, site, verdict)  # noqa: SLF001
            times.append(time.process_time_ns())
            taken[number] = np.diff(times)
        known = site.furniture.of(page.address.folder)
    assert not page.evidence or len(known) >= SHARED - parameters.shingle_size + 1
    return (taken[WARM_UP:].mean(axis=0) / 1000).tolist()


async def measure(rounds: int, pages: int) -> None:
    presets = {name: Parameters(**PRESETS[name]) for name in ("paper", *TARGETS)}
    found = {name: [] for name in presets}
    for seed in range(rounds):
        contents = site(seed, WARM_UP + pages)
        cored = site(seed, WARM_UP + pages, named=True)
        for name, each in presets.items():
            whole = [*await judge(each, contents), (await judge(each, cored))[0]]
            found[name].append([*whole, *await step_by_step(each, contents)])
    print(f"Microseconds a page, median of {rounds} rounds of {pages} pages\n")
    columns = "".join(f"{name:>10}{'beyond':>10}" for name in TARGETS)
    print(f"{'':32}{'paper':>10}{columns}")
    medians = {name: np.median(each, axis=0) for name, each in found.items()}
    for row, name in enumerate((*ROWS, *STEPS)):
        paper, *others = (each[row] for each in medians.values())
        cells = "".join(f"{each:10.0f}{each - paper:10.0f}" for each in others)
        print(f"{name:32}{paper:10.0f}{cells}")
    for name, most in TARGETS.items():
        beyond = medians[name] - medians["paper"]
        said = (
            f"{row} {'met' if beyond[at] <= most else 'MISSED'}" for at, row in enumerate(ROWS)
        )
        print(f"{name}: {most} beyond simhash at most: {', '.join(said)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few pages, to see that it works")
    asyncio.run(measure(2, 50) if parser.parse_args().quick else measure(9, 1000))


if __name__ == "__main__":
    main()
