"""What the memory and SQLite stores cost: bytes a page, microseconds a call, seconds to open.

Every measurement runs in a process of its own. Pages are uniform fingerprints with ids of their
own and no URLs (SQLite: with URLs of 70 characters); every answer is checked: all pages are new,
and each duplicate names the page that it was made from.
"""

import asyncio
import sqlite3
import time
from pathlib import Path

import numpy as np
from harness import arguments, in_own_process, resident, scratch

from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.verdict import Decision, Page

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


def new_page(number: int, *, with_url: bool = False) -> Page:
    url = f"https://www.example.com/catalogue/section-{number % 97:02}/item-{number:020}.html"
    return Page(id=mix(2 * number), fingerprint=mix(2 * number + 1), url=url if with_url else None)


def near_page(number: int) -> Page:
    """Return another page, at distance 3 of page `number`."""
    bits = mix(number)
    flips = {bits % 64, bits // 64 % 63, bits // 4096 % 62}
    flipped = sum(1 << bit for bit in flips)
    return Page(id=~mix(2 * number) & WORD, fingerprint=mix(2 * number + 1) ^ flipped)


async def fill(store: Store, pages: int, *, with_urls: bool) -> None:
    new = 0
    for number in range(pages):
        page = new_page(number, with_url=with_urls)
        new += (await store.check_and_add(page)).decision is Decision.NEW
        await store.confirm(page.id)
    assert new >= pages - CHANCE_MATCHES, new


async def time_calls(store: Store, pages: int) -> str:
    known = range(0, pages, max(1, pages // TIMED_CALLS))
    planted = [(near_page(number), mix(2 * number)) for number in known]
    news = [(new_page(pages + number), None) for number in range(TIMED_CALLS)]
    parts = []
    for name, calls in (("duplicate", planted), ("new", news)):
        times, wrong = np.empty(len(calls)), 0
        for number, (page, expected) in enumerate(calls):
            start = time.perf_counter_ns()
            verdict = await store.check_and_add(page)
            times[number] = (time.perf_counter_ns() - start) / 1000
            wrong += (verdict.match and verdict.match.page_id) != expected
        assert wrong <= CHANCE_MATCHES, wrong
        parts.append(f"{name} {np.median(times):5.1f} / {np.percentile(times, 99):5.1f}")
    return "µs median / p99: " + "  ".join(reversed(parts))


async def memory(pages: int, _folder: Path) -> str:
    async with open_store("memory:", expected_pages=pages) as store:
        await fill(store, pages, with_urls=False)
        held, counted = resident() / pages, (await store.stats()).memory_bytes / pages
        calls = await time_calls(store, pages)
    return f"{held:6.1f} bytes a page, whole process ({counted:.1f} counted)   {calls}"


async def memory_with_urls(pages: int, _folder: Path) -> str:
    async with open_store("memory:", expected_pages=pages) as store:
        await fill(store, pages, with_urls=True)
        return f"{resident() / pages:6.1f} bytes a page with URLs, whole process"


async def sqlite(pages: int, folder: Path) -> str:
    path = folder / "pages.db"
    async with open_store(f"sqlite:{path}", expected_pages=pages) as store:
        start = time.perf_counter()
        await fill(store, pages, with_urls=True)
        seconds = time.perf_counter() - start
    size = path.stat().st_size
    start = time.perf_counter()
    async with open_store(f"sqlite:{path}", expected_pages=pages) as store:
        opening = time.perf_counter() - start
        assert pages - CHANCE_MATCHES <= (await store.stats()).pages <= pages
        calls = await time_calls(store, pages)
    return (f"{pages / seconds:8,.0f} pages/s added and confirmed, {size / pages:.0f} bytes a page"
            f" in the file, opened in {opening:.2f} s   {calls}")  # fmt: skip


MEASURES = {measure.__name__: measure for measure in (memory, memory_with_urls, sqlite)}


def measured(name: str, pages: int) -> str:
    with scratch() as folder:
        return asyncio.run(MEASURES[name](pages, folder))


def main() -> None:
    options = arguments(__doc__, pages=[1_000_000, 10_000_000], quick={"pages": [20_000]})
    print(f"numpy {np.__version__}, SQLite {sqlite3.sqlite_version}")
    for pages in options.pages:
        for name in MEASURES:
            print(f"{pages:12,}  {name:16}  {in_own_process(measured, name, pages)}", flush=True)


if __name__ == "__main__":
    main()
