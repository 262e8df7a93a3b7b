"""Features and evidence in a cluster: what they cost, and that nothing of them is left behind."""

import asyncio
import math
from dataclasses import replace

import pytest
from matching_pages import own_evidence, unique_page
from redis_servers import shared_cluster
from store_registry import counts

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import Matching, StoreOptions
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.stores.redis import namespace
from scrapy_neardup.stores.redis import store as redis_store
from scrapy_neardup.stores.redis.calls import sha
from scrapy_neardup.stores.redis.cluster import clusterstore as protocol
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.verdict import Decision, Page, Reason

BOTH = Matching(features=4, text_bits=1024, named_bits=64)
BY_FEATURES = Matching(by_distance=False, features=3)


class Counting(ClusterCalls):
    """Calls that count themselves, and how many of them had to wait for each other."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.reset()

    def reset(self):
        self.made = self.round_trips = 0

    async def make(self, command, item=()):
        if command[1] == sha("over"):  # no page waits for that
            return await super().make(command, item)
        self.made += 1
        turn = self.round_trips + 1
        reply = await super().make(command, item)
        self.round_trips = max(self.round_trips, turn)
        return reply


class Mortal(ClusterCalls):
    """Calls of a crawler that dies before the one of this number, or after it."""

    left = math.inf
    executes_last = False

    async def make(self, command, item=()):
        self.left -= 1
        if self.left < 0 or (self.left == 0 and not self.executes_last):
            raise StoreUnavailableError("dead")
        reply = await super().make(command, item)
        if self.left == 0:
            raise StoreUnavailableError("dead")
        return reply


def store_of(uri: str, matching: Matching, calls=ClusterCalls, **options) -> RedisClusterStore:
    kind = type("Store", (RedisClusterStore,), {"calls_class": calls})
    return kind(uri, StoreOptions(matching=matching, **options))


def page(page_id: int, seed: int, **more: object) -> Page:
    return unique_page(page_id, seed, BOTH, **more)


def unlike(page_id: int, seed: int, **more: object) -> Page:
    """Return a page whose text says no to that of this seed."""
    return page(page_id, seed, evidence=own_evidence(10_000 + page_id, BOTH), **more)


async def settle(store: RedisClusterStore) -> None:
    """Record the parameters in all homes; else the first call of each would."""
    for home in store.homes:
        await store.agree(home)


async def quiet(store: RedisClusterStore) -> None:
    """Wait for what is done beside judging."""
    while jobs := list(store._background._jobs):
        await asyncio.gather(*jobs)
        await asyncio.sleep(0)  # their callbacks take them away


def listed(bucket: bytes, size: int) -> list[bytes]:
    """Return the names in a bucket, of whose entries each has so many bytes."""
    return [bucket[at : at + size][-12:] for at in range(0, len(bucket), size)]


def held() -> dict[str, set[bytes]]:
    """Return what the namespace holds beside counters, by kind: keys, and names in buckets."""
    found: dict[str, set[bytes]] = {}
    for client in (node.client() for node in shared_cluster().masters):
        for key in client.scan_iter("{nd:default:*"):
            _, _, name, *rest = key.strip(b"{}").split(b":", 3)
            is_home = name.endswith(b"}")
            kind = (rest[0].split(b":")[0] if is_home else name).decode()
            if kind not in {"schema", "counters"}:
                size = 20 if kind[0] == "t" else 15
                values = [key] if is_home else listed(client.get(key), size)
                found.setdefault(kind, set()).update(values)
    return found


@pytest.mark.parametrize(
    ("matching", "buckets"),
    [(Matching(), 4), (BOTH, 8), (replace(BOTH, by_distance=False), 4)],
    ids=str,
)
async def test_four_round_trips_and_three_where_it_repeats_another(matching, buckets, uri):
    async with store_of(uri, matching, Counting) as store:
        await settle(store)

        async def judged(arrived: Page) -> tuple[Decision, int, int]:
            await quiet(store)
            store._calls.reset()
            verdict = await store.check_and_add(arrived)
            return verdict.decision, store._calls.round_trips, store._calls.made

        ours = page(1, 1) if matching.features else page(1, 1, features=())
        # Its own entry and its buckets; its record; its buckets; the commit.
        assert await judged(ours) == (Decision.NEW, 4, 1 + buckets + 1 + buckets + 1)
        # Its own entry and its buckets; the other one; the count.
        assert await judged(replace(ours, id=2)) == (Decision.DUPLICATE, 3, 1 + buckets + 1 + 1)
        if matching.sketch:
            assert await judged(unlike(3, 1)) == (Decision.NEW, 5, 2 * buckets + 4)


async def test_a_page_that_reaches_no_decision_is_an_error(monkeypatch, uri):
    monkeypatch.setattr(protocol, "ATTEMPT_LIMIT", 0.2)
    async with store_of(uri, BOTH) as store:
        monkeypatch.setattr(store, "_try", lambda *_: asyncio.Event().wait())
        with pytest.raises(StoreUnavailableError, match="reached no decision in"):
            await store.check_and_add(page(1, 1))


async def a_crawl(store: RedisClusterStore) -> list[Page]:
    """Let all happen that can to a page; return those that are kept."""
    kept = [page(n, n) for n in range(30)]
    kept += [page(100 + n, 100 + n, fingerprint=5) for n in range(MAX_COMPARED + 4)]
    others = {"features": (91, 92, 93, 94)}
    for reason, pages in (
        (Reason.UNMATCHED, kept),
        (Reason.NEAR, [replace(each, id=1000 + each.id, **others) for each in kept[:20]]),
        (Reason.SAME_PAGE, kept[:5]),
        (Reason.CHANGED, [page(each.id, 900 + each.id) for each in kept[5:10]]),
        (Reason.NEAR, [page(each.id, 1) for each in kept[10:12]]),  # withdrawn
    ):
        for each in pages:
            assert (await store.check_and_add(each)).reason is reason
    return kept


async def test_nothing_is_left_of_what_is_forgotten(uri):
    async with store_of(uri, BOTH) as store:
        for each in await a_crawl(store):
            await store.forget(each.id)
        await quiet(store)
        assert held() == {}
        assert await counts(store) == (0, 0, 0)


async def test_nothing_is_left_of_what_was_not_seen_for_long(monkeypatch, uri):
    monkeypatch.setattr(redis_store, "SWEEP_PAUSE", 0.001)
    async with store_of(uri, BOTH, retention=3600) as store:
        other_home = page(129 << 56, 800)
        assert (await store.check_and_add(other_home)).reason is Reason.UNMATCHED
        for each in [other_home, *await a_crawl(store)]:
            await store.confirm(each.id)
    async with store_of(uri, BOTH, retention=0.1) as store:
        async with asyncio.timeout(60):
            while (await store.stats()).pages or held():  # noqa: ASYNC110
                await asyncio.sleep(0.3)


LIKE = {
    "new": [Decision.NEW, Decision.NEW],
    "refused": [Decision.DUPLICATE, Decision.NEW],
    "duplicate": [Decision.DUPLICATE, Decision.NEW],
    "changed": None,
}
"""What becomes of a page like that at which a crawler died, and of one that only seems so."""


class Mourners:
    """A crawler that lives, and others that die at a call; pages of a seed are alike."""

    def __init__(self, uri: str, story: str, *, executes_last: bool) -> None:
        self.uri, self.story, self.executes_last = uri, story, executes_last
        self.alive = store_of(uri, BOTH)
        self.alive._renew = self._nothing  # it would give its pages the lease of the one that dies

    async def _nothing(self) -> None:
        pass

    async def die(self, last: int, arrived: Page) -> bool:
        """Let a crawler die at its call of this number; False if it needs fewer."""
        store = store_of(self.uri, BOTH, Mortal)
        await store.open()
        store._calls.left, store._calls.executes_last = last, self.executes_last
        try:
            await store.check_and_add(arrived)
        except StoreUnavailableError:
            return True
        finally:
            store._held.clear()
            await store.close()
        return False

    async def play(self, last: int, monkeypatch) -> bool:
        """Return whether the crawler died."""
        seed, first = 100 * last, 10 * last
        if self.story in {"refused", "duplicate"}:
            await self.alive.check_and_add(page(first + 1, seed))
        elif self.story == "changed":
            await self.alive.check_and_add(page(first, seed + 1))
        arrived = unlike(first, seed) if self.story == "refused" else page(first, seed)
        with monkeypatch.context() as patch:
            patch.setattr(namespace, "LEASE", 0.05)
            died = await self.die(last, arrived)
        await asyncio.sleep(0.08)
        like = [page(first + 5, seed), unlike(first + 4, seed), page(first + 3, seed + 1)]
        verdicts = [await self.alive.check_and_add(each) for each in like]
        if LIKE[self.story]:
            assert [each.decision for each in verdicts[:2]] == LIKE[self.story]
        for number in range(first, first + 6):
            await self.alive.forget(number)
        await quiet(self.alive)
        return died


@pytest.mark.parametrize(("story", "executes_last"), [
    *((story, False) for story in LIKE),
    ("new", True),
    *(pytest.param(story, True, marks=pytest.mark.stress) for story in LIKE if story != "new"),
])  # fmt: skip
async def test_whatever_call_is_the_last_one_pages_like_it_are_judged_rightly(
    story, executes_last, uri, monkeypatch
):
    """And what the dead crawler left is cleared away by those that meet it."""
    monkeypatch.setattr(protocol, "ATTEMPT_LEASE", 0.05)
    mourners = Mourners(uri, story, executes_last=executes_last)
    async with mourners.alive:
        await settle(mourners.alive)
        last = 1
        while await mourners.play(last, monkeypatch):
            last += 1
        assert last > 10
        # What no page met is the sweep's.
        assert set(held()) <= {"p", "pending"}
