"""The guarded store of a crawl, and the handling of its failures.

After opening, a store call takes at most ``NEARDUP_TIMEOUT`` seconds, and no call is made while
the store fails repeatedly (`crawl.circuitbreaker`). Any exception of a store becomes a
`StoreCallFailedError`. A store that doesn't open ends the crawl at its start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from scrapy_neardup.crawl.circuitbreaker import (
    FAILURES_IN_A_ROW,
    PAUSE_SECONDS,
    CircuitBreaker,
    CircuitState,
    StoreCallFailedError,
)
from scrapy_neardup.crawl.stopping import STORE_ERROR, close_spider
from scrapy_neardup.errors import NeardupError, StoreError
from scrapy_neardup.stores import Store, StoreStats
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.reporting import Reporter

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 60.0
"""Maximum seconds that closing the store may take."""

MAX_LOGGED_FAILURES = 8
"""Maximum number of different failures of the store that are logged at ERROR, each once; further
ones are logged at DEBUG."""

A = TypeVarTuple("A")
T = TypeVar("T")


class GuardedStore(Store):
    """A store whose calls are limited in time, and not made while it is broken.

    A call takes `timeout` seconds at most. Opening is not limited, because a large file takes long
    to load; closing is limited to `CLOSE_SECONDS`. `on_failure` is called with every failure of a
    call that was made. Messages show `uri` without user, password and parameters.
    """

    def __init__(
        self,
        store: Store,
        uri: str,
        *,
        timeout: float,
        on_failure: Callable[[StoreCallFailedError], None],
    ) -> None:
        self._store = store
        self.is_private = store.is_private
        self._uri = uri
        self._timeout = timeout
        self._on_failure = on_failure
        self._breaker = CircuitBreaker()

    async def open(self) -> None:
        """Open the store; raise `StoreError` if it doesn't open for this crawl."""
        try:
            await self._store.open()
        except NeardupError:
            raise
        except Exception as error:
            raise StoreError(
                f"NEARDUP_STORE: {redact_store(self._uri)} can't be opened: "
                f"{self._redacted(error)}"
            ) from error
        self.key = self._store.key

    async def close(self) -> None:
        """Close the store."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._store.close()
        except Exception as error:
            raise StoreError(
                f"{redact_store(self._uri)} didn't close: {self._redacted(error)}"
            ) from error

    def check_and_add(
        self, page: Page, decide: Decide | None = None
    ) -> Coroutine[Any, Any, Verdict]:
        """Look for an entry that `page` repeats, within the limits."""
        return self._call(self._store.check_and_add, page, decide)

    def confirm(self, page_id: int) -> Coroutine[Any, Any, None]:
        """Make an entry final, within the limits."""
        return self._call(self._store.confirm, page_id)

    def forget(self, page_id: int) -> Coroutine[Any, Any, int]:
        """Withdraw an entry, within the limits."""
        return self._call(self._store.forget, page_id)

    async def stats(self) -> StoreStats:
        """Return the counts of the store."""
        return await self._store.stats()

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post and read on the store's notice board, within the limits.

        During a pause it fails at once: notices missed now are read the next time.
        """
        if self._breaker.state is not CircuitState.CLOSED:
            raise self._breaker.refusal()
        return await self._call(self._store.exchange, topic, member, value)

    async def _call(self, method: Callable[[*A], Coroutine[Any, Any, T]], *arguments: *A) -> T:
        breaker = self._breaker
        probe = breaker.state is not CircuitState.CLOSED and await breaker.turn(self._timeout)
        try:
            async with asyncio.timeout(self._timeout):
                answer = await method(*arguments)
        except TimeoutError as error:
            detail = f"no answer from the store within {self._timeout:g} s"
            raise self._failed(Reason.TIMEOUT, detail, probe=probe) from error
        except Exception as error:
            raise self._failed(Reason.STORE_ERROR, self._redacted(error), probe=probe) from error
        else:
            if breaker.failures:
                if breaker.state is not CircuitState.CLOSED:
                    logger.info("The near-duplicate store answers again")
                breaker.succeeded()
            return answer
        finally:
            if probe:
                breaker.probed()

    def _redacted(self, error: Exception) -> str:
        """Return the message of `error` without passwords."""
        text = str(error) if isinstance(error, NeardupError) else repr(error)
        for written in (self._uri, repr(self._uri)[1:-1]):
            text = text.replace(written, redact_store(self._uri))
        return text

    def _failed(self, reason: Reason, detail: str, *, probe: bool) -> StoreCallFailedError:
        self._breaker.failed(probe=probe)
        if self._breaker.failures == FAILURES_IN_A_ROW:
            logger.warning(
                "The near-duplicate store failed %d times in a row: a page waits for it for up"
                " to %g s, and is then delivered unjudged. It is tried again after a second,"
                " and as long as it fails after longer pauses, up to %g s",
                FAILURES_IN_A_ROW,
                self._timeout,
                PAUSE_SECONDS,
            )
        failure = StoreCallFailedError(reason, detail)
        self._on_failure(failure)
        return failure


class CrawlStore(GuardedStore):
    """A guarded store that reports its failures in a crawl.

    It closes the crawl if ``NEARDUP_ON_ERROR`` says so.
    """

    def __init__(
        self, crawler: Crawler, reporter: Reporter, store: Store, uri: str, settings: CrawlSettings
    ) -> None:
        super().__init__(store, uri, timeout=settings.timeout, on_failure=self._report)
        self._crawler = crawler
        self._reporter = reporter
        self._closes = settings.on_error == "close"
        self._reported: set[str] = set()
        self._closing: asyncio.Task[None] | None = None

    def _report(self, failure: StoreCallFailedError) -> None:
        """Count and log the failure of a call, and close the crawl if the settings say so."""
        self._reporter.count("store/errors")
        # The first sign is often a lost connection; the next call then names the cause.
        is_new = len(self._reported) < MAX_LOGGED_FAILURES and str(failure) not in self._reported
        if is_new:  # messages may have numbers in them, and a store may fail for days
            self._reported.add(str(failure))
        logger.log(
            logging.ERROR if is_new else logging.DEBUG,
            "The near-duplicate store %s failed: %s",
            redact_store(self._uri),
            failure,
        )
        if self._closes and self._closing is None:
            # Not awaited, because closing waits for pages, which wait for the store.
            self._closing = asyncio.get_running_loop().create_task(
                close_spider(self._crawler, STORE_ERROR)
            )
