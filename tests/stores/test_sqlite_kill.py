"""A process that writes is killed at any moment: the file is whole, and up to date.

The operations before the kill are made again on an index in memory, and what a durable
store should have kept is known after each of them. What the file holds must be that
state after *one* of them, near enough to the last: nothing that was confirmed earlier is
missing, nothing unconfirmed is there, and no transaction is there by half.

Run as a script it reads commands ``SEED DIRECTORY`` from standard input, and for each forks a
child (so that no time goes into imports), prints its process id, and when it ended an empty line.
The child makes the operations of `operations(SEED)` on ``DIRECTORY/pages.db`` and counts those
that are over in ``DIRECTORY/counter``, a mapped file that survives it.
"""

import asyncio
import mmap
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from deciders import NEW, everything
from matching_pages import own_evidence
from sqlite_files import copied
from tried import row

from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.stores.base import StoreOptions
from scrapy_neardup.stores.embedded.memorystore import EmbeddedIndex
from scrapy_neardup.stores.entryformat import ENTRY, ENTRY_DTYPE, Chunk
from scrapy_neardup.stores.sqlite import sqlitestore
from scrapy_neardup.stores.sqlite.schema import SUM_BYTES, is_whole
from scrapy_neardup.verdict import Page, Reason

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer forks")

Kept = dict[int, tuple[int, int]]
"""Page id -> fingerprint and how many pages were dropped for it."""
Rows = list[tuple[int, bytes]]
"""Places and entries."""
Writer = subprocess.Popen[str]


COMMIT_ROWS = 100
"""In place of the usual number, so that a kill often meets a transaction."""
PAGES = 3000
"""Page ids in use: some are always met again, changed or not."""


MATCHING = Matching(features=2, text_bits=64, named_bits=64)
"""By what `features` and `evidence` return, it decides as if there were neither."""


def features(text: int) -> tuple[int, int]:
    return text * 3 % 2**64, text * 5 % 2**64


def evidence(text: int) -> bytes:
    return own_evidence(text, MATCHING)


def operations(seed: int) -> Iterator[tuple[str, Page]]:
    rng = random.Random(seed)
    # What a page says is a matter of its id and its edition, across all seeds.
    contents = random.Random(0)
    texts = [contents.getrandbits(64) for _ in range(2 * PAGES)]
    open_pages: list[Page] = []
    while True:
        page_id = rng.randrange(PAGES)
        text = texts[page_id + PAGES * (rng.random() < 0.2)] ^ 1 << rng.randrange(64)
        if rng.random() < 0.2:
            text = texts[rng.randrange(2 * PAGES)]
        page = Page(
            id=page_id,
            fingerprint=text,
            url=f"https://a.example/{page_id}",
            features=features(text),
            evidence=evidence(text),
        )
        yield "check_and_add", page
        open_pages.append(page)
        while len(open_pages) > 16 or (open_pages and rng.random() < 0.4):
            done = open_pages.pop(rng.randrange(len(open_pages)))
            yield "forget" if rng.random() < 0.1 else "confirm", done


async def write(seed: int, directory: Path) -> None:
    with (directory / "counter").open("r+b") as file, mmap.mmap(file.fileno(), 8) as counter:
        uri = f"sqlite:{directory / 'pages.db'}"
        async with open_store(uri, expected_pages=PAGES, matching=MATCHING) as store:
            for number, (call, page) in enumerate(operations(seed)):
                counter[:] = number.to_bytes(8, "little")
                if call == "check_and_add":
                    await store.check_and_add(page, everything(page))
                elif call == "confirm":
                    await store.confirm(page.id)
                else:
                    await store.forget(page.id)


def main() -> None:
    sqlitestore.COMMIT_ROWS = COMMIT_ROWS
    for line in sys.stdin:
        seed, _, directory = line.rstrip("\n").partition(" ")
        child = os.fork()
        if not child:
            asyncio.run(write(int(seed), Path(directory)))
            os._exit(1)
        print(child, flush=True)
        os.waitpid(child, 0)
        print(flush=True)


def test_killed_eight_times(tmp_path):
    _kill_again_and_again(tmp_path, times=8, longest=0.15, seed=0)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(7))
def test_killed_hundreds_of_times(tmp_path, seed, record_property):
    _kill_again_and_again(tmp_path, times=150, longest=0.6, seed=1000 * (seed + 1))
    record_property("tried", row("kill -9 of a crawl with a SQLite store", 150))


