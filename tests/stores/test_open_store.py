"""Opening a store: which URIs and parameters are taken, and how others add a scheme."""

import pytest
from store_model import ModelStore
from store_registry import on, outcome, page

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.stores import SCHEMES, Store, StoreOptions, StoreStats, open_store
from scrapy_neardup.stores.embedded.memorystore import MemoryStore
from scrapy_neardup.verdict import Decide, Decision, Page, Verdict


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


async def test_others_can_add_a_store(monkeypatch):
    class ListStore(Store):
        """The model behind the interface."""

        def __init__(self, uri: str, options: StoreOptions) -> None:
            self.uri, self.model = uri, ModelStore(options.max_distance)

        async def open(self) -> None:
            self.model.entries.clear()

        async def close(self) -> None:
            self.model.entries.clear()

        async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
            return self.model.check_and_add(page)

        async def confirm(self, page_id: int) -> None:
            self.model.confirm(page_id)

        async def forget(self, page_id: int) -> int:
            return self.model.forget(page_id)

        async def stats(self) -> StoreStats:
            pages, pending, dropped = self.model.counts()
            return StoreStats(pages=pages, pending=pending, dropped=dropped, overflowed=0)

    monkeypatch.setitem(SCHEMES, "list", ListStore)
    async with open_store("list:whatever//?", max_distance=2) as store:
        assert store.uri == "list:whatever//?"
        assert await outcome(store, page(1, 0b000)) == (Decision.NEW, None)
        assert await outcome(store, page(2, 0b011)) == (Decision.DUPLICATE, 1)
        assert await outcome(store, page(3, 0b111)) == (Decision.NEW, None)
        await store.confirm(1)
        assert await store.forget(1) == 0
        assert (await store.stats()).pages == 2


@pytest.mark.parametrize("uri", ["memory:x", "memory://", "memory:///x", "memory::memory:"])
def test_a_place_in_memory_is_an_error(uri):
    with pytest.raises(ConfigurationError, match=r"NEARDUP_STORE: .*use 'memory:'"):
        open_store(uri)


async def test_bytes_are_counted():
    async with open_store("memory:", expected_pages=1000) as store:
        before = (await store.stats()).memory_bytes
        for number in range(1000):
            url = f"https://a.example/{number:080}"
            await store.check_and_add(page(number, number * 0x9E3779B97F4A7C15 % 2**64, url=url))
        grown = (await store.stats()).memory_bytes - before
        assert 1000 * (98 + 32) < grown < 1000 * 98 + 300_000
