"""Opening a store: which URIs and parameters are taken, and what a missing package says."""

from pathlib import Path

import pytest
from forked import python
from store_registry import dumped, keep, on, page, spread

from scrapy_neardup.errors import (
    ConfigurationError,
    StoreMismatchError,
    StoreUnavailableError,
)
from scrapy_neardup.stores import imported, open_store
from scrapy_neardup.stores.embedded.memorystore import MemoryStore
from scrapy_neardup.verdict import Decision


@pytest.mark.parametrize("uri", ["", "mem:", "file:x", "postgres://u:secret@h/", "C:\\x.db"])
def test_an_unknown_scheme_names_the_known_ones_and_no_password(uri):
    with pytest.raises(ConfigurationError, match=r"NEARDUP_STORE.*memory:.*sqlite:") as raised:
        open_store(uri)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(("name", "value"), [
    ("max_distance", 11), ("max_distance", -1), ("expected_pages", 0)
])  # fmt: skip
def test_parameters_that_no_store_accepts(name, value):
    with pytest.raises(ConfigurationError, match=f"NEARDUP_{name.upper()}"):
        open_store("memory:", **{name: value})


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


@on("sqlite", "redis", "redis-cluster")
async def test_other_parameters_are_refused_and_both_are_shown(place):
    is_file = place.name == "sqlite"
    made = {"shingle_size": 3, "hash": "a", "weights": "set"}

    async def opened(namespace: str = "news", k: int = 3, **schema: object) -> None:
        options = {"namespace": namespace, "max_distance": k, "schema": schema}
        async with open_store(place.uri, **options) as store:
            await keep(store, page(1, 5))

    def held() -> object:
        return Path(place.uri.partition(":")[2]).read_bytes() if is_file else dumped(place.name)

    def shown(value: object) -> str:
        return repr(value if is_file or value is None else str(value))

    await opened(**made)
    before = held()
    for name, there, here in (
        ("max_distance", 3, 4), ("shingle_size", 3, 4), ("hash", "a", "b"), ("more", None, 1),
        ("weights", "set", None),
    ):  # fmt: skip
        wanted = {"k": 3, **made, ("k" if name == "max_distance" else name): here}
        with pytest.raises(StoreMismatchError, match="NEARDUP_NAMESPACE") as raised:
            await opened(**{key: value for key, value in wanted.items() if value is not None})
        said = f"{name} is {shown(there)} there and {shown(here)} here"
        assert said in str(raised.value)
        assert "news" in str(raised.value)
        assert held() == before
    await opened(namespace="shop", k=4, shingle_size=4)
    await opened(**made)


@pytest.mark.parametrize("uri", ["memory:x", "memory://", "memory:///x", "memory::memory:"])
def test_memory_in_capitals_is_memory_and_a_place_there_an_error(uri):
    assert isinstance(open_store("MEMORY:"), MemoryStore)
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


MISSING = (
    "--store: redis://h/0 needs the package redis, which isn't installed:"
    " pip install '.[redis]' in a clone of scrapy-neardup"
)


@pytest.mark.parametrize("verb", ["stats", "scan pages.jsonl", "load pages.jsonl --namespace n"])
def test_without_redis_py_a_store_in_redis_names_the_extra(verb, tmp_path):
    (tmp_path / "pages.jsonl").write_text('{"text": "one two three four five six"}\n')
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from scrapy_neardup.cli import main; main(sys.argv[1:])"
    )
    ended = python("-c", code, *verb.split(), "--store", "redis://user:secret@h/0", cwd=tmp_path)
    assert ended.returncode == 2
    assert MISSING in ended.stderr
    assert "secret" not in ended.stderr


def test_other_modules_that_are_missing_are_named_themselves():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        imported("no_such_module:Store", "toy:")
