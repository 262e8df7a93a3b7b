"""The Lua side: permutations bit by bit, and every verdict as brute force gives it."""

import asyncio
import random

import numpy as np
import pytest
from deciders import nothing
from hypothesis import given
from hypothesis import strategies as st
from redis_servers import RedisServer, shared_server
from store_registry import PLACES, on_every_binary, page

from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.stores.redis import calls
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout
from scrapy_neardup.stores.redis.pages import cut
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Reason

K = 3
AT_ONCE = 512


def each(places: bytes) -> set[bytes]:
    """Return the buckets of places."""
    return {place[:5] for place in cut(places, PLACE)}


@given(st.data())
def test_near_keys_share_a_bucket_that_is_looked_into(data):
    k = data.draw(st.integers(0, 10))
    layout = Layout.choose(k, data.draw(st.sampled_from((1, 1000, 10**6, 10**7))))
    key = data.draw(st.integers(0, 2**64 - 1))
    flipped = sum(1 << bit for bit in data.draw(st.sets(st.integers(0, 63), max_size=k)))
    other, own = each(layout.places(key ^ flipped, k)), each(layout.places(key, k))
    assert len(other) == len(layout.tables)
    assert len(each(layout.places(key, 0))) == 1  # equal keys share all buckets
    assert other & (own | each(layout.neighbours(key, k)))
    for number in range(1, len(layout.tables) + 1):
        near = {place for place in own if place[1:2] in b"123456789a"[:number]}
        assert other & near or flipped.bit_count() >= number * layout.unseen


def collection(pages: int) -> list[int]:
    """Return fingerprints, half uniform, half in clusters 0 to 5 bits wide.

    Centres share some of their blocks: so some buckets are full of them.
    """
    rng = random.Random(pages)
    blocks = [0, 2**64 - 1, *(rng.getrandbits(64) for _ in range(6))]
    masks = [0xFFFF << shift for shift in (0, 16, 32, 48)] + [0x3FFFFFF << 38, 0]
    centres = []
    for _ in range(pages // 8):
        mask = rng.choice(masks)
        centres.append(rng.choice(blocks) & mask | rng.getrandbits(64) & ~mask)
    flip = lambda bits: sum(1 << bit for bit in rng.sample(range(64), bits))
    return [
        rng.choice(centres) ^ flip(rng.randrange(6)) if rng.random() < 0.5 else rng.getrandbits(64)
        for _ in range(pages)
    ]


def brute_force(prints: list[int]) -> list[tuple[int, int] | None]:
    """Return for each page the nearest kept one (its number, distance), or None: it is kept."""
    kept, numbers, answers = np.zeros(len(prints), np.uint64), [], []
    for number, one in enumerate(prints):
        distances = np.bitwise_count(kept[: len(numbers)] ^ np.uint64(one))
        best = int(distances.argmin()) if numbers else None
        if best is not None and distances[best] <= K:
            answers.append((numbers[best], int(distances[best])))
        else:
            kept[len(numbers)] = one
            numbers.append(number)
            answers.append(None)
    return answers


async def judge_all(uri: str, layout: Layout, prints: list[int]) -> list[tuple[int, int] | None]:
    """Judge in order: where one request is under way, calls are executed as they were made."""
    options = StoreOptions(namespace=f"exact-{len(layout.tables)}", max_distance=K)
    answers = []
    async with RedisStore(uri, options, layout=layout) as store:
        for start in range(0, len(prints), AT_ONCE):
            pages = [page(n, one) for n, one in enumerate(prints[start : start + AT_ONCE], start)]
            for verdict in await asyncio.gather(*map(store.check_and_add, pages)):
                match = verdict.match
                answers.append(match and (match.page_id, match.distance))
        stats = await store.stats()
        assert stats.pages == stats.pending == answers.count(None)
        store._held.clear()
    return answers


@on_every_binary
@pytest.mark.parametrize("pages", [2_000, pytest.param(40_000, marks=pytest.mark.stress)])
async def test_every_verdict_is_that_of_brute_force(pages, binary, monkeypatch):
    monkeypatch.setattr(calls, "_UNDER_WAY", 1)
    prints = collection(pages)
    wanted = brute_force(prints)
    with RedisServer(binary=binary) as server:
        layouts = (4, {}), (3, {"parts": 2, "bits": 20}), (5, {"bits": 7}), (2, {"bits": 9})
        for tables, options in layouts:
            assert await judge_all(server.uri, Layout(K, tables, **options), prints) == wanted


async def test_pages_beyond_a_crowd_are_known_by_themselves_alone():
    """Without features nothing else leads to them, and none of them is left in the end."""
    with PLACES["redis"]():
        server = shared_server()
        async with RedisStore(server.uri, StoreOptions(namespace="shell")) as store:
            ids = [random.Random(n).getrandbits(64) for n in range(MAX_COMPARED + 20)]
            shells = [page(one, 7) for one in ids]
            first = [await store.check_and_add(shell, nothing(shell)) for shell in shells]
            assert {verdict.reason for verdict in first} == {Reason.UNMATCHED}
            assert server.client().strlen(b"nd:shell:t1\0\0\0") == 11 * (MAX_COMPARED + 1)
            again = [await store.check_and_add(shell) for shell in shells]
            assert {verdict.reason for verdict in again} == {Reason.SAME_PAGE}
            assert (await store.stats()).pages == len(shells)
            for shell in shells:
                await store.forget(shell.id)
        left = {b"nd:shell:schema", b"nd:shell:counters"}
        assert set(server.client().scan_iter("nd:shell:*")) <= left
