"""What is due is written in the end, whatever happens while a transaction is under way."""

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from store_registry import until

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.embedded.memorystore import Notice
from scrapy_neardup.stores.sqlite import sqlitestore
from scrapy_neardup.stores.sqlite.file import Changes
from scrapy_neardup.stores.sqlite.sqlitestore import WriteBehind


def posted(notices: dict[tuple[str, str], bytes], notice: Notice) -> None:
    topic, member, value = notice
    notices.pop((topic, member), None)
    if value is not None:
        notices[topic, member] = value


class FlakyFile:
    """Rows in a dict. A transaction takes a while, and may fail as a whole."""

    def __init__(self, rng: random.Random, failing: float) -> None:
        self.rng = rng
        self.failing = failing
        self.rows: dict[int, tuple[bytes, str | None]] = {}
        self.notices: dict[tuple[str, str], bytes] = {}
        self.is_closed = False

    def write(self, changes: Changes) -> None:
        time.sleep(self.rng.random() / 500)
        if self.rng.random() < self.failing:
            raise StoreUnavailableError("NEARDUP_STORE: the disk is full")
        for row in changes.deleted:
            self.rows.pop(row, None)
        for row, record, url in changes.saved:
            self.rows[row] = (record, url)
        for row, record in changes.updated:
            self.rows[row] = (record, self.rows[row][1])
        for notice in changes.posted:
            posted(self.notices, notice)

    def url(self, row: int, page_id: int) -> str | None:
        return self.rows.get(row, (b"", None))[1]

    def close(self) -> None:
        self.is_closed = True


class Crawl:
    """Entries come, are confirmed, counted and withdrawn; `rows` is what is to be kept."""

    def __init__(self, rng: random.Random, file: FlakyFile) -> None:
        self.rng = rng
        self.records: dict[int, bytes] = {}
        self.rows: dict[int, tuple[bytes, str | None]] = {}
        self.notices: dict[tuple[str, str], bytes] = {}
        self.pending: dict[int, str | None] = {}
        self.writer = WriteBehind(file, ThreadPoolExecutor(1), lambda row: self.records[row])

    def step(self) -> None:
        row, record = self.rng.randrange(12), self.rng.randbytes(4)
        if row not in self.rows and row not in self.pending:
            self.records[row] = record
            self.pending[row] = self.rng.choice((None, f"https://a.example/{record.hex()}"))
            self.writer.hold(row, self.pending[row])
        elif self.rng.random() < 0.4:
            self.rows.pop(row, None)
            self.pending.pop(row, None)
            self.writer.delete(row)
        elif row in self.rows:
            self.records[row] = record
            self.rows[row] = (record, self.rows[row][1])
            self.writer.write(row)
        else:
            self.rows[row] = (self.records[row], self.pending.pop(row))
            self.writer.write(row)

    def post(self) -> None:
        named = (self.rng.choice("xy"), self.rng.choice("ab"))
        value = self.rng.choice((None, self.rng.randbytes(2)))
        posted(self.notices, Notice(*named, value))
        self.writer.post(Notice(*named, value))

    async def check_urls(self) -> None:
        row = self.rng.randrange(12)
        expected = self.pending.get(row) or self.rows.get(row, (b"", None))[1]
        if row in self.pending or row in self.rows:
            assert await self.writer.url(row, 0) == expected


@pytest.mark.parametrize("failing", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("seed", range(6))
async def test_the_file_holds_the_last_state_in_the_end(failing, seed, monkeypatch):
    monkeypatch.setattr(sqlitestore, "COMMIT_ROWS", 4)
    monkeypatch.setattr(sqlitestore, "COMMIT_SECONDS", 0.002)
    rng = random.Random(seed)
    file = FlakyFile(rng, failing)
    crawl = Crawl(rng, file)
    for _ in range(300):
        if rng.random() < 0.8:
            crawl.step()
        else:
            crawl.post()
        if rng.random() < 0.3:
            await asyncio.sleep(rng.random() / 1000)
        if rng.random() < 0.1:
            with suppress(StoreUnavailableError):
                await crawl.writer.settle()
        await crawl.check_urls()
    if seed % 2:
        # Without another call: the clock alone sees to it.
        await until(lambda: (file.rows, file.notices) == (crawl.rows, crawl.notices))
    file.failing = 0
    await crawl.writer.close()
    assert file.is_closed
    assert file.rows == crawl.rows
    # Also in their order, which says what goes first.
    assert list(file.notices.items()) == list(crawl.notices.items())
