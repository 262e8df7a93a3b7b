"""What the memory and SQLite stores cost: bytes a page, microseconds a call, seconds to open.

Every measurement runs in a process of its own. Pages are uniform fingerprints with ids of
their own and no URLs (SQLite: with URLs of 70 characters); every answer is checked: all
pages are new, and each duplicate names the page that it was made from.

    python benchmarks/stores.py
    python benchmarks/stores.py --pages 1000000
    python benchmarks/stores.py --quick
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.verdict import Decision, Page

SIZES = (1_000_000, 10_000_000)
QUICK_SIZES = (20_000,)
TIMED_CALLS = 20_000
CHANCE_MATCHES = 10
"""Of ten million uniform fingerprints some 0.1 pairs are within 3 bits by chance."""
WORD = (1 << 64) - 1


def mix(number: int) -> int:
    """Return 64 random-looking bits, others for every number (splitmix64)."""
    number = (number + 1) * 0x9E3779B97F4A7C15 & WORD
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & WORD
    return number ^ number >> 31


def new_page(number: int, url: str | None = None) -> Page:
    return Page(id=mix(2 * number), fingerprint=mix(2 * number + 1), url=url)


def near_page(number: int) -> Page:
    """Return another page, at distance 3 of page `number`."""
    bits = mix(number)
    flips = {bits % 64, bits // 64 % 63, bits // 4096 % 62}
    flipped = sum(1 << bit for bit in flips)
    return Page(id=~mix(2 * number) & WORD, fingerprint=mix(2 * number + 1) ^ flipped)


async def fill(store: Store, pages: int, url: Callable[[int], str | None]) -> None:
    """Add and confirm pages 0 to `pages` - 1."""
    new = 0
    for number in range(pages):
        page = new_page(number, url(number))
        verdict = await store.check_and_add(page)
        new += verdict.decision is Decision.NEW
        await store.confirm(page.id)
    assert new >= pages - CHANCE_MATCHES, new


async def timed(store: Store, pages: list[Page]) -> tuple[np.ndarray, list[int | None]]:
    """Return the microseconds of each `check_and_add`, and the matches' page ids."""
    times = np.empty(len(pages))
    matches = []
    for position, page in enumerate(pages):
        start = time.perf_counter_ns()
        verdict = await store.check_and_add(page)
        times[position] = (time.perf_counter_ns() - start) / 1000
        matches.append(verdict.match and verdict.match.page_id)
    return times, matches


async def time_calls(store: Store, pages: int) -> str:
    """Time new pages and duplicates in a store of `pages`, and check the answers."""
    step = max(1, pages // TIMED_CALLS)
    originals = range(0, pages, step)
    duplicates, matches = await timed(store, [near_page(number) for number in originals])
    expected = [mix(2 * number) for number in originals]
    wrong = sum(match != each for match, each in zip(matches, expected, strict=True))
    assert wrong <= CHANCE_MATCHES, wrong
    new, matches = await timed(store, [new_page(pages + each) for each in range(TIMED_CALLS)])
    assert matches.count(None) >= TIMED_CALLS - CHANCE_MATCHES
    return "  ".join(
        f"{name} {np.median(times):5.1f} / {np.percentile(times, 99):5.1f}"
        for name, times in (("new", new), ("duplicate", duplicates))
    )


def resident_bytes() -> int:
    """Return the memory of this process: now, or (not on Linux) at its peak."""
    try:
        status = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def memory(pages: int) -> str:
    async def measure() -> str:
        async with open_store("memory:", expected_pages=pages) as store:
            await fill(store, pages, lambda _: None)
            resident = resident_bytes()
            stats = await store.stats()
            calls = await time_calls(store, pages)
        return (
            f"{resident / pages:6.1f} bytes a page, whole process"
            f" ({stats.memory_bytes / pages:.1f} counted)   µs median / p99: {calls}"
        )

    return asyncio.run(measure())


def memory_with_urls(pages: int) -> str:
    async def measure() -> str:
        async with open_store("memory:", expected_pages=pages) as store:
            await fill(store, pages, url_of)
            return f"{resident_bytes() / pages:6.1f} bytes a page with URLs, whole process"

    return asyncio.run(measure())


def sqlite(pages: int) -> str:
    async def measure(path: str) -> str:
        uri = f"sqlite:{path}"
        async with open_store(uri, expected_pages=pages) as store:
            start = time.perf_counter()
            await fill(store, pages, url_of)
            seconds = time.perf_counter() - start
        size = os.stat(path).st_size  # noqa: PTH116  (no pathlib in a coroutine)
        store = open_store(uri, expected_pages=pages)
        start = time.perf_counter()
        await store.open()
        opening = time.perf_counter() - start
        stats = await store.stats()
        assert pages - CHANCE_MATCHES <= stats.pages <= pages, stats
        calls = await time_calls(store, pages)
        await store.close()
        return (
            f"{pages / seconds:8,.0f} pages/s added and confirmed, {size / pages:.0f} bytes a page"
            f" in the file, opened in {opening:.2f} s   µs median / p99: {calls}"
        )

    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(measure(f"{directory}/pages.db"))


def url_of(number: int) -> str:
    return f"https://www.example.com/catalogue/section-{number % 97:02}/item-{number:020}.html"


@contextmanager
def own_process() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        yield pool


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, nargs="+", help=f"default: {SIZES}")
    parser.add_argument("--quick", action="store_true", help="little data: does it run?")
    arguments = parser.parse_args()
    sizes = arguments.pages or (QUICK_SIZES if arguments.quick else SIZES)
    print(f"numpy {np.__version__}, SQLite {sqlite3.sqlite_version}")
    for pages in sizes:
        for measure in (memory, memory_with_urls, sqlite):
            with own_process() as pool:
                result = pool.submit(measure, pages).result()
            print(f"{pages:12,}  {measure.__name__:16}  {result}", flush=True)


if __name__ == "__main__":
    main()
