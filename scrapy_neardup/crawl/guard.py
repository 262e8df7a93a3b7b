"""What stands between a crawl and a store that fails or hangs.

Rule of this module: a store call takes at most ``NEARDUP_TIMEOUT`` seconds, and after
three failures in a row the store is left alone for 30 seconds, so that a dead store
costs the crawl three timeouts and not one a page. Then one call probes whether it
answers again. A store that could not be opened because its server is away is left alone
in the same way, and the probe opens it first. Whatever a store raises becomes a
`StoreCallFailedError`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, TypeVarTuple

from scrapy_neardup.errors import NeardupError, StoreError, StoreUnavailableError
from scrapy_neardup.stores import Store, StoreStats
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Page, Reason, Verdict

logger = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 3
PAUSE_SECONDS = 30.0
CLOSE_SECONDS = 60.0

A = TypeVarTuple("A")
T = TypeVar("T")


class StoreCallFailedError(StoreError):
    """A store call failed or was not made; `reason` says which.

    `refused`: the store answers and doesn't open for this crawl, so waiting won't help.
    """

    def __init__(self, reason: Reason, detail: str, *, refused: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.refused = refused


class GuardedStore(Store):
    """A store whose calls are limited in time, and not made while it is broken.

    Parameters
    ----------
    store
        The one that does the work.
    uri
        Its URI, shown in messages as `shown`.
    timeout
        Seconds that one call may take. Opening is not limited (a large file takes its
        time to load), closing by `CLOSE_SECONDS`.
    on_failure
        Called with every failure of a call that was made.
    clock
        Seconds on a clock that never goes back.

    Notes
    -----
    A store in memory answers without suspending: then a call costs one timer handle and
    no task.
    """

    def __init__(
        self,
        store: Store,
        uri: str,
        *,
        timeout: float,
        on_failure: Callable[[StoreCallFailedError], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._uri = uri
        self._timeout = timeout
        self._on_failure = on_failure
        self._clock = clock
        self._opened = False
        self._failures = 0
        self._paused_until = 0.0
        self._probing = False

    async def open(self) -> None:
        """Open the store.

        Raises
        ------
        StoreUnavailableError
            It doesn't answer now. Calls are refused as for any store that is broken, and
            the first one after the pause tries to open it again.
        StoreError
            It won't open for this crawl.
        """
        try:
            await self._store.open()
            self._opened = True
        except StoreUnavailableError:
            self._failures = FAILURES_IN_A_ROW
            self._paused_until = self._clock() + PAUSE_SECONDS
            raise
        except NeardupError:
            raise
        except Exception as error:
            raise StoreError(
                f"{redact_store(self._uri)} can't be opened: {self._said(error)}"
            ) from error

    async def close(self) -> None:
        """Close the store."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._store.close()
        except Exception as error:
            raise StoreError(
                f"{redact_store(self._uri)} didn't close: {self._said(error)}"
            ) from error

    async def check_and_add(self, page: Page) -> Verdict:
        """Judge `page`, within the limits."""
        return await self._call(self._store.check_and_add, page)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final, within the limits."""
        await self._call(self._store.confirm, page_id)

    async def forget(self, page_id: int) -> int:
        """Withdraw an entry, within the limits."""
        return await self._call(self._store.forget, page_id)

    async def stats(self) -> StoreStats:
        """Count what is held."""
        return await self._store.stats()

    async def exchange(self, topic: str, member: str, value: bytes) -> list[bytes]:
        """Post and read on the store's notice board, within the limits."""
        return await self._call(self._store.exchange, topic, member, value)

    async def _call(self, method: Callable[[*A], Awaitable[T]], *arguments: *A) -> T:
        probe = self._failures >= FAILURES_IN_A_ROW
        if probe:
            if self._probing or self._clock() < self._paused_until:
                raise StoreCallFailedError(Reason.PAUSED, "the store failed repeatedly")
            self._probing = True
        try:
            async with asyncio.timeout(self._timeout):
                if not self._opened:
                    await self._store.open()
                    self._opened = True
                answer = await method(*arguments)
        except TimeoutError as error:
            detail = f"no answer from the store within {self._timeout:g} s"
            raise self._failed(Reason.TIMEOUT, detail) from error
        except Exception as error:
            refused = not self._opened and not isinstance(error, StoreUnavailableError)
            raise self._failed(Reason.STORE_ERROR, self._said(error), refused=refused) from error
        finally:
            if probe:
                self._probing = False
        if self._failures >= FAILURES_IN_A_ROW:
            logger.info("The near-duplicate store answers again")
        self._failures = 0
        return answer

    def _said(self, error: Exception) -> str:
        """Return what `error` says, without a password."""
        text = str(error) if isinstance(error, NeardupError) else repr(error)
        for written in (self._uri, repr(self._uri)[1:-1]):
            text = text.replace(written, redact_store(self._uri))
        return text

    def _failed(
        self, reason: Reason, detail: str, *, refused: bool = False
    ) -> StoreCallFailedError:
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            self._paused_until = self._clock() + PAUSE_SECONDS
        if self._failures == FAILURES_IN_A_ROW:
            logger.warning(
                "The near-duplicate store failed %d times in a row: pages go unjudged until it "
                "answers again, which is tried every %g s",
                FAILURES_IN_A_ROW,
                PAUSE_SECONDS,
            )
        failure = StoreCallFailedError(reason, detail, refused=refused)
        self._on_failure(failure)
        return failure
