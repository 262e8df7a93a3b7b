"""The Lua side: permutations bit by bit, and every verdict as brute force gives it."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from full_buckets import check_full_buckets
from hypothesis import given, settings
from hypothesis import strategies as st
from redis_servers import RedisServer, shared_server
from store_registry import on_every_binary, page

from scrapy_neardup.stores import Matching, StoreOptions, redis_layout
from scrapy_neardup.stores.confirmation import Comparison, stored
from scrapy_neardup.stores.redis import RedisStore
from scrapy_neardup.stores.redis_layout import Layout
from scrapy_neardup.stores.redis_values import resembling, sketch_words
from scrapy_neardup.verdict import Reason, Sketch

K = 3
AT_ONCE = 512


@pytest.mark.parametrize("expected_pages", [1000, 10**7])
@pytest.mark.parametrize("k", range(7))
def test_scripts_permute_as_python_does(k, expected_pages):
    layout = Layout.choose(k, expected_pages)
    client = shared_server().client()
    script = layout.permuting + (
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


@st.composite
def sketches(draw):
    """Bits of a bin, a page's sketch and an entry's, alike and equal here and there."""
    bits, size = draw(st.sampled_from((1, 2, 4, 8))), draw(st.sampled_from((8, 16, 64)))
    rng = random.Random(draw(st.integers(0, 2**32)))
    we_name, they_name = draw(st.tuples(*[st.booleans()] * 2))
    share = draw(st.sampled_from((0, 0.05, 0.3, 1)))

    def changed(text: bytes) -> bytes:
        return bytes(b ^ rng.randrange(256) if rng.random() < share else b for b in text)

    def named(is_any: bool) -> bytes:
        marks = (sum((rng.random() < share) << place for place in range(8)) for _ in range(size))
        found = bytes(marks)[: size // bits]
        return found if is_any and any(found) else b""

    ones = (1 << bits) - 1
    bins = [ones * (rng.random() < share) for _ in range(size * 8 // bits)]
    furniture = sum(each << place * bits for place, each in enumerate(bins)).to_bytes(size)
    text = rng.randbytes(size)
    most = draw(st.sampled_from((0.0, 0.075, 1 / 3, 0.1 * 0.75, 0.9)))
    ours, theirs = (
        Sketch(text=each, named=named(is_any), furniture=furniture, most_differing=most)
        for each, is_any in ((changed(text), we_name), (text, they_name))
    )
    return bits, ours, theirs


@settings(deadline=None, max_examples=400)
@given(sketches(), st.booleans())
def test_scripts_compare_sketches_as_python_does(case, another_title):
    bits, ours, theirs = case
    matching = Matching(sketch_bits=bits, sketch_bytes=len(ours.text))
    script = Layout(K, 4, matching=matching).script("sketches", record="") + (
        "return confirmed(sketch_of(ARGV[1], ARGV[2], ARGV[3], ARGV[4]), ARGV[5], ARGV[6] == '1')"
    )
    words = sketch_words(page(1, 1, sketch=ours), bits)
    arguments = (*words, stored(theirs), int(another_title))
    counts = shared_server().client().eval(script, 0, *arguments)
    comparison = Comparison(ours, bits)
    found = counts and resembling(counts, bits)
    assert found == comparison.confirmed(stored(theirs), another_title=another_title)
    if counts:
        compared = comparison.compare(stored(theirs))
        assert list(zip(counts[::2], counts[1::2], strict=True)) == compared


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
    """Judge in order; a process's calls share pipelines and are executed as they were made."""
    options = StoreOptions(namespace=f"exact-{layout.blocks}", max_distance=K)
    answers = []
    async with RedisStore(uri, options, layout=layout) as store:
        for start in range(0, len(prints), AT_ONCE):
            pages = [page(n, one) for n, one in enumerate(prints[start : start + AT_ONCE], start)]
            for verdict in await asyncio.gather(*map(store.check_and_add, pages)):
                match = verdict.match
                answers.append(match and (match.page_id, match.distance))
        stats = await store.stats()
        assert stats.pages == stats.pending == answers.count(None)
        store._pending.clear()
    return answers


@on_every_binary
@pytest.mark.parametrize("pages", [4_000, pytest.param(40_000, marks=pytest.mark.stress)])
def test_every_verdict_is_that_of_brute_force(pages, binary):
    prints = collection(pages)
    wanted = brute_force(prints)
    with RedisServer(binary=binary) as server:
        for blocks in (4, 5):
            answers = asyncio.run(judge_all(server.uri, Layout(K, blocks, split=4), prints))
            assert answers == wanted
        # Buckets were split again and again: that is what the threshold is for.
        fields = server.client().hkeys("nd:exact-5:t1:00")
        assert max(field[0] for field in fields) >= 5


def test_a_page_whose_buckets_are_full_is_kept_and_not_remembered():
    async def scenario(uri: str) -> None:
        options = StoreOptions(namespace="full")
        async with RedisStore(uri, options, layout=Layout(K, 4, cap=40)) as store:
            await check_full_buckets(store, 40)

    shared_server().client().flushall()
    asyncio.run(scenario(shared_server().uri))


def test_hundreds_of_pages_that_contradict_one_text_are_an_overflow():
    async def scenario(uri: str) -> None:
        async with RedisStore(uri, StoreOptions(namespace="shell")) as store:
            ids = [random.Random(n).getrandbits(64) for n in range(513)]
            shells = [page(one, 7, title=n, content=n) for n, one in enumerate(ids)]
            verdicts = await asyncio.gather(*map(store.check_and_add, shells))
            assert [each.reason for each in verdicts[:512]] == [Reason.UNMATCHED] * 512
            assert verdicts[512].reason is Reason.OVERFLOW
            assert (await store.stats()).overflowed == 1

    asyncio.run(scenario(shared_server().uri))


def test_many_pages_near_each_other_with_titles_of_their_own_are_an_overflow(monkeypatch):
    async def scenario(uri: str) -> None:
        options = StoreOptions(namespace="products", max_distance=4)
        async with RedisStore(uri, options) as store:
            pairs = itertools.combinations(range(64), 2)  # any two differ in 2 or 4 bits
            products = [
                page(number, 1 << one ^ 1 << other, title=number + 1)
                for number, (one, other) in enumerate(itertools.islice(pairs, 41))
            ]
            verdicts = await asyncio.gather(*map(store.check_and_add, products))
            assert [each.reason for each in verdicts[:40]] == [Reason.UNMATCHED] * 40
            assert verdicts[40].reason is Reason.OVERFLOW
            again = await store.check_and_add(replace(products[6], id=1000, title=1000))
            assert again.match.page_id == 6

    monkeypatch.setattr(redis_layout, "MOST_CONTRADICTED", 40)
    asyncio.run(scenario(shared_server().uri))
