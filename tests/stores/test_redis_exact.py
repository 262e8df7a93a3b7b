"""The Lua side: permutations bit by bit, and every verdict as brute force gives it."""

import asyncio
import random

import numpy as np
import pytest
from deciders import nothing
from full_buckets import check_full_buckets
from hypothesis import given
from hypothesis import strategies as st
from redis_servers import RedisServer, shared_server
from store_registry import PLACES, on_every_binary, page

from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.stores.redis import calls
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.scripts import permuting
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Reason

K = 3
AT_ONCE = 512


@pytest.mark.parametrize("expected_pages", [1000, 10**7])
@pytest.mark.parametrize("k", range(11))
def test_scripts_permute_as_python_does(k, expected_pages):
    layout = Layout.choose(k, expected_pages)
    client = shared_server().client()
    script = permuting(layout) + (
        "local out = {}\n"
        "for n, f in ipairs(ARGV) do\n"
        f"  for i = 1, {len(layout.permutations)} do\n"
        "    out[#out + 1] = permuted(i, f)\n"
        "    out[#out + 1] = original(i, permuted(i, f))\n"
        "  end\n"
        "end\n"
        "return out"
    )
    rng = random.Random(k)
    keys = [1 << bit for bit in range(64)] + [rng.getrandbits(64) for _ in range(40)]
    reply = client.eval(script, 0, *(key.to_bytes(8, "big") for key in keys))
    wanted = [
        word for key in keys for each in layout.permuted(key) for word in (each, key.to_bytes(8))
    ]
    assert reply == wanted


@given(st.data())
def test_near_keys_in_one_bucket_have_a_part_in_common(data):
    k = data.draw(st.integers(0, 10))
    layout = Layout.choose(k, data.draw(st.sampled_from((1000, 10**7))))
    table = data.draw(st.sampled_from(range(len(layout.tables))))
    parts = [int(end) for end in layout.compared.strip("{}").split(",")]
    low_bits = st.integers(0, 63 - layout.prefixes[table])
    flipped = sum(1 << bit for bit in data.draw(st.sets(low_bits, max_size=k)))
    suffix = flipped.to_bytes(8, "big")[2:]
    ends = zip(parts[::2], parts[1::2], strict=True)
    assert any(not any(suffix[first - 1 : last]) for first, last in ends)


def collection(pages: int) -> list[int]:
    """Return fingerprints, half uniform, half in clusters 0 to 5 bits wide.

    Centres share some of their blocks: so many buckets are split, and deep.
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
    kept, answers = np.zeros(len(prints), np.uint64), []
    numbers: list[int] = []
    for number, one in enumerate(prints):
        distances = np.bitwise_count(kept[: len(numbers)] ^ np.uint64(one))
        best = int(distances.argmin()) if numbers else 0
        if numbers and distances[best] <= K:
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
        for layout in (
            Layout(K, 4, split=4),
            Layout(K, 3, split=4, parts=2),
            Layout(K, 5, split=4),
            Layout(K, 2),
        ):
            assert await judge_all(server.uri, layout, prints) == wanted
        # Buckets were split again and again: that is what the threshold is for.
        assert max(field[0] for field in server.client().hkeys("nd:exact-10:t1:00")) >= 5


async def test_a_page_whose_buckets_are_full_is_kept_and_not_remembered():
    shared_server().client().flushall()
    options = StoreOptions(namespace="full")
    async with RedisStore(shared_server().uri, options, layout=Layout(K, 4, cap=40)) as store:
        await check_full_buckets(store, 40)


async def test_pages_beyond_a_crowd_are_known_by_themselves_alone():
    """Without features nothing else leads to them, and none of them is left in the end."""
    with PLACES["redis"]():
        server = shared_server()
        async with RedisStore(server.uri, StoreOptions(namespace="shell")) as store:
            ids = [random.Random(n).getrandbits(64) for n in range(MAX_COMPARED + 20)]
            shells = [page(one, 7) for one in ids]
            for shell in shells:
                verdict = await store.check_and_add(shell, nothing(shell))
                assert verdict.reason is Reason.UNMATCHED
            listed = server.client().hvals("nd:shell:t1:00")
            assert sum(map(len, listed)) == 14 * (MAX_COMPARED + 1)
            for shell in shells:
                assert (await store.check_and_add(shell)).reason is Reason.SAME_PAGE
            assert (await store.stats()).pages == len(shells)
            for shell in shells:
                await store.forget(shell.id)
        left = {b"nd:shell:schema", b"nd:shell:counters"}
        assert set(server.client().scan_iter("nd:shell:*")) <= left
