"""What one Redis asks about a page, in how many calls, and what changes while an answer is due."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from deciders import Asking, DecideFor, everything, nothing
from matching_pages import like
from redis.asyncio import Redis
from store_registry import on, page, spread

from scrapy_neardup.stores import Matching, StoreOptions
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.stores.redis.pages import separate
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Decided, Page, Reason

MATCHING = Matching(features=2, text_bits=512, named_bits=64)
OPTIONS = StoreOptions(matching=MATCHING)
BASE = Page(id=1, fingerprint=0, features=(1, 2), url="https://a.example/1", **like("1" * 16))


@pytest.mark.parametrize("replies", [[], [b""], [b"", b""], [b"a", b"", b"bc" * 200]])
def test_replies_of_one_command_are_separated(replies):
    joined = b"".join(len(each).to_bytes(4, "big") + each for each in replies)
    assert list(separate(joined)) == replies


class Watched(RedisStore):
    """A store that counts its calls, and lets something happen before the second one."""

    calls = 0
    asked = b""
    """The record of the page that was asked about last."""
    meanwhile: Callable[[], Awaitable[object]] | None = None

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._call, self.call = self.call, self._watched

    async def _watched(self, verb, *arguments):
        if verb in {"check_and_add", "see"}:
            self.calls += 1
            refuses = verb == "see" or arguments[1] == self.asked
            self.asked = arguments[1]
            if refuses and self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                await meanwhile()
        return await self._call(verb, *arguments)

    async def judged(self, page: Page, decide_for: DecideFor) -> tuple[Reason, int]:
        """Return the reason, and how many calls it took."""
        self.calls = 0
        verdict = await self.check_and_add(page, decide_for(page))
        return verdict.reason, self.calls


async def test_what_only_shares_the_listed_bits_is_not_asked_about(server):
    """A bucket lists 24 bits of a key; the server compares whole keys."""
    async with Watched(server.uri, StoreOptions()) as store:
        for number, key in enumerate((spread(7), spread(7) ^ 0x7FF)):
            assert await store.judged(page(number, key), everything) == (Reason.UNMATCHED, 1)


def only(*page_ids: int) -> DecideFor:
    """Repeated are these alone."""
    return lambda _page: lambda candidate: Decided(candidate.page_id in page_ids, "only")


def watched(scenario):
    """Make a scenario into a test with a store that is watched, and holds `BASE`."""

    @on("redis")
    async def test(place) -> None:
        async with Watched(place.uri, OPTIONS) as store:
            await store.check_and_add(BASE)
            await scenario(store)

    return test


@pytest.mark.parametrize("options", [OPTIONS, StoreOptions()], ids=["best", "paper"])
@on("redis")
async def test_how_many_calls_a_page_takes(options, place):
    async with Watched(place.uri, options) as store:
        base = BASE if options is OPTIONS else page(1, 0)
        assert await store.judged(base, nothing) == (Reason.UNMATCHED, 1)
        assert await store.judged(replace(base, id=2), everything) == (Reason.NEAR, 1)
        assert await store.judged(base, everything) == (Reason.SAME_PAGE, 1)
        assert await store.judged(replace(base, id=3), nothing) == (Reason.UNMATCHED, 2)
        # Of two candidates the page is counted for none until the crawler says for which one.
        assert await store.judged(replace(base, id=4), only(3)) == (Reason.NEAR, 2)
        # Its own entry is refused, and withdrawn, with its count, once the page was counted.
        assert await store.judged(replace(base, id=3), only(1)) == (Reason.NEAR, 2)
        assert (await store.stats()).dropped == 2


@pytest.mark.parametrize(("k", "least", "most"), [(3, 1, 8), (10, 16, 64)])
@on("redis")
async def test_pages_share_a_call_if_each_is_looked_up_in_few_buckets(k, least, most, place):
    async with (
        RedisStore(place.uri, StoreOptions(max_distance=k)) as store,
        Redis.from_url(place.uri.partition("?")[0]) as client,
    ):
        await client.config_resetstat()
        await asyncio.gather(*(store.check_and_add(page(n, spread(n))) for n in range(64)))
        stats = await client.info("commandstats")
        assert least <= stats["cmdstat_evalsha"]["calls"] <= most, stats["cmdstat_evalsha"]


@watched
async def test_candidates_come_in_order_and_a_few_at_a_time(store):
    for number in range(MAX_COMPARED + 8):
        one = replace(BASE, id=number + 2, fingerprint=(1 << number % 4) - 1)
        assert (await store.judged(one, nothing))[0] is Reason.UNMATCHED
    store.calls, asking = 0, Asking(store, nothing)
    await asking.check_and_add(replace(BASE, id=1000))
    order = [(each.distance, each.page_id) for each in asking.asked]
    assert order == sorted(order)
    assert len(set(order)) == MAX_COMPARED
    assert store.calls == 2


@watched
async def test_a_candidate_that_has_changed_meanwhile_is_asked_about_again(store):
    other = replace(BASE, id=2, **like("2" * 16))
    changed = replace(other, id=1)
    store.meanwhile = lambda: RedisStore.check_and_add(store, changed, nothing(changed))
    is_other = lambda candidate: Decided(candidate.evidence == other.evidence, "equal")
    asking = Asking(store, lambda _page: is_other)
    verdict = await asking.check_and_add(other)
    assert [each.evidence for each in asking.asked] == [BASE.evidence, other.evidence]
    assert (verdict.reason, verdict.match.page_id, verdict.match.count) == (Reason.NEAR, 1, 1)


@watched
async def test_a_page_that_came_meanwhile_is_asked_about(store):
    rival = replace(BASE, id=5)
    store.meanwhile = lambda: RedisStore.check_and_add(store, rival, nothing(rival))
    verdict = await store.check_and_add(replace(BASE, id=2), only(5)(BASE))
    assert verdict.match.page_id == 5
    assert (await store.stats()).pages == 2


@watched
async def test_what_was_counted_in_vain_is_taken_back_once(store):
    """The page is counted for 1, and refuses it; it repeats 5, which is gone then."""

    async def others_come() -> None:
        for number in (5, 6):
            await store.check_and_add(replace(BASE, id=number), nothing(BASE))
        store.meanwhile = lambda: store.forget(5)

    store.meanwhile = others_come
    assert (await store.judged(replace(BASE, id=2), only(5)))[0] is Reason.UNMATCHED
    assert (await store.stats()).dropped == 0


@watched
async def test_a_match_that_is_gone_when_it_is_to_be_counted_is_no_match(store):
    await store.check_and_add(own := replace(BASE, id=2), nothing(BASE))
    store.meanwhile = lambda: store.forget(1)
    assert (await store.judged(own, only(1)))[0] is Reason.CHANGED
    assert (await store.stats()).pages == 1
