"""What a file of ``sqlite:PATH`` holds, and a crawl of two pages that leaves one."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from store_registry import page

from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.stores.entryformat import ENTRY
from scrapy_neardup.verdict import Decision, Page


def copied(path: Path) -> Path:
    """Copy a file as a ``kill -9`` at this moment would leave it; return the copy."""
    copies = path.with_name("copies")
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir()
    for suffix in ("", "-wal", "-journal"):
        if path.with_name(path.name + suffix).exists():
            shutil.copy(path.with_name(path.name + suffix), copies)
    return copies / path.name


def kept(path: Path) -> dict[int, tuple[int, int, str | None]]:
    """Return what a copy of a file holds: page id -> key, duplicates, URL."""
    with closing(sqlite3.connect(copied(path))) as connection:
        rows = connection.execute("SELECT entry, url FROM page").fetchall()
    entries = [(ENTRY.unpack_from(entry), url) for entry, url in rows]
    assert len({entry[1] for entry, _ in entries}) == len(entries)
    return {page_id: (key, count, url) for (key, page_id, _, count, _), url in entries}


HOLD = """
import asyncio, sys
from scrapy_neardup.stores import open_store

async def main():
    async with open_store(sys.argv[1], **eval(sys.argv[2])):
        print("open", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""


def other_process(uri: str, **options: object) -> subprocess.Popen[str]:
    """Open a store in a process that says ``open``, and closes it when it is told a line."""
    command, pipe = [sys.executable, "-c", HOLD, uri, repr(options)], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


async def add(store: Store, *pages: Page) -> list[Decision]:
    return [(await store.check_and_add(each)).decision for each in pages]


async def make(uri: str) -> None:
    """Keep a page, open it again, and meet the page there."""
    async with open_store(uri) as store:
        assert await add(store, page(1, 5)) == [Decision.NEW]
        await store.confirm(1)
    async with open_store(uri) as store:
        assert await add(store, page(2, 5)) == [Decision.DUPLICATE]
