"""What is particular to ``memory:``."""

import pytest
from store_registry import page

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.stores import open_store


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
