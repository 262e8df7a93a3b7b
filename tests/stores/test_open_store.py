"""Opening a store: which URIs and parameters are taken."""

import pytest
from store_registry import on, page, spread

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.embedded.memorystore import MemoryStore
from scrapy_neardup.verdict import Decision


@pytest.mark.parametrize("uri", ["", "mem:", "file:x", "postgres://u:secret@h/", "C:\\x.db"])
def test_an_unknown_scheme_names_the_known_ones_and_no_password(uri):
    with pytest.raises(ConfigurationError, match=r"NEARDUP_STORE.*memory:.*sqlite:") as raised:
        open_store(uri)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"max_distance": 11}, "NEARDUP_MAX_DISTANCE"),
        ({"max_distance": -1}, "NEARDUP_MAX_DISTANCE"),
        ({"expected_pages": 0}, "NEARDUP_EXPECTED_PAGES"),
    ],
)
def test_parameters_that_no_store_accepts(options, setting):
    with pytest.raises(ConfigurationError, match=setting):
        open_store("memory:", **options)


def test_the_scheme_may_be_written_in_capitals():
    assert isinstance(open_store("MEMORY:"), MemoryStore)


@on("memory", "sqlite")
async def test_an_embedded_store_must_be_open(place):
    store = open_store(place.uri)
    await store.close()
    for number in range(2):
        for call in (
            store.check_and_add(page(1, 2)),
            store.confirm(1),
            store.forget(1),
            store.stats(),
        ):
            with pytest.raises(StoreUnavailableError, match=r"(memory|pages\.db) isn't open"):
                await call
        await store.open()
        expected = Decision.SEEN if place.survives and number else Decision.NEW
        assert (await store.check_and_add(page(1, 2))).decision is expected
        await store.open()
        assert (await store.stats()).pages == 1
        await store.confirm(1)
        await store.close()
        await store.close()


@pytest.mark.parametrize("uri", ["memory:x", "memory://", "memory:///x", "memory::memory:"])
def test_a_place_in_memory_is_an_error(uri):
    with pytest.raises(ConfigurationError, match=r"NEARDUP_STORE: .*use 'memory:'"):
        open_store(uri)


async def test_bytes_are_counted():
    async with open_store("memory:", expected_pages=1000) as store:
        before = (await store.stats()).memory_bytes
        for number in range(1000):
            url = f"https://a.example/{number:080}"
            await store.check_and_add(page(number, spread(number), url=url))
        grown = (await store.stats()).memory_bytes - before
        assert 1000 * (98 + 32) < grown < 1000 * 98 + 300_000