def _kill_again_and_again(directory: Path, times: int, longest: float, seed: int) -> None:
    rng = random.Random(seed)
    (directory / "counter").write_bytes(bytes(8))
    before: Rows = []
    progress = set()
    with _writer() as writer:
        for number in range(seed, seed + times):
            over = _write_and_kill(writer, number, directory, rng.random() * longest)
            # On a copy, so that the next writer finds the file as the kill left it.
            after = _read(copied(directory / "pages.db"))
            progress.add(_verify(before, number, over, after))
            before = after
    assert len(progress) > 1, "no process lived long enough to write"


def _write_and_kill(writer: Writer, seed: int, directory: Path, seconds: float) -> int:
    """Let the writer work for a while, kill it, and return how many calls were over."""
    counter = directory / "counter"
    counter.write_bytes(bytes(8))
    print(seed, directory, file=writer.stdin, flush=True)
    child = int(writer.stdout.readline())
    give_up = time.monotonic() + 60
    while not int.from_bytes(counter.read_bytes(), "little"):
        assert time.monotonic() < give_up
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert writer.stdout.readline() == "\n"
    return int.from_bytes(counter.read_bytes(), "little")


@contextmanager
def _writer() -> Iterator[Writer]:
    command, pipe = [sys.executable, __file__], subprocess.PIPE
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environ) as writer:
        yield writer
        writer.stdin.close()


def _read(path: Path) -> Rows:
    """Return places and entries; also check that SQLite finds nothing wrong."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT place, entry, url FROM page ORDER BY place").fetchall()
    for place, entry, url in rows:
        key, page_id, *_ = ENTRY.unpack_from(entry)
        assert url == f"https://a.example/{page_id}"
        own = b"".join(each.to_bytes(8, "little") for each in features(key))
        assert is_whole(entry, place)
        assert entry[ENTRY.size : -SUM_BYTES] == own + evidence(key)
    return [(place & 0xFFFFFFFF, entry[: ENTRY.size]) for place, entry, _ in rows]


class Replay:
    """The operations made again, and what a durable store has kept after each."""

    def __init__(self, rows: Rows) -> None:
        self.index = EmbeddedIndex(StoreOptions(expected_pages=PAGES))
        if rows:
            places, entries = zip(*rows, strict=True)
            records = np.frombuffer(b"".join(entries), ENTRY_DTYPE)
            self.index.load([Chunk(np.array(places, np.uint32), records)])
        self.kept: Kept = {}
        self.pending: Kept = {}
        self.fold = 0
        """A digest of `kept` that is cheap to bring up to date."""
        self.touched: set[int] = set()
        for _, entry in rows:
            key, page_id, _, duplicates, _ = ENTRY.unpack(entry)
            assert page_id not in self.kept, "a page is there twice"
            self._keep(page_id, (key, duplicates))

    def make(self, call: str, page: Page) -> None:
        self.touched = set()
        if call == "check_and_add":
            self._check_and_add(page)
        elif entry := self.pending.pop(page.id, None):
            getattr(self.index, call)(page.id)
            self._keep(page.id, entry if call == "confirm" else None)

    def _check_and_add(self, page: Page) -> None:
        outcome = self.index.check_and_add(page, everything(page))
        if outcome.reason in NEW:
            self.pending[page.id] = (page.fingerprint, 0)
        elif outcome.reason is Reason.NEAR:
            match = outcome.match.page_id
            key, dropped = self.pending.get(match) or self.kept[match]
            if match in self.pending:
                self.pending[match] = (key, dropped + 1)
            else:
                self._keep(match, (key, dropped + 1))
            if self.pending.pop(page.id, None) or page.id in self.kept:
                self._keep(page.id, None)

    def _keep(self, page_id: int, entry: tuple[int, int] | None) -> None:
        old = self.kept.pop(page_id, None)
        if old is not None:
            self.fold ^= hash((page_id, *old))
        if entry is not None:
            self.fold ^= hash((page_id, *entry))
            self.kept[page_id] = entry
        self.touched.add(page_id)


def _verify(before: Rows, seed: int, over: int, after: Rows) -> int:
    """Return after how many operations the file was written last."""
    found = Replay(after).fold
    replay = Replay(before)
    history = [(replay.fold, replay.touched)]
    # One more than are over: what the kill interrupted may have been written.
    for call, page in islice(operations(seed), over + 1):
        replay.make(call, page)
        history.append((replay.fold, replay.touched))
    waiting: set[int] = set()
    for position in reversed(range(len(history))):
        fold, touched = history[position]
        if fold == found:
            return position
        # A transaction under way, and the rows noted meanwhile.
        waiting |= touched
        assert len(waiting) < 2 * COMMIT_ROWS, "what was confirmed long ago is lost"
    raise AssertionError("the file holds what was never true")


if __name__ == "__main__":
    main()
