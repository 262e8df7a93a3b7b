"""The store of a crawl behind a guard, and what the crawl does when it fails.

A store call takes at most ``NEARDUP_TIMEOUT`` seconds, and after three failures in a row the store
isn't called for 30 seconds, so that a dead store costs the crawl three timeouts and not one a
page. Then one call probes whether it answers again. A store that couldn't be opened because its
server doesn't answer is treated alike, and the probe opens it first. Whatever a store raises
becomes a `StoreCallFailedError`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from types import coroutine
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from scrapy_neardup.crawl.addon import STORE_ERROR
from scrapy_neardup.crawl.compat import close_spider
from scrapy_neardup.errors import NeardupError, StoreError, StoreUnavailableError
from scrapy_neardup.stores import Store, StoreStats
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.journal import Journal

logger = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 3
"""Number of failed calls in a row after which the store isn't called for a while."""

PAUSE_SECONDS = 30.0
"""Seconds for which it isn't called."""

CLOSE_SECONDS = 60.0
"""Maximum seconds that closing the store may take."""

MAX_LOGGED_FAILURES = 8
"""Maximum number of different failures of the store that are logged at ERROR, each once; further
ones are logged at DEBUG."""

A = TypeVarTuple("A")
T = TypeVar("T")


class StoreCallFailedError(StoreError):
    """A store call failed or was not made; `reason` says which.

    `refused`: the store answers, but doesn't open for this crawl; waiting won't help.
    """

    def __init__(self, reason: Reason, detail: str, *, refused: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.refused = refused


class GuardedStore(Store):
    """A store whose calls are limited in time, and not made while it is broken.

    Parameters
    ----------
    uri
        URI of `store`; messages show it without user, password and parameters.
    timeout
        Maximum seconds of one call. Opening is not limited, as a large file takes its time to
        load; closing is limited to `CLOSE_SECONDS`.
    on_failure
        Called with every failure of a call that was made.
    clock
        A monotonic clock, in seconds.

    Notes
    -----
    A store in memory answers without suspending: then a call costs neither timer nor task.
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
            It doesn't open for this crawl.
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
                f"{redact_store(self._uri)} can't be opened: {self._redacted(error)}"
            ) from error

    async def close(self) -> None:
        """Close the store."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._store.close()
        except Exception as error:
            raise StoreError(
                f"{redact_store(self._uri)} didn't close: {self._redacted(error)}"
            ) from error

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for what `page` repeats, within the limits."""
        return await self._call(self._store.check_and_add, page, decide)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final, within the limits."""
        await self._call(self._store.confirm, page_id)

    async def forget(self, page_id: int) -> int:
        """Withdraw an entry, within the limits."""
        return await self._call(self._store.forget, page_id)

    async def stats(self) -> StoreStats:
        """Count what is held."""
        return await self._store.stats()

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post and read on the store's notice board, within the limits."""
        return await self._call(self._store.exchange, topic, member, value)

    async def _call(self, method: Callable[[*A], Coroutine[Any, Any, T]], *arguments: *A) -> T:
        probe = self._failures >= FAILURES_IN_A_ROW
        if probe:
            if self._probing or self._clock() < self._paused_until:
                raise StoreCallFailedError(Reason.PAUSED, "the store failed repeatedly")
            self._probing = True
        try:
            call = method(*arguments)
            if not self._opened:
                call = self._opened_for(call)
            try:
                awaited = call.send(None)
            except StopIteration as done:
                answer: T = done.value
            else:
                async with asyncio.timeout(self._timeout):
                    answer = await _rest(call, awaited)
        except TimeoutError as error:
            detail = f"no answer from the store within {self._timeout:g} s"
            raise self._failed(Reason.TIMEOUT, detail) from error
        except Exception as error:
            refused = not self._opened and not isinstance(error, StoreUnavailableError)
            raise self._failed(
                Reason.STORE_ERROR, self._redacted(error), refused=refused
            ) from error
        finally:
            if probe:
                self._probing = False
        if self._failures >= FAILURES_IN_A_ROW:
            logger.info("The near-duplicate store answers again")
        self._failures = 0
        return answer

    async def _opened_for(self, call: Coroutine[Any, Any, T]) -> T:
        try:
            await self._store.open()
        except BaseException:
            call.close()
            raise
        self._opened = True
        return await call

    def _redacted(self, error: Exception) -> str:
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


@coroutine
def _rest(call: Coroutine[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Drive a call that was started and has suspended."""
    while True:
        try:
            sent = yield awaited
        except BaseException as error:  # noqa: BLE001  (it is the call's)
            resume = partial(call.throw, error)
        else:
            resume = partial(call.send, sent)
        try:
            awaited = resume()
        except StopIteration as done:
            answer: T = done.value
            return answer


class Faults:
    """The reports of a store's failures, and the end of the crawl if ``NEARDUP_ON_ERROR`` asks."""

    def __init__(self, crawler: Crawler, journal: Journal, uri: str, on_error: str) -> None:
        self._crawler = crawler
        self._journal = journal
        self._uri = uri
        self._closes = on_error == "close"
        self._reported: set[str] = set()
        self._closing: asyncio.Task[None] | None = None

    def lets_start(self, error: NeardupError) -> bool:
        """Whether the crawl starts although the store didn't open, which is logged.

        It does if the server doesn't answer, unless ``NEARDUP_ON_ERROR`` is ``"close"``; it
        doesn't if the store refuses (other parameters, a wrong password, a lock).
        """
        if self._closes or not isinstance(error, StoreUnavailableError):
            return False
        self._journal.count("store/errors")
        self._reported.add(str(error))
        logger.error(
            "%s. As NEARDUP_ON_ERROR is 'keep' the crawl starts all the same: its pages are kept "
            "unjudged until the store answers, which is tried every %g s",
            str(error).rstrip("."),
            PAUSE_SECONDS,
        )
        return True

    def failed(self, failure: StoreCallFailedError) -> None:
        """Count and log the failure of a call, and close the crawl if it is to end with it."""
        self._journal.count("store/errors")
        # The first sign is often a lost connection; the next call then names the cause.
        known = str(failure) in self._reported or len(self._reported) >= MAX_LOGGED_FAILURES
        self._reported.add(str(failure))
        logger.log(
            logging.DEBUG if known and not failure.refused else logging.ERROR,
            "The near-duplicate store %s failed: %s",
            redact_store(self._uri),
            failure,
        )
        if (self._closes or failure.refused) and self._closing is None:
            # Not awaited: closing waits for the pages that wait for the store.
            self._closing = asyncio.get_running_loop().create_task(
                close_spider(self._crawler, STORE_ERROR)
            )
