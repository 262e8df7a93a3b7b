"""A store over a packed base: what the base knows, and what goes to the store."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from encoded_parts import opened
from store_registry import EVERYTHING, outcome, page

from scrapy_neardup.stores import Matching, Store, open_store
from scrapy_neardup.stores.based import BasedStore
from scrapy_neardup.tables.packed import Strings
from scrapy_neardup.verdict import Decision, Reason

SCHEMA = {"hash": "blake2b-1", "shingle_size": 3}


@pytest.fixture(scope="module")
def base():
    """Two pages, 4 bits from each other."""
    fingerprints = np.array([0, 0b1111], np.uint64)
    ids = np.array([7, 5], np.uint64)
    urls = Strings.of([b"https://a.example/7", b""])
    return opened(fingerprints, schema=SCHEMA, ids=ids, urls=urls)


def over(base, store: Store) -> BasedStore:
    return BasedStore(store, base, "base.pack", max_distance=3, schema=SCHEMA, matching=Matching())


def test_the_base_is_asked_first_and_nothing_is_counted_there(base):
    async def scenario() -> None:
        async with over(base, open_store("memory:")) as store:
            verdict = await store.check_and_add(page(7, 0b11, url="https://a.example/again"))
            assert (verdict.decision, verdict.match.distance) == (Decision.SEEN, 2)
            assert verdict.match.url == "https://a.example/again"
            verdict = await store.check_and_add(page(1, 0b1))
            assert (verdict.reason, verdict.match.url) == (Reason.NEAR, "https://a.example/7")
            # The nearest, and of two the smallest page id; an exact page wants an equal one.
            assert await outcome(store, page(1, 0b111)) == (Decision.DUPLICATE, 5)
            assert await outcome(store, page(1, 0b11)) == (Decision.DUPLICATE, 5)
            assert await outcome(store, page(1, 0, exact=True)) == (Decision.DUPLICATE, 7)
            assert await outcome(store, page(2, 0b1, exact=True)) == (Decision.NEW, None)
            stats = await store.stats()
            assert (stats.pages, stats.dropped) == (1, 0)

    asyncio.run(scenario())


def test_what_the_base_does_not_know_is_the_stores(base):
    async def scenario() -> None:
        async with over(base, open_store("memory:")) as store:
            # A page of the base that has changed has an entry of its own.
            assert await outcome(store, page(7, EVERYTHING)) == (Decision.NEW, None)
            assert await outcome(store, page(1, EVERYTHING - 1)) == (Decision.DUPLICATE, 7)
            assert await store.forget(7) == 1
            assert await outcome(store, page(1, EVERYTHING - 1)) == (Decision.NEW, None)
            await store.confirm(1)
            assert await store.forget(1) == 0
            assert (await store.stats()).pages == 1

    asyncio.run(scenario())


def test_the_notice_board_is_the_stores(base):
    async def scenario() -> None:
        async with open_store("memory:") as below:
            store = over(base, below)
            assert await below.exchange("topic", "one", b"1") == [b"1"]
            assert sorted(await store.exchange("topic", "two", b"2")) == [b"1", b"2"]
            assert sorted(await below.exchange("topic", "one", b"3")) == [b"2", b"3"]

    asyncio.run(scenario())
