"""What crawlers of one Redis, or one cluster, agree on: parameters, names, retention, leases."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from store_registry import (
    NAMESPACES,
    SOMETHING,
    counts,
    decision,
    dumped,
    keep,
    keys,
    on,
    page,
    restored,
    shrunk,
    spread,
    until,
)

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.redis import namespace
from scrapy_neardup.stores.redis import store as redis_store
from scrapy_neardup.stores.redis.keyspace import prefix
from scrapy_neardup.stores.redis.redis_admin import redis_admin
from scrapy_neardup.verdict import Decision

on_both = on("redis", "redis-cluster")


@on_both
async def test_another_size_adopts_the_recorded_tables(place):
    async with (
        open_store(place.uri, expected_pages=1000) as small,
        open_store(place.uri, expected_pages=10**8) as large,
    ):
        for number in range(40):
            one, other = (small, large) if number % 2 else (large, small)
            assert await decision(one, number, spread(number)) is Decision.NEW
            near = spread(number) ^ 1 << number ^ 1 << 63 - number
            assert await decision(other, number + 100, near) is Decision.DUPLICATE


@on_both
async def test_no_namespace_breaks_out(place):
    for name in NAMESPACES:
        async with open_store(place.uri, namespace=name) as store:
            await keep(store, page(1, SOMETHING))
    prefixes = {prefix(name).encode() for name in NAMESPACES}
    assert len(prefixes) == len(NAMESPACES)
    for key in keys(place.name):
        bare = key.removeprefix(b"{")
        [one] = [each for each in prefixes if bare.startswith(each)]
        assert not set(one) & set(b"{}*?[]\\\n ")


@on_both
async def test_urls_are_shown_where_some_crawlers_store_none(place):
    async with open_store(place.uri) as silent, open_store(place.uri) as telling:
        await silent.check_and_add(page(1, 0))
        await telling.check_and_add(page(2, SOMETHING, url="https://a.example/2"))
        for number, fingerprint, url in ((3, 0, None), (4, SOMETHING, "https://a.example/2")):
            repeated = (await silent.check_and_add(page(number, fingerprint))).match
            assert repeated is not None
            assert repeated.url == url
    async with open_store(place.uri):  # that URLs are stored is no parameter
        pass


@on_both
@pytest.mark.parametrize("verb", ["confirm", "forget"])
async def test_two_crawlers_that_fetch_one_page_with_two_contents(place, verb):
    """The first one's verb doesn't end the entry of the other: see `Store.confirm`."""
    async with open_store(place.uri) as first, open_store(place.uri) as second:
        await first.check_and_add(page(1, 0))
        assert await decision(second, 1) is Decision.NEW
        assert await decision(first, 2) is Decision.DUPLICATE
        await getattr(first, verb)(1)
        assert (await counts(first))[:2] == (1, 1)
        assert await second.forget(1) == 1


@contextmanager
def failing(store, *verbs: str, afterwards: bool) -> Iterator[None]:
    """Let calls of these verbs fail, and what makes one; once they were executed, or before."""
    call = store.call

    async def fails(verb: str, *arguments: object) -> bytes:
        reply = b"" if verb in verbs and not afterwards else await call(verb, *arguments)
        if verb in verbs:
            raise StoreUnavailableError("its reply is lost")
        return reply

    store.call = fails
    with pytest.raises(StoreUnavailableError, match="is lost"):
        yield
    store.call = call


on_all = on("redis", "redis-cluster", "redis-partitions")


@on_all
@pytest.mark.parametrize(("verb", "left"), [("confirm", (1, 0, 0)), ("forget", (0, 0, 0))])
async def test_a_page_is_ended_whose_adding_seemed_to_have_failed(place, verb, left):
    async with open_store(place.uri) as store:
        with failing(store, "check_and_add", "commit", afterwards=True):
            await decision(store, 1)
        assert await counts(store) == (1, 1, 0)
        await until(lambda: not store._background._jobs)
        await getattr(store, verb)(1)
        assert await counts(store) == left
        found = Decision.DUPLICATE if verb == "confirm" else Decision.NEW
        assert await decision(store, 4) is found


@on_all
async def test_what_is_final_stays_if_it_is_to_be_withdrawn(place):
    """Its confirmation was executed, and only the reply lost."""
    async with open_store(place.uri) as store:
        assert await decision(store, 1) is Decision.NEW
        with failing(store, "lease", afterwards=True):
            await store.confirm(1)
        assert await store.forget(1) == 0
        for number in (4, 7):  # the first one doesn't make it leave its lists, either
            assert await decision(store, number) is Decision.DUPLICATE
            await until(lambda: not store._background._jobs)
        assert await counts(store) == (1, 0, 2)


@on_all
async def test_no_page_repeats_an_entry_that_is_being_withdrawn(place):
    async with open_store(place.uri) as store:
        assert await decision(store, 1) is Decision.NEW
        call = store.call

        async def late(verb: str, *arguments: object) -> bytes:
            if verb == "withdraw" and store.call is late:
                store.call = call
                assert await decision(store, 4) is Decision.NEW
            return await call(verb, *arguments)

        store.call = late
        assert await store.forget(1) == 0
        assert await counts(store) == (1, 1, 0)


@on_all
async def test_a_page_that_could_not_be_withdrawn_is_withdrawn_later(place):
    async with open_store(place.uri) as store:
        assert await decision(store, 1) is Decision.NEW
        with failing(store, "withdraw", afterwards=False):
            await store.forget(1)
        assert await counts(store) == (1, 1, 0)
        await store.forget(1)
        assert await counts(store) == (0, 0, 0)


@on_both
async def test_the_pages_of_a_crawler_that_died_lapse_and_are_cleared_away(monkeypatch, place):
    monkeypatch.setattr(namespace, "LEASE", 2.0)
    monkeypatch.setattr(redis_store, "SWEEP_PAUSE", 0.005)
    async with open_store(place.uri) as dead, open_store(place.uri) as alive:
        for number in range(5):
            await decision(dead, number, SOMETHING * number % 2**64)
        dead._held.clear()  # nobody renews them
        assert await decision(alive, 10) is Decision.DUPLICATE
        await asyncio.sleep(2.5)
        assert await decision(alive, 10) is Decision.NEW
        await shrunk(alive, 1)


@on_both
async def test_what_has_ended_comes_back_by_no_call(monkeypatch, place):
    """A crawler that was away too long neither renews nor confirms what others take for gone."""
    monkeypatch.setattr(namespace, "LEASE", 0.5)
    async with open_store(place.uri) as late, open_store(place.uri) as other:
        for store in (late, other):  # nobody renews, and nobody clears away
            await store._background.close()
        assert await decision(late, 1) is Decision.NEW
        await asyncio.sleep(0.7)
        assert await decision(other, 2) is Decision.NEW
        await late._renew()
        await late.confirm(1)
        assert await decision(other, 3) is Decision.DUPLICATE
        assert (await other.check_and_add(page(4, SOMETHING))).match.page_id == 2


@on_both
async def test_a_living_crawler_renews_its_leases(place, monkeypatch):
    monkeypatch.setattr(namespace, "LEASE", 2.0)
    async with open_store(place.uri) as store:
        await decision(store, 1)
        await asyncio.sleep(3)
        assert await decision(store, 2) is Decision.DUPLICATE


@on_both
async def test_a_page_that_was_withdrawn_is_nobody_s_match_after_a_roll_back(place):
    """Not at the crawler that withdrew it; and it is withdrawn again."""
    async with open_store(place.uri) as store:
        assert await decision(store, 1) is Decision.NEW
        snapshot = dumped(place.name)
        assert await store.forget(1) == 0
        restored(place.name, snapshot)
        assert (await store.stats()).pending == 1
        assert await decision(store, 2) is Decision.NEW
        await shrunk(store, 1)
        assert await decision(store, 3) is Decision.DUPLICATE
        # The same page, fetched again, is another content.
        assert await decision(store, 1) is Decision.DUPLICATE


@on_both
async def test_of_many_topics_those_posted_to_last_stay(place, monkeypatch):
    monkeypatch.setattr(namespace, "MAX_TOPICS", 3)
    async with open_store(place.uri, namespace="notices") as store:
        for topic in ("a:b", "notices", "}"):
            await store.exchange(topic, "one", b"1")
        assert len(await store.exchange("a:b", "two", b"2")) == 2
        await store.exchange("c", "one", b"1")  # and the oldest is gone
        for topic, members in (("}", 2), ("a:b", 2), ("notices", 1)):
            assert len(await store.exchange(topic, "two", b"2")) == members
    async with redis_admin(place.uri) as admin:
        posted = {topic for topic, _ in await admin.notices("notices")}
    assert posted == {"}", "a:b", "notices"}
    names = {key.decode().strip("{}") for key in keys(place.name)}
    left = ("schema", "notices", "notices:%7D", "notices:a%3Ab", "notices:notices")
    assert names == {prefix("notices") + each for each in left}
