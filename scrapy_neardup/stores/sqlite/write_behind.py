"""The changes to write, and the times to write them: the asynchronous half of the SQLite store.

The event loop never waits for the disk. Transactions run one after
another in one thread.

A change is noted as *write this row* or *delete this row*; records are read
from the index when a transaction begins. Only the last value of a member is noted.
So the file always reaches the last state, whatever the order of events between two transactions,
and even if a transaction fails and is repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar, cast

from scrapy_neardup.errors import StoreError, StoreUnavailableError
from scrapy_neardup.stores.embedded.entryindex import Keeper, Notice
from scrapy_neardup.stores.sqlite.file import Changes, SQLiteFile

COMMIT_ROWS: Final = 1000
"""Number of changed rows that are written without waiting for `COMMIT_SECONDS`."""
COMMIT_SECONDS: Final = 1.0
"""Seconds that a change waits for others; ``kill -9`` may lose as much."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class WriteBehind(Keeper):
    """The changes of an open file, which only `thread` (one worker) uses.

    `record` returns the current record of a row.
    """

    def __init__(
        self, file: SQLiteFile, thread: ThreadPoolExecutor, record: Callable[[int], bytes]
    ) -> None:
        self._file = file
        self._thread = thread
        self._record = record
        self._loop = asyncio.get_running_loop()
        # Row -> whether it is written, or else deleted; topic and member -> what was posted.
        self._due: dict[int | tuple[str, str], bool | Notice] = {}
        self._since = 0.0  # when the first of them was noted
        self._urls: dict[int, str | None] = {}  # of entries that the file doesn't have
        self._urls_being_written: dict[int, str | None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._transaction: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    @property
    def nbytes(self) -> int:
        """Memory in bytes: nothing, as URLs are in the file."""
        return 0

    def hold(self, row: int, url: str | None) -> None:
        """Keep the URL of a new entry until the entry is written."""
        self._urls[row] = url

    def write(self, row: int) -> None:
        """Note that the current entry at `row` must be written."""
        self._note(row, True)

    def delete(self, row: int) -> None:
        """Note that the entry at `row` must be deleted."""
        is_new = row in self._urls
        self._urls.pop(row, None)
        # The file has nothing of a new entry, but may have the one before it in this row.
        if not is_new or row in self._due:
            self._note(row, False)

    def post(self, notice: Notice) -> None:
        """Note changes of the notice board."""
        self._note((notice.topic, notice.member), notice)

    async def url(self, row: int, page_id: int) -> str | None:
        """Return the URL of the entry of `page_id` at `row`, or None."""
        for urls in (self._urls, self._urls_being_written):
            if row in urls:
                return urls[row]
        try:
            return await self._run(self._file.url, row, page_id)
        except StoreError:
            return None  # the verdict stands without it

    async def settle(self) -> None:
        """Wait for a transaction if one is due.

        Raises `StoreUnavailableError` if the last one failed. It is tried again every
        `COMMIT_SECONDS`; make no changes until it succeeds.
        """
        is_full = len(self._due) >= COMMIT_ROWS and self._failure is None
        if self._due and (is_full or self._overdue() >= 0):
            await asyncio.shield(self._begin())
        self._raise_failure()

    async def close(self) -> None:
        """Write pending changes and close the file, even after a `StoreUnavailableError`."""
        try:
            if self._transaction is not None:
                await asyncio.shield(self._transaction)
            if self._due:
                await asyncio.shield(self._begin())
        finally:
            if self._timer is not None:
                self._timer.cancel()
            closing = self._thread.submit(self._file.close)
            self._thread.shutdown(wait=False)
            await asyncio.shield(asyncio.wrap_future(closing))
        self._raise_failure()

    def _note(self, what: int | tuple[str, str], change: bool | Notice) -> None:
        if not self._due:
            self._since = self._loop.time()
        self._due.pop(what, None)  # the order is that of the last change
        self._due[what] = change
        self._set_timer()

    def _overdue(self) -> float:
        """Return the number of seconds for which a transaction has been due."""
        return self._loop.time() - self._since - COMMIT_SECONDS

    def _set_timer(self) -> None:
        if self._timer is None and self._transaction is None:
            self._timer = self._loop.call_later(-self._overdue(), self._begin)

    def _begin(self) -> asyncio.Task[None]:
        """Return the running transaction, or a new one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transaction is None:
            self._transaction = self._loop.create_task(self._write())
        return self._transaction

    async def _write(self) -> None:
        due, self._due = self._due, {}
        changes = Changes([], [], [], [])
        try:
            for what, change in due.items():
                if not isinstance(what, int):
                    changes.posted.append(cast("Notice", change))
                elif not change:
                    changes.deleted.append(what)
                elif what in self._urls:
                    url = self._urls_being_written[what] = self._urls.pop(what)
                    changes.saved.append((what, self._record(what), url))
                else:
                    changes.updated.append((what, self._record(what)))
            await self._run(self._file.write, changes)
        except Exception as error:  # noqa: BLE001  (whatever it is: nothing due is lost)
            self._failure = error
            self._since = self._loop.time()
            # What happened meanwhile is newer.
            self._urls = {**self._urls_being_written, **self._urls}
            for what in self._due:
                due.pop(what, None)
            self._due = {**due, **self._due}
        else:
            self._failure = None
        finally:
            self._urls_being_written = {}
            self._transaction = None
            if self._due:
                self._set_timer()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise StoreUnavailableError(str(self._failure)) from self._failure

    async def _run(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await asyncio.wrap_future(self._thread.submit(call, *args, **kwargs))
