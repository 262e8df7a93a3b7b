import asyncio

import pytest
from crawl_stores import ToyStore

from scrapy_neardup.crawl.guard import PAUSE_SECONDS, GuardedStore, StoreCallFailedError
from scrapy_neardup.errors import StoreError, StoreLockedError
from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.verdict import Page, Reason

URI = "toy://ann:secret@host/"


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Bench:
    """A guarded toy store, what it was asked, and the failures that were reported."""

    def __init__(self, ways):
        self.clock = Clock()
        self.failures = []
        self.toy = ToyStore(f"toy:{ways}", StoreOptions())
        self.toy.uri = URI
        self.store = GuardedStore(
            self.toy, URI, timeout=0.01, on_failure=self.failures.append, clock=self.clock
        )
        self.made = 0
        self._check = self.toy.check_and_add
        self.toy.check_and_add = self.counted

    async def counted(self, page, decide):
        self.made += 1
        return await self._check(page, decide)

    async def outcome(self):
        """Return why a check failed, or its decision."""
        try:
            await self.store.ready()
            return (await self.store.check_and_add(Page(id=1, fingerprint=1))).decision
        except StoreCallFailedError as error:
            return "shows a secret" if "secret" in str(error) else error.reason


async def outcomes(bench, number):
    return [await bench.outcome() for _ in range(number)]


@pytest.mark.parametrize(("ways", "reason"), [
    ("fail=check", Reason.STORE_ERROR),
    ("break=check", Reason.STORE_ERROR),
    ("hang=check", Reason.TIMEOUT),
])  # fmt: skip
def test_after_three_failures_in_a_row_the_store_is_left_alone(ways, reason):
    async def run():
        bench = Bench(ways)
        assert await outcomes(bench, 6) == [reason] * 3 + [Reason.PAUSED] * 3
        assert bench.made == len(bench.failures) == 3
        bench.clock.now += PAUSE_SECONDS - 0.001
        assert await bench.outcome() == Reason.PAUSED
        bench.clock.now += 0.002
        # One probe, which fails: 30 seconds more.
        assert await outcomes(bench, 3) == [reason] + [Reason.PAUSED] * 2
        assert bench.made == 4

    asyncio.run(run())


def test_a_probe_that_succeeds_ends_the_pause():
    async def run():
        bench = Bench("fail=check,recover=3")
        await outcomes(bench, 4)
        bench.clock.now += PAUSE_SECONDS
        assert await outcomes(bench, 3) == ["new", "seen", "seen"]
        assert bench.made == 6

    asyncio.run(run())


def test_only_failures_in_a_row_count():
    async def run():
        bench = Bench("fail=check,recover=2")
        assert await outcomes(bench, 3) == [Reason.STORE_ERROR] * 2 + ["new"]
        bench.toy.left = 2
        assert await outcomes(bench, 3) == [Reason.STORE_ERROR] * 2 + ["seen"]

    asyncio.run(run())


def test_there_is_one_probe_at_a_time():
    async def run():
        bench = Bench("hang=check")
        await outcomes(bench, 3)
        bench.clock.now += PAUSE_SECONDS
        reasons = await asyncio.gather(*(bench.outcome() for _ in range(5)))
        assert sorted(reasons) == [Reason.PAUSED] * 4 + [Reason.TIMEOUT]

    asyncio.run(run())


def test_all_verbs_are_guarded():
    async def run():
        bench = Bench("fail=forget")
        await bench.store.open()
        with pytest.raises(StoreCallFailedError):
            await bench.store.forget(1)
        bench = Bench("fail=confirm")
        await bench.store.open()
        with pytest.raises(StoreCallFailedError):
            await bench.store.confirm(1)
        assert [failure.reason for failure in bench.failures] == [Reason.STORE_ERROR]

    asyncio.run(run())


def test_opening_and_closing_tell_no_secrets():
    async def run():
        with pytest.raises(StoreLockedError):
            await Bench("refuse").store.open()
        with pytest.raises(StoreError) as caught:
            await Bench("break=close").store.close()
        assert "secret" not in str(caught.value)
        async with Bench("").store as store:
            assert (await store.stats()).pages == 0

    asyncio.run(run())


def test_the_notice_board_is_behind_the_same_guard():
    async def run():
        bench = Bench("fail=check")
        await bench.store.open()
        assert await bench.store.exchange("topic", "member", b"value") == [b"value"]
        assert await outcomes(bench, 3) == [Reason.STORE_ERROR] * 3
        with pytest.raises(StoreCallFailedError) as raised:
            await bench.store.exchange("topic", "member", b"value")
        assert raised.value.reason is Reason.PAUSED

    asyncio.run(run())
