"""The URLs of pages in memory, against a dict."""

import random

from scrapy_neardup.stores.embedded.memorystore import Keeper


async def test_urls_are_those_of_their_rows():
    rng = random.Random(3)
    urls, expected = Keeper(), {}
    for _ in range(2_000):
        row = rng.randrange(30)
        if row in expected:
            assert await urls.url(row, 0) == expected.pop(row)
            urls.delete(row)
        else:
            url = rng.choice((None, "", "https://ü.example/" + "x" * rng.randrange(60), "\ud800"))
            urls.hold(row, url)
            expected[row] = url or None
    for row in expected:
        urls.delete(row)
    assert urls.nbytes < 1000
