"""What is particular to ``memory:``, and to opening a store at all."""

from __future__ import annotations

import asyncio

import pytest
from store_registry import page

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.memory import MemoryStore
from scrapy_neardup.verdict import Decision


@pytest.mark.parametrize("uri", ["memory:x", "memory://", "memory:///x", "memory::memory:"])
def test_a_place_in_memory_is_an_error(uri):
    with pytest.raises(ConfigurationError, match=r"NEARDUP_STORE: .*use 'memory:'"):
        open_store(uri)


@pytest.mark.parametrize("uri", ["", "mem:", "file:x", "postgres://u:secret@h/", "C:\\x.db"])
def test_an_unknown_scheme_names_the_known_ones_and_no_password(uri):
    with pytest.raises(ConfigurationError, match=r"NEARDUP_STORE.*memory:.*sqlite:") as raised:
        open_store(uri)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"max_distance": 9}, "NEARDUP_MAX_DISTANCE"),
        ({"max_distance": -1}, "NEARDUP_MAX_DISTANCE"),
        ({"expected_pages": 0}, "NEARDUP_EXPECTED_PAGES"),
    ],
)
def test_parameters_that_no_store_accepts(options, setting):
    with pytest.raises(ConfigurationError, match=setting):
        open_store("memory:", **options)


@pytest.mark.parametrize("uri", ["memory:", "sqlite:pages.db"])
def test_entries_of_an_embedded_store_do_not_lapse(uri):
    with pytest.raises(ConfigurationError, match="NEARDUP_RETENTION"):
        open_store(uri, retention=60.0)


def test_the_scheme_may_be_written_in_capitals():
    assert isinstance(open_store("MEMORY:"), MemoryStore)


def test_it_must_be_open():
    async def scenario() -> None:
        store = open_store("memory:")
        for _ in range(2):
            for call in (
                store.check_and_add(page(1, 2)),
                store.confirm(1),
                store.forget(1),
                store.stats(),
            ):
                with pytest.raises(StoreUnavailableError):
                    await call
            await store.open()
            await store.check_and_add(page(1, 2))
            await store.open()
            assert (await store.stats()).pages == 1
            await store.close()
            await store.close()
        await store.open()
        assert (await store.check_and_add(page(2, 2))).decision is Decision.NEW
        await store.close()

    asyncio.run(scenario())


def test_bytes_are_counted():
    async def scenario() -> None:
        async with open_store("memory:", expected_pages=1000) as store:
            before = (await store.stats()).memory_bytes
            for number in range(1000):
                url = f"https://a.example/{number:080}"
                await store.check_and_add(
                    page(number, number * 0x9E3779B97F4A7C15 % 2**64, url=url)
                )
            grown = (await store.stats()).memory_bytes - before
            assert 1000 * (98 + 32) < grown < 1000 * 98 + 300_000

    asyncio.run(scenario())
