"""What no page met for the retention time is forgotten, in every store."""

import asyncio

import pytest
from store_registry import (
    EVERYTHING,
    SOMETHING,
    counts,
    decision,
    keep,
    on,
    on_store,
    page,
    spread,
)

from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Decision


@pytest.fixture
def clock(monkeypatch):
    """Let time pass for what is embedded: seconds to add to the clock."""
    passed = [1_000_000_000.0]
    monkeypatch.setattr("time.time", lambda: passed[0])
    return passed


@on_store(retention=3)
async def test_what_was_not_seen_for_long_matches_no_more(store):
    if hasattr(store, "_background"):
        await store._background.close()  # without the sweep, expiry is up to each call
    await keep(store, page(1, 0), page(2, SOMETHING), page(3, EVERYTHING))
    for _ in range(3):
        await asyncio.sleep(1.5)
        assert await decision(store, 10, 0) is Decision.DUPLICATE  # keeps 1
        assert await decision(store, 2, SOMETHING) is Decision.SEEN  # keeps itself
    assert await decision(store, 11, EVERYTHING) is Decision.NEW


@on("memory", "sqlite")
async def test_each_page_makes_room_for_four(place, clock):
    async with open_store(place.uri, retention=60) as store:
        for number in range(200):
            await decision(store, number, spread(number))
            if number % 2:
                await store.confirm(number)
        clock[0] += 61
        for number in range(300, 360):
            assert await decision(store, number, spread(number)) is Decision.NEW
        assert await counts(store) == (60, 60, 0)


@on("sqlite")
async def test_the_times_of_a_file_survive(clock, place):
    for number, expected in ((1, Decision.NEW), (2, Decision.DUPLICATE), (1, Decision.SEEN)):
        async with open_store(place.uri, retention=60) as store:
            assert await decision(store, number) is expected
            await store.confirm(number)
        clock[0] += 50  # each visit starts the time anew
    clock[0] += 11
    async with open_store(place.uri) as store:  # to which nothing lapses
        assert await decision(store, 2) is Decision.DUPLICATE
    async with open_store(place.uri, retention=60) as store:
        assert await decision(store, 2) is Decision.NEW
        await store.confirm(2)
    async with open_store(place.uri) as store:
        assert await counts(store) == (1, 0, 0)


@on("sqlite")
async def test_a_changed_page_that_lapses_takes_its_old_entry_along(clock, place):
    async with open_store(place.uri, retention=60) as store:
        await keep(store, page(1, 0))
        assert await decision(store, 1, SOMETHING) is Decision.NEW  # replaces it, pending
        clock[0] += 61
        assert await decision(store, 2, SOMETHING) is Decision.NEW
        await store.confirm(2)
    async with open_store(place.uri) as store:
        assert (await store.stats()).pages == 1
