"""Features and evidence in one Redis: where they lie, and what is left when an entry ends."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from deciders import by_evidence
from matching_pages import Site, unique_page
from redis_servers import RedisServer, all_binaries, shared_server
from store_model import ModelStore
from store_registry import counts, on, on_every_binary, spread

from scrapy_neardup.decision.evidence import Evidence, stored_size
from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import Matching, StoreOptions, open_store
from scrapy_neardup.stores.redis import codec
from scrapy_neardup.stores.redis import store as redis
from scrapy_neardup.stores.redis.codec import TAG_BYTES
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Decision, Page, Reason

K = 3
MATCHINGS = [
    Matching(by_distance=False, features=4, shared_features=2),
    Matching(features=4, text_bits=128, named_bits=64),
    Matching(features=1, text_bits=512, named_bits=64),
]
CONFIRMED = MATCHINGS[1]
NO_BODY = b"\0\0\0\x0f"
LEFT = {"schema", "counters", "sweep", "body", "bodies", "free"}
"""What a namespace still has when all its entries have ended: the rest is for the next ones."""


class Alike(Site):
    """Pages whose features all begin alike."""

    def __init__(self, seed: int, matching: Matching) -> None:
        super().__init__(seed, matching)
        # Each start leads to fewer entries than are listed under one.
        starts = [self.rng.getrandbits(32) & ~0xFFF00 for _ in range(75)]
        self.features = [start << 32 | self.rng.getrandbits(32) for start in 2 * starts]

    def _features(self, centre: Page, other: Page) -> tuple[int, ...]:
        return tuple(self.rng.choices(self.features, k=self.matching.features))


BODY = stored_size((0, 0))
"""Where the sketches begin in evidence."""


async def crawl(server: RedisServer, matching: Matching, pages: int, known: int) -> int:
    """Judge pages as the model does, with ids of which so many are known; return the kept."""
    site, decide = Alike(pages, matching), by_evidence(matching)
    model = ModelStore(K, matching, decide=decide)
    rng = site.rng
    options = StoreOptions(max_distance=K, matching=matching)
    async with RedisStore(server.uri, options, layout=Layout(K, 4, split=4)) as store:
        for number in range(pages):
            arrival = replace(site.page(), id=rng.randrange(known))
            theirs = model.check_and_add(arrival)
            assert await store.check_and_add(arrival, decide(arrival)) == theirs, number
            one = rng.randrange(known)
            if rng.random() < 0.3:
                assert await store.forget(one) == model.forget(one)
            elif rng.random() < 0.3:
                await store.confirm(one)
                model.confirm(one)
        assert await counts(store) == model.counts()
        held, pending, _ = model.counts()
        assert check_structure(server) == held
    return held - pending


def trees(server: RedisServer) -> dict[str, dict[bytes, object]]:
    """Everything that the namespace has: tree of keys -> key -> value."""
    client = server.client()
    readers = {b"hash": client.hgetall, b"string": client.get, b"zset": client.zcard}
    found: dict[str, dict[bytes, object]] = {}
    for key in client.scan_iter("nd:default:*", count=1000):
        kind = client.type(key)
        value = client.lrange(key, 0, -1) if kind == b"list" else readers[kind](key)
        found.setdefault(key.decode().split(":")[2], {})[key] = value
    return found


def entries(tree: dict[bytes, dict[bytes, bytes]], width: int) -> list[bytes]:
    """All entries of a tree of buckets, with the first bytes, which hash and field tell."""
    return [
        bytes.fromhex(key.decode().rpartition(":")[2]) + name[1:2] + bucket[at : at + width]
        for key, fields in tree.items()
        for name, bucket in fields.items()
        if len(bucket) > 1
        for at in range(0, len(bucket), width)
    ]


def check_structure(server: RedisServer) -> int:
    """Each body is an entry's or free, features lead to entries; return how many there are."""
    held = trees(server)
    records = entries(held.get("page", {}), 6 + 16 + TAG_BYTES)
    places = {record[-4:]: record[:8] for record in records}
    places.pop(NO_BODY, None)
    assert {entry[4:] for entry in entries(held.get("f", {}), 6)} <= set(places)
    numbers: dict[int, list[int]] = {}
    for place in places:
        number, low = divmod(int.from_bytes(place, "big"), 16)
        numbers.setdefault(low // 2, []).append(number)
    for v, count in held.get("bodies", {}).get(b"nd:default:bodies", {}).items():
        free = held.get("free", {}).get(b"nd:default:free:" + v, [])
        assert sorted([*numbers.get(int(v), []), *map(int, free)]) == list(range(int(count)))
    return len(records)


def in_turn(number: int, matching: Matching = CONFIRMED, *, short: bool = False) -> Page:
    """Return a page that resembles no other."""
    exact = {"exact": True, "features": ()} if short else {}
    return unique_page(spread(number + 1), number, matching, **exact)


@pytest.mark.parametrize(
    ("binary", "matching"),
    [
        # Another server differs in its commands and its Lua: what the matching is, is one to it.
        pytest.param(
            binary,
            matching,
            marks=pytest.mark.stress if number and matching is not CONFIRMED else (),
        )
        for number, binary in enumerate(all_binaries())
        for matching in MATCHINGS
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("pages", "known"), [(300, 40), pytest.param(6000, 100, marks=pytest.mark.stress)]
)
def test_verdicts_are_those_of_the_model_and_nothing_is_left(
    pages, known, matching, binary, monkeypatch
):
    # Features that begin alike do so in the store too: they share buckets, and more.
    as_they_are = lambda page, *_: [feature.to_bytes(8, "big") for feature in page.features]
    monkeypatch.setattr(codec, "feature_keys", as_they_are)
    with RedisServer(binary=binary) as server:
        kept = asyncio.run(crawl(server, matching, pages, known))
        assert check_structure(server) == kept  # what was pending, close withdrew


# What ends


@on("redis")
async def test_pages_that_come_take_the_room_of_those_that_left(place):
    server = shared_server()
    async with open_store(server.uri, matching=CONFIRMED) as store:
        for turn in range(3):
            pages = [in_turn(1000 * turn + n, short=n % 2 == 1) for n in range(300)]
            await asyncio.gather(*map(store.check_and_add, pages))
            assert check_structure(server) == 300
            for each in pages:
                assert await store.forget(each.id) == 0
            held = trees(server)
            assert set(held) <= LEFT
            assert [len(held["body"]), len(held["free"])] == [1, 1]


@on("redis")
async def test_chunks_follow_each_other(place):
    large = Matching(features=8, text_bits=8192, named_bits=64)
    server = shared_server()
    pages = [in_turn(number, large) for number in range(100)]
    async with open_store(server.uri, matching=large) as store:
        for each in pages:
            assert (await store.check_and_add(each)).decision is Decision.NEW
            await store.confirm(each.id)
        for each in pages:
            found = await store.check_and_add(replace(each, id=each.id ^ 1, fingerprint=0))
            assert (found.match.page_id, found.match.resemblance) == (each.id, 1.0)
    chunks = trees(server)["body"]
    assert sorted(chunks) == [b"nd:default:body:1:%d" % n for n in range(2)]
    assert len({len(chunk) for chunk in chunks.values()}) == 1
    assert check_structure(server) == 100


@on("redis")
async def test_what_lapsed_or_expired_leaves_nothing(monkeypatch, place):
    monkeypatch.setattr(redis, "_SWEEP_PAUSE", 0.002)
    monkeypatch.setattr(redis, "LEASE", 0.5)
    server = shared_server()
    async with open_store(server.uri, matching=CONFIRMED, retention=3) as store:
        for number in range(30):
            each = in_turn(number)
            await store.check_and_add(each)
            if number % 2:
                await store.confirm(each.id)
            else:
                store._held.discard(each.id)  # as if its crawler had died
        again = replace(in_turn(1), id=1, fingerprint=0)
        assert (await store.check_and_add(again)).decision is Decision.DUPLICATE
        await asyncio.sleep(4.1)
        for number in range(30):
            await store.confirm(number)
        for number in (0, 1):
            again = replace(in_turn(number), id=1000 + number, fingerprint=0)
            assert (await store.check_and_add(again)).decision is Decision.NEW
            assert await store.forget(1000 + number) == 0
        async with asyncio.timeout(60):
            while (await store.stats()).pages:  # noqa: ASYNC110, there is no event
                await asyncio.sleep(0.1)
    check_structure(server)
    assert set(trees(server)) <= LEFT


# What goes wrong


@on("redis")
async def test_places_end_somewhere(place):
    server = shared_server()
    async with open_store(server.uri, matching=CONFIRMED) as store:
        server.client().hset("nd:default:bodies", "1", 2**28 - 1)
        last = in_turn(1)
        assert (await store.check_and_add(last)).decision is Decision.NEW
        assert (await store.check_and_add(in_turn(2))).reason is Reason.OVERFLOW
        again = await store.check_and_add(replace(last, id=1, fingerprint=0))
        assert (again.match.page_id, again.match.resemblance) == (last.id, 1.0)
        await store.forget(last.id)
        assert (await store.check_and_add(in_turn(3))).decision is Decision.NEW
        assert (await store.check_and_add(in_turn(4))).reason is Reason.OVERFLOW
        assert (await store.stats()).overflowed == 2


async def test_a_full_server_is_left_as_it_was(server):
    client = server.client()
    pages = [in_turn(number) for number in range(40)]
    async with open_store(server.uri, matching=CONFIRMED) as store:
        for each in pages[:20]:
            await store.check_and_add(each)
            await store.confirm(each.id)
        client.config_set("maxmemory", "1")
        before = trees(server)
        for each in (*pages[20:], replace(pages[0], evidence=pages[20].evidence)):
            with pytest.raises(StoreUnavailableError, match="is full"):
                await store.check_and_add(each)
        assert trees(server) == before
        client.config_set("maxmemory", "0")
        for each in pages[20:]:
            assert (await store.check_and_add(each)).decision is Decision.NEW
    assert check_structure(server) == 20


@on_every_binary
def test_a_server_that_forgets_keys_keeps_answering(binary):
    """Whatever it evicts, no call fails, and no page repeats one whose evidence is gone."""

    async def scenario(server: RedisServer) -> None:
        client, chance = server.client(), random.Random(1)
        async with open_store(server.uri, matching=CONFIRMED) as store:
            for number in range(200):
                each = in_turn(number, short=number % 2 == 1)
                assert (await store.check_and_add(each)).decision is Decision.NEW
                if chance.random() < 0.5:
                    await store.confirm(each.id)
                before = chance.randrange(max(0, number - 50), number + 1)
                older = in_turn(before, short=before % 2 == 1)
                if chance.random() < 0.3:
                    await store.forget(older.id)
                head = Evidence(rows=2 + number, path=2 + number).pack(CONFIRMED.sketch)
                text = in_turn(10**6 + number, short=before % 2 == 1).evidence[BODY:]
                other = replace(older, id=chance.getrandbits(64), evidence=head[:BODY] + text)
                assert (await store.check_and_add(other)).decision is Decision.NEW
                await store.forget(other.id)
                if number % 5 == 0 and (key := client.randomkey()) and b"schema" not in key:
                    client.delete(key)  # as eviction does
                if number % 20 == 0:  # the small ones, which chance seldom meets
                    trees = ("bodies", "free:1", "free:2", "body:1:0", "body:2:0", "pending")
                    client.delete(f"nd:default:{chance.choice(trees)}")

    with RedisServer(binary=binary) as server:
        asyncio.run(scenario(server))
