"""The keys of one Redis: what leads to a page leads to one that is there, and nothing is left."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import replace
from itertools import product

import pytest
from deciders import by_evidence
from list_store import ListStore
from matching_pages import Site, unique_page
from redis_servers import RedisServer, all_binaries, shared_cluster, shared_server
from sqlite_files import add
from store_registry import (
    counts,
    decision,
    keep,
    keys,
    on,
    on_every_binary,
    page,
    shrunk,
    spread,
)

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.judge.evidence import Evidence, stored_size
from scrapy_neardup.stores import Matching, StoreOptions, open_store
from scrapy_neardup.stores.redis import namespace
from scrapy_neardup.stores.redis import pages as redis_pages
from scrapy_neardup.stores.redis import store as redis_store
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout
from scrapy_neardup.stores.redis.pages import cut
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Decision, Page

K = 3
on_both = on("redis", "redis-cluster")
MATCHINGS = [
    Matching(by_distance=False, features=4, shared_features=2),
    Matching(features=4, text_bits=128, named_bits=64),
    Matching(features=1, text_bits=512, named_bits=64),
]
CONFIRMED = MATCHINGS[1]
LEFT = {"schema", "counters"}
"""What a namespace still has when all its entries have ended."""


class Alike(Site):
    """Pages whose features share a few buckets, and often all that a bucket has of them."""

    def __init__(self, seed: int, matching: Matching) -> None:
        super().__init__(seed, matching)
        # Each end leads to fewer entries than are listed under one.
        ends = [self.rng.getrandbits(24) for _ in range(75)]
        self.features = [self.rng.getrandbits(24) << 24 | end for end in 2 * ends]

    def _features(self, centre: Page, other: Page) -> tuple[int, ...]:
        half = len(self.features) // 2  # no page is listed under one end twice
        ends = self.rng.sample(range(half), self.matching.features)
        return tuple(
            self.rng.choice((self.features[end], self.features[end + half])) for end in ends
        )


BODY = stored_size((0, 0))
"""Where the sketches begin in evidence."""


async def crawl(server: RedisServer, matching: Matching, pages: int, known: int) -> int:
    """Judge pages as the model does, with ids of which so many are known; return the kept."""
    site, decide = Alike(pages, matching), by_evidence(matching)
    rng = site.rng
    options = StoreOptions(max_distance=K, matching=matching)
    model = ListStore("list:model", options)
    async with RedisStore(server.uri, options, layout=Layout(K, 4, bits=4)) as store:
        for number in range(pages):
            arrival = replace(site.page(), id=rng.randrange(known))
            theirs = await model.check_and_add(arrival, decide(arrival))
            assert await store.check_and_add(arrival, decide(arrival)) == theirs, number
            one = rng.randrange(known)
            if rng.random() < 0.3:
                assert await store.forget(one) == await model.forget(one)
            elif rng.random() < 0.3:
                await store.confirm(one)
                await model.confirm(one)
        held, pending, _ = await counts(model)
        assert await counts(store) == await counts(model)
        assert check_structure(server) == held
    return held - pending


def kinds(server: RedisServer) -> dict[str, dict[bytes, object]]:
    """All that the namespace has: what a key is for -> the rest of its name -> its value."""
    client, found = server.client(), {}
    readers = {b"hash": client.hgetall, b"string": client.get}
    for key in client.scan_iter("nd:default:*", count=1000):
        name = key.removeprefix(b"nd:default:")
        reader = readers.get(client.type(key), lambda key: client.zrange(key, 0, -1))
        kind, at = ("page", 2) if name.startswith(b"p:") else (chr(name[0]), 1)
        if len(name) != {"page": 10, "t": 5, "f": 5}.get(kind):
            kind, at = name.decode(), len(name)
        found.setdefault(kind, {})[name[at:]] = reader(key)
    return found


def entries(bucket: bytes) -> list[tuple[bytes, bytes]]:
    """Return what each page of a bucket is listed by and its id; none twice."""
    whole = [bucket[at : at + 11] for at in range(0, len(bucket), 11)]
    assert bucket
    assert len({*whole}) == len(whole)
    return [(each[:3], each[3:]) for each in whole]


def check_structure(server: RedisServer) -> int:
    """All that leads to a page leads to one of that key or feature; return how many there are."""
    held = defaultdict(dict, kinds(server))
    pages, counted = held["page"], held["count"].get(b"", {})
    made = {name: int(held["schema"][b""][name.encode()]) for name in ("blocks", "parts", "bits")}
    layout = Layout(K, **made)
    keys = {page_id: int.from_bytes(record[4:12]) for page_id, record in pages.items()}
    for name, bucket in held["t"].items():
        for end, page_id in entries(bucket):
            assert b"t" + name + end in cut(layout.places(keys[page_id], K), PLACE)
    for bucket in held["f"].values():
        for end, page_id in entries(bucket):
            assert end in pages[page_id]
    for name in ("pending", "seen", "count"):
        assert set(held[name].get(b"", ())) <= set(pages)
    counters = held["counters"].get(b"", {})
    assert int(counters.get(b"pages", 0)) == len(pages)
    assert int(counters.get(b"dropped", 0)) == sum(map(int, counted.values()))
    return len(pages)


def in_turn(number: int, matching: Matching = CONFIRMED, *, short: bool = False) -> Page:
    exact = {"exact": True, "features": ()} if short else {}
    return unique_page(spread(number + 1), number, matching, **exact)


def servers():
    """Another one differs in its commands and its Lua: what the matching is, is one to it."""
    for number, (binary, matching) in enumerate(product(all_binaries(), MATCHINGS)):
        is_usual = number < len(MATCHINGS) or matching is CONFIRMED
        yield pytest.param(binary, matching, marks=() if is_usual else pytest.mark.stress)


@pytest.mark.parametrize(("binary", "matching"), list(servers()), ids=str)
@pytest.mark.parametrize(
    ("pages", "known"), [(300, 40), pytest.param(6000, 100, marks=pytest.mark.stress)]
)
def test_verdicts_are_those_of_the_model_and_nothing_is_left(
    pages, known, matching, binary, monkeypatch
):
    monkeypatch.setattr(redis_pages, "feature_keys", lambda page, *_: list(page.features))
    with RedisServer(binary=binary) as server:
        kept = asyncio.run(crawl(server, matching, pages, known))
        assert check_structure(server) == kept  # what was pending, close withdrew


@on("redis")
async def test_what_left_or_lapsed_or_expired_leaves_nothing(monkeypatch, place):
    monkeypatch.setattr(redis_store, "SWEEP_PAUSE", 0.002)
    server = shared_server()
    async with open_store(server.uri, matching=CONFIRMED) as store:
        pages = [in_turn(1000 + n, short=n % 2 == 1) for n in range(300)]
        await asyncio.gather(*map(store.check_and_add, pages))
        again = [replace(each, id=each.id ^ 1 << 60) for each in pages[:10]]
        assert await add(store, *again) == [Decision.DUPLICATE] * 10
        assert check_structure(server) == 300
        for each in pages:
            assert await store.forget(each.id) == (each in pages[:10])
        assert set(kinds(server)) == LEFT
    monkeypatch.setattr(namespace, "LEASE", 0.5)
    async with open_store(server.uri, matching=CONFIRMED, retention=3) as store:
        for number in range(30):
            each = in_turn(number)
            await store.check_and_add(each)
            if number % 2:
                await store.confirm(each.id)
            else:
                del store._held[each.id]  # as if its crawler had died
        again = [replace(in_turn(n), id=1000 + n, fingerprint=0) for n in (0, 1)]
        assert await add(store, replace(again[1], id=1)) == [Decision.DUPLICATE]
        await asyncio.sleep(4.1)
        for number in range(30):
            await store.confirm(number)
        for each in again:
            assert await add(store, each) == [Decision.NEW]
            assert await store.forget(each.id) == 0
        await shrunk(store)
    check_structure(server)
    assert set(kinds(server)) <= LEFT


@on("redis")
@pytest.mark.parametrize("is_forgotten", [False, True])
async def test_a_page_that_changes_twice_at_once_leaves_nothing_of_its_first_content(
    place, is_forgotten
):
    contents = [replace(in_turn(number), id=1) for number in range(3)]
    async with (
        open_store(place.uri, matching=CONFIRMED) as store,
        open_store(place.uri, matching=CONFIRMED) as other,
    ):
        await keep(store, contents[0])
        call = store.call

        async def late(verb: str, *arguments: object) -> bytes:
            if verb == "withdraw":
                store.call = call
                assert await add(other, contents[2]) == [Decision.NEW]
                if is_forgotten:
                    await other.forget(1)
            return await call(verb, *arguments)

        store.call = late
        assert await add(store, contents[1]) == [Decision.NEW]
        assert store.call is call
        assert check_structure(shared_server()) == (not is_forgotten)
        assert bool({"t", "f"} & set(kinds(shared_server()))) is not is_forgotten


@on_both
async def test_a_retention_that_came_later_begins_when_a_page_is_met(place):
    async with open_store(place.uri) as store:
        await keep(store, page(1, spread(1)), page(2, spread(2)))
    async with open_store(place.uri, retention=2) as store:
        assert await decision(store, 3, spread(1)) is Decision.DUPLICATE
        await asyncio.sleep(2.2)
        assert await decision(store, 4, spread(1)) is Decision.NEW
        assert await decision(store, 5, spread(2)) is Decision.DUPLICATE


async def test_a_full_server_is_left_as_it_was(server):
    client = server.client()
    pages = [in_turn(number) for number in range(40)]
    async with open_store(server.uri, matching=CONFIRMED) as store:
        await keep(store, *pages[:20])
        client.config_set("maxmemory", "1")
        before = kinds(server)
        for each in (*pages[20:], replace(pages[0], evidence=pages[20].evidence)):
            with pytest.raises(StoreUnavailableError, match="is full"):
                await store.check_and_add(each)
        assert kinds(server) == before
        client.config_set("maxmemory", "0")
        assert await add(store, *pages[20:]) == [Decision.NEW] * 20
    assert check_structure(server) == 20


@on_both
async def test_on_a_full_server_what_ends_goes_and_what_is_pending_stays(place, monkeypatch):
    """Also from buckets that list other pages."""
    monkeypatch.setattr(redis_store, "SWEEP_PAUSE", 0.002)
    monkeypatch.setattr(namespace, "LEASE", 2)
    masters = [shared_server()] if place.name == "redis" else shared_cluster().masters
    async with open_store(place.uri, expected_pages=1, retention=3) as store:
        await keep(store, *(page(number, spread(number) >> 16) for number in range(10, 40)))
        async with open_store(place.uri) as other:
            for number in (1, 2):
                await other.check_and_add(page(number, spread(number) >> 16))
            for master in masters:
                master.client().config_set("maxmemory", "1")
            try:
                with pytest.raises(StoreUnavailableError, match="is full"):
                    await store.check_and_add(page(3, spread(3)))
                assert await other.forget(1) == 0
                await shrunk(store, 1)
            finally:
                for master in masters:
                    master.client().config_set("maxmemory", "0")
            assert await decision(other, 3, spread(2) >> 16) is Decision.DUPLICATE
        await store._background.close()
    names = {key.rpartition(b":")[2].rstrip(b"}") for key in keys(place.name)}
    assert names <= {b"schema", b"counters"}


@on_every_binary
def test_a_server_that_forgets_keys_keeps_answering(binary):
    """Whatever it evicts, no call fails, and no page repeats one whose evidence is gone."""

    async def scenario(server: RedisServer) -> None:
        client, chance = server.client(), random.Random(1)
        async with open_store(server.uri, matching=CONFIRMED) as store:
            for number in range(200):
                each = in_turn(number, short=number % 2 == 1)
                assert await add(store, each) == [Decision.NEW]
                if chance.random() < 0.5:
                    await store.confirm(each.id)
                before = chance.randrange(max(0, number - 50), number + 1)
                older = in_turn(before, short=before % 2 == 1)
                if chance.random() < 0.3:
                    await store.forget(older.id)
                head = Evidence(rows=2 + number, path=2 + number).pack(CONFIRMED.sketch)
                text = in_turn(10**6 + number, short=before % 2 == 1).evidence[BODY:]
                other = replace(older, id=chance.getrandbits(64), evidence=head[:BODY] + text)
                assert await add(store, other) == [Decision.NEW]
                await store.forget(other.id)
                if number % 5 == 0 and (key := client.randomkey()) and b"schema" not in key:
                    client.delete(key)  # as eviction does
                if number % 20 == 0:  # the small ones, which chance seldom meets
                    client.delete(f"nd:default:{chance.choice(('pending', 'count', 'counters'))}")

    with RedisServer(binary=binary) as server:
        asyncio.run(scenario(server))
