"""``sqlite:PATH``, a store that outlives its process and serves one crawl at a time.

The index in memory finds entries, and the file follows it. The file holds only confirmed
entries, so that after a crash no page is dropped for one that was never processed.

The life of a row in the file::

    check_and_add ─ NEW ──> not in the file
    confirm ─────────────────> to be saved          ┐
    a duplicate is counted ──> to be updated        ├ one transaction, every 1,000 changed
    the entry is withdrawn ──> to be deleted        ┘ rows or a second after the first
    the entry is replaced ───> stays until the new one is confirmed or withdrawn

`write_behind.py` makes the transactions, which also write new notices of the notice board.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.stores.embedded.notices import NoticeBoard
from scrapy_neardup.stores.sqlite.file import SQLiteFile
from scrapy_neardup.stores.sqlite.write_behind import WriteBehind
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Verdict


@dataclass(frozen=True, slots=True)
class _OpenedFile:
    index: EmbeddedIndex
    notices: NoticeBoard
    writer: WriteBehind
    replaced: dict[int, int]
    """Page id -> row of a kept entry that a pending one of the same page replaces."""

    def drop(self, row: int) -> None:
        """Free the row of a withdrawn entry; -1 is ignored."""
        if row >= 0:
            self.writer.delete(row)
            self.index.release(row)


class SQLiteStore(Store):
    """The embedded index, with all kept pages in a file.

    In ``sqlite:PATH`` a relative path starts at the working directory, and ``~`` is the home
    directory; an ambiguous path is a `ConfigurationError`. Namespaces share a file, but not at the
    same time.
    """

    def __init__(self, uri: str, options: StoreOptions) -> None:
        self._path = store_path(uri)
        self._options = options
        self._opened: _OpenedFile | None = None

    async def open(self) -> None:
        """Lock the file and read the namespace into memory; `SQLiteFile` lists the errors."""
        if self._opened is not None:
            return
        thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-sqlite")
        loading = thread.submit(_load, self._path, self._options)
        try:
            file, index, notices = await asyncio.wrap_future(loading)
        except BaseException:
            # If this task was cancelled, the thread may be opening the file still.
            thread.submit(_close_late, loading)
            thread.shutdown(wait=False)
            raise
        self.key = file.key
        self._opened = _OpenedFile(index, notices, WriteBehind(file, thread, index.record), {})

    async def close(self) -> None:
        """Write confirmed entries and close the file, even if they can't be written."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.writer.close()

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """See `Store.check_and_add`; `StoreUnavailableError` if earlier changes can't be saved."""
        opened = self._open()
        index, writer, replaced = opened.index, opened.writer, opened.replaced
        await writer.settle()
        was_pending = index.is_pending(page.id)
        outcome = index.check_and_add(page, decide or deciding(page, self._options.matching))
        is_new = outcome.is_new
        for row, page_id in outcome.lapsed:
            opened.drop(row)
            opened.drop(replaced.pop(page_id, -1))
        if outcome.withdrawn >= 0:
            if is_new and not was_pending:
                replaced[page.id] = outcome.withdrawn
            else:
                opened.drop(outcome.withdrawn)
            if not is_new:
                opened.drop(replaced.pop(page.id, -1))
        if is_new:
            writer.hold(outcome.row, page.url)
        if not outcome.is_repeat or outcome.candidate is None:
            if outcome.is_touched and not was_pending:
                writer.write(outcome.row)
            return outcome.verdict(page, page.url)
        page_id = outcome.candidate.page_id
        if not index.is_pending(page_id):
            writer.write(outcome.row)
        return outcome.verdict(page, await writer.url(outcome.row, page_id))

    async def confirm(self, page_id: int) -> None:
        """Make an entry final, and durable within a second or as soon as the disk allows."""
        opened = self._open()
        row = opened.index.confirm(page_id)
        if row >= 0:
            opened.writer.write(row)
            opened.drop(opened.replaced.pop(page_id, -1))
            await opened.writer.settle()

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; return the number of pages that repeated it."""
        opened = self._open()
        row, dropped = opened.index.forget(page_id)
        if row >= 0:
            opened.drop(row)
            opened.drop(opened.replaced.pop(page_id, -1))
        return dropped

    async def stats(self) -> StoreStats:
        """Return the counts. O(number of buckets)."""
        opened = self._open()
        return opened.index.stats(other_bytes=opened.notices.nbytes)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """See `Store.exchange`; a value is durable within a second."""
        opened = self._open()
        await opened.writer.settle()
        values, changed = opened.notices.post(topic, member, value)
        for notice in changed:
            opened.writer.post(notice)
        return values

    def _open(self) -> _OpenedFile:
        if self._opened is None:
            raise StoreUnavailableError(f"NEARDUP_STORE: sqlite:{self._path} isn't open")
        return self._opened


def store_path(uri: str) -> Path:
    """Return the path in a store URI."""
    path = uri.partition(":")[2]
    if not path or path.endswith("/"):
        raise ConfigurationError(f"NEARDUP_STORE: {uri!r} names no file; write sqlite:PATH")
    if path == ":memory:":
        raise ConfigurationError(f"NEARDUP_STORE: {uri!r}: for a store in memory write 'memory:'")
    if path.startswith("//"):
        raise ConfigurationError(
            f"NEARDUP_STORE: {redact_store(uri)!r} is relative to some programs and absolute to "
            "others; write sqlite:relative/path or sqlite:/absolute/path, without further slashes"
        )
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"NEARDUP_STORE: {uri!r}: {error}; name the directory") from error


def _load(path: Path, options: StoreOptions) -> tuple[SQLiteFile, EmbeddedIndex, NoticeBoard]:
    parameters = {"max_distance": options.max_distance, **options.schema}
    file = SQLiteFile(path, options.namespace, parameters, options.hash_key)
    try:
        index = EmbeddedIndex(options, file.key)
        index.load(file.entries(options.matching))
        notices = NoticeBoard()
        notices.load(file.notices())
        file.begin_writing()
    except BaseException:
        file.close()
        raise
    return file, index, notices


def _close_late(loading: Future[tuple[SQLiteFile, EmbeddedIndex, NoticeBoard]]) -> None:
    if not loading.cancelled() and loading.exception() is None:
        loading.result()[0].close()
