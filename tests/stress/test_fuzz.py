"""Pages and files that nobody wrote on purpose: each is read, or refused in so many words."""

import os
import random
import resource
import time
from pathlib import Path

import pytest
from datasets import json_lines
from hostile_audits import hostile_audit, report_of
from hostile_trees import soup, words
from store_registry import keep, page, spread

from scrapy_neardup.errors import InputError, StoreError
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.scanning import analyse
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import FoundPage
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.stores import open_store

PAGES = int(os.environ.get("STRESS_FUZZED", "20000"))
AT_ONCE, SECOND_PER_BYTE = 0.05, 1e-6
"""Seconds of CPU that any page may cost, and that a byte of it may cost besides."""
MORE = 64 << 20
"""Bytes by which nine tenths of the pages may make the process larger."""
FILES = int(os.environ.get("STRESS_DAMAGED", "3000"))

pytestmark = [pytest.mark.stress, pytest.mark.timeout(86_400)]


def resident() -> int:
    """Return the bytes of memory that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def fuzzed(chance: random.Random) -> bytes:
    """Return what may be HTML, in some encoding: cut, and with some bytes changed."""
    html = bytearray(soup(chance).encode(chance.choice(["utf-8", "utf-16", "cp1252"]), "replace"))
    for _ in range(chance.choice([0, 0, 0, 5]) if html else 0):
        html[chance.randrange(len(html))] = chance.randrange(256)
    return bytes(html[: chance.randrange(len(html) + 1)] if chance.random() < 0.2 else html)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_pages(preset, tried):
    chance, analyser = random.Random(), Analyser(Parameters(**PRESETS[preset]))
    slowest, settled = 0.0, 0
    count = PAGES // len(PRESETS)

    def taken(html: bytes) -> float:
        start = time.process_time()
        found = analyse(FoundPage(page="p", html=html, content_type="text/html"), analyser)
        assert "Error: " not in getattr(found, "detail", ""), found
        return time.process_time() - start

    for number in range(count):
        html = fuzzed(chance)
        try:
            seconds = taken(html)
            if seconds > AT_ONCE + SECOND_PER_BYTE * len(html):
                seconds = min(taken(html) for _ in range(3))
            assert seconds <= AT_ONCE + SECOND_PER_BYTE * len(html)
        except Exception:
            print(html)
            raise
        slowest = max(slowest, seconds)
        if number == count // 10:
            settled = resident()
    grown = resident() - settled
    tried(f"fuzzed pages, {preset}, {grown >> 20} MiB more memory", count, longest=slowest)
    assert grown <= MORE


async def test_damaged_files_of_sqlite(tried, tmp_path):
    """What is damaged in any way is refused, or holds what was there."""
    path = tmp_path / "pages.db"
    uri = f"sqlite:{path}"

    async def counted() -> int:
        async with open_store(uri) as store:
            return (await store.stats()).pages

    async def fill() -> None:
        async with open_store(uri) as store:
            pages = (page(n, spread(n), url=f"http://a/{n}") for n in range(200))
            await keep(store, *pages)

    await fill()
    whole, chance, refused, lost = path.read_bytes(), random.Random(), 0, 0
    for _ in range(FILES):
        content = bytearray(whole)
        for _ in range(chance.choice([1, 1, 1, 8])):
            start = chance.randrange(len(content))
            size = chance.choice([1, 1, 16, 4096])
            content[start : start + size] = chance.choice(
                [chance.randbytes(size), bytes(size), b"\xff" * size]
            )[: len(content) - start]
        path.write_bytes(content)
        try:
            lost += await counted() != 200
        except StoreError:
            refused += 1
    tried("damaged files of SQLite", FILES, lost=lost, errors=refused)
    assert lost == 0
    assert refused > FILES / 4


def test_damaged_collections(tried, tmp_path):
    """JSON lines, cut and changed: each line is a page, or an error names the file."""
    chance, refused, unnamed = random.Random(), 0, 0
    for number in range(FILES):
        pages = [
            {"url": f"http://a/{place}", "html": f"<p>{words(chance)}"}
            for place in range(chance.randrange(5))
        ]
        content = bytearray(json_lines(pages).encode())
        for _ in range(chance.randrange(4) if content else 0):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path = tmp_path / f"{number % 10}.jsonl"
        path.write_bytes(content)
        try:
            list(Corpus([str(path)]))
        except InputError as error:
            refused += 1
            unnamed += path.name not in str(error)
    tried("damaged files of JSON lines", FILES, errors=refused)
    assert unnamed == 0


def test_hostile_audits(tried):
    """Each makes a report, or an error names the file."""
    first, refused, unnamed = random.randrange(1 << 32), 0, 0
    for seed in range(first, first + FILES):
        try:
            report_of(hostile_audit(seed))
        except InputError as error:
            refused += 1
            unnamed += not str(error).startswith("a.jsonl")
        except Exception:
            print(seed)
            raise
    tried("hostile audits", FILES, errors=refused)
    assert unnamed == 0
    assert refused < FILES * 0.6
