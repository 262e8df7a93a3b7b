import asyncio
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from crawl_stores import JOURNAL, ToyStore

from scrapy_neardup.crawl.circuitbreaker import (
    FAILURES_IN_A_ROW,
    FIRST_PAUSE_SECONDS,
    CircuitBreaker,
    StoreCallFailedError,
)
from scrapy_neardup.crawl.guard import MAX_LOGGED_FAILURES, CrawlStore, GuardedStore
from scrapy_neardup.errors import StoreError, StoreLockedError
from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.verdict import Page, Reason

URI = "toy://ann:secret@host/"

pytestmark = pytest.mark.jumping


class Bench:
    """A guarded toy store, and the failures that were reported."""

    def __init__(self, ways, timeout=0.01):
        JOURNAL.clear()
        self.failures = []
        self.toy = ToyStore(f"toy:{ways}", StoreOptions())
        self.toy.uri = URI
        self.store = GuardedStore(self.toy, URI, timeout=timeout, on_failure=self.failures.append)

    async def outcome(self):
        try:
            return (await self.store.check_and_add(Page(id=1, fingerprint=1))).decision
        except StoreCallFailedError as error:
            return "shows a secret" if "secret" in str(error) else error.reason

    async def outcomes(self, number):
        return [await self.outcome() for _ in range(number)]

    async def at_once(self, number):
        return sorted(await asyncio.gather(*(self.outcome() for _ in range(number))))


@pytest.mark.parametrize(("ways", "reason"), [
    ("fail=check", Reason.STORE_ERROR),
    ("break=check", Reason.STORE_ERROR),
    ("hang=check", Reason.TIMEOUT),
])  # fmt: skip
async def test_after_three_failures_in_a_row_the_store_is_left_alone(ways, reason):
    bench = Bench(ways)
    assert await bench.outcomes(6) == [reason] * 3 + [Reason.PAUSED] * 3
    assert len(JOURNAL) == len(bench.failures) == 3  # it was asked no more
    await asyncio.sleep(FIRST_PAUSE_SECONDS)
    # One probe, which fails: twice as long.
    assert await bench.outcomes(3) == [reason] + [Reason.PAUSED] * 2
    assert len(JOURNAL) == 4
    await asyncio.sleep(FIRST_PAUSE_SECONDS)
    assert await bench.outcome() == Reason.PAUSED
    await asyncio.sleep(FIRST_PAUSE_SECONDS)
    assert await bench.outcome() == reason


async def test_pauses_grow_up_to_a_bound_and_a_success_ends_them():
    breaker, loop = CircuitBreaker(), asyncio.get_running_loop()
    for _ in range(2):
        for _ in range(FAILURES_IN_A_ROW):
            breaker.failed(probe=False)
        for wanted in (1, 2, 4, 8, 16, 30, 30):
            start = loop.time()
            assert await breaker.turn(60)
            assert loop.time() - start == pytest.approx(wanted)
            breaker.failed(probe=True)
            breaker.probed()
        breaker.succeeded()
        assert not await breaker.turn(0)


async def test_pages_wait_for_the_end_of_a_pause():
    bench = Bench("fail=check,recover=3", timeout=2)
    assert await bench.outcomes(3) == [Reason.STORE_ERROR] * 3
    assert await bench.at_once(10) == ["new"] + ["seen"] * 9
    assert len(bench.failures) == 3


async def test_pages_wait_no_longer_than_the_timeout():
    bench = Bench("fail=check", timeout=2.5 * FIRST_PAUSE_SECONDS)
    await bench.outcomes(3)
    start = asyncio.get_running_loop().time()
    # After the first probe the next one is too far off.
    assert await bench.at_once(10) == [Reason.PAUSED] * 9 + [Reason.STORE_ERROR]
    took = asyncio.get_running_loop().time() - start
    assert took == pytest.approx(FIRST_PAUSE_SECONDS)


async def test_only_failures_in_a_row_count():
    bench = Bench("fail=check,recover=2")
    assert await bench.outcomes(3) == [Reason.STORE_ERROR] * 2 + ["new"]
    bench.toy.left = 2
    assert await bench.outcomes(3) == [Reason.STORE_ERROR] * 2 + ["seen"]


async def test_there_is_one_probe_at_a_time():
    bench = Bench("hang=check")
    await bench.outcomes(3)
    await asyncio.sleep(FIRST_PAUSE_SECONDS)
    assert await bench.at_once(5) == [Reason.PAUSED] * 4 + [Reason.TIMEOUT]


@pytest.mark.parametrize("verb", ["forget", "confirm"])
async def test_all_verbs_are_guarded(verb):
    bench = Bench(f"fail={verb}")
    await bench.store.open()
    with pytest.raises(StoreCallFailedError):
        await getattr(bench.store, verb)(1)
    assert [failure.reason for failure in bench.failures] == [Reason.STORE_ERROR]


async def test_opening_and_closing_tell_no_secrets():
    with pytest.raises(StoreLockedError):
        await Bench("refuse").store.open()
    with pytest.raises(StoreError) as caught:
        await Bench("break=close").store.close()
    assert "secret" not in str(caught.value)
    async with Bench("").store as store:
        assert (await store.stats()).pages == 0


async def test_the_notice_board_is_behind_the_same_guard():
    bench = Bench("fail=check")
    await bench.store.open()
    assert await bench.store.exchange("topic", "member", b"value") == [b"value"]
    assert await bench.outcomes(3) == [Reason.STORE_ERROR] * 3
    with pytest.raises(StoreCallFailedError) as raised:
        await bench.store.exchange("topic", "member", b"value")
    assert raised.value.reason is Reason.PAUSED


@pytest.mark.parametrize("is_private", [False, True])
def test_it_is_as_private_as_its_store(is_private):
    toy = ToyStore("toy:", StoreOptions())
    toy.is_private = is_private
    assert GuardedStore(toy, URI, timeout=1, on_failure=print).is_private == is_private


def test_messages_that_differ_each_time_are_not_all_remembered(caplog):
    settings = SimpleNamespace(timeout=1, on_error="keep")
    store = CrawlStore(Mock(), Mock(), Mock(), URI, settings)
    for number in range(2 * MAX_LOGGED_FAILURES):
        for _ in range(2):
            store._report(StoreCallFailedError(Reason.STORE_ERROR, f"slot {number} moved"))
    assert sum(each.levelname == "ERROR" for each in caplog.records) == MAX_LOGGED_FAILURES
    assert len(store._reported) == MAX_LOGGED_FAILURES
