"""A cluster whose scopes are hosts: each is judged as on one Redis, and lies on one master."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest
from redis_servers import running_cluster, shared_cluster
from store_registry import PLACES, counts, healed, page, spread

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.partitions import PartitionedStore
from scrapy_neardup.verdict import Decision, Page

HOSTS = [f"{number}.example" for number in range(40)]
BY_HOST = {"schema": {"scope": "host"}}


@pytest.fixture
def uri():
    """An empty cluster."""
    with PLACES["redis-cluster"]() as place:
        yield place.uri


def of(host: str, number: int, fingerprint: int) -> Page:
    """Return a page of a host, of which the id tells the number."""
    return page(HOSTS.index(host) << 32 | number, fingerprint, scope=host)


@pytest.mark.parametrize(
    ("scope", "kind"),
    [
        ("all", RedisClusterStore),
        ("language", RedisClusterStore),
        ("host", PartitionedStore),
        ("domain+language", PartitionedStore),
        ("project.scopes.of", RedisClusterStore),
    ],
)
def test_the_scope_says_how_a_cluster_is_used(scope, kind, uri):
    assert type(open_store(uri, schema={"scope": scope})) is kind


async def test_hosts_are_apart_and_spread_over_the_masters(uri):
    async with open_store(uri, **BY_HOST) as one, open_store(uri, **BY_HOST) as two:
        for decided in (Decision.NEW, Decision.SEEN):
            verdicts = await asyncio.gather(
                *(one.check_and_add(of(host, 1, spread(1))) for host in HOSTS)
            )
            assert {each.decision for each in verdicts} == {decided}
        for host in HOSTS:
            verdict = await two.check_and_add(of(host, 2, spread(1) ^ 7))
            assert verdict.match.page_id == of(host, 1, 0).id
        assert await counts(one) == (len(HOSTS), len(HOSTS), len(HOSTS))
        await one.confirm(of(HOSTS[0], 1, 0).id)
        assert await one.forget(of(HOSTS[0], 1, 0).id) == 0  # it is final
        assert await one.forget(of(HOSTS[1], 1, 0).id) == 1
        assert await counts(two) == (len(HOSTS) - 1, len(HOSTS) - 2, len(HOSTS) - 1)
    used = [
        {key[: key.index(b"}")] for key in node.client().scan_iter("*page:*")}
        for node in shared_cluster().masters
    ]
    assert all(used) is False  # what was pending went
    assert sum(map(len, used)) == 1


async def test_all_that_leads_to_a_page_lies_in_its_home(uri):
    async with open_store(uri, **BY_HOST) as store:
        for host in HOSTS:
            await store.check_and_add(of(host, 1, spread(1)))
        homes = set()
        for node in shared_cluster().masters:
            mine = {key.split(b"}")[0] for key in node.client().scan_iter("*:t1*")}
            assert mine
            homes |= mine
        assert homes == {home.split("}")[0].encode() for home in map(store._home, _pages())}


def _pages() -> list[Page]:
    return [of(host, 1, 0) for host in HOSTS]


async def test_a_page_whose_reply_was_lost_is_added_once(uri):
    """The call is made again: it finds the page there, and the page is new all the same."""
    async with open_store(uri, **BY_HOST) as store:
        call, lost = store._calls.call, 0

        async def twice(verb, *arguments):
            nonlocal lost
            lost += verb == "check_and_add"
            await call(verb, *arguments)
            return await call(verb, *arguments)

        store._calls.call = twice
        assert (await store.check_and_add(of(HOSTS[0], 1, 5))).decision is Decision.NEW
        store._calls.call = call
        assert lost
        assert await counts(store) == (1, 1, 0)
        assert (await store.check_and_add(of(HOSTS[0], 1, 5))).decision is Decision.SEEN


async def test_a_master_that_was_emptied_keeps_its_hosts_once_more(uri):
    async with open_store(uri, **BY_HOST) as store:
        for host in HOSTS:
            await store.check_and_add(of(host, 1, spread(1)))
            await store.confirm(of(host, 1, 0).id)
        lost = shared_cluster().masters[0].client()
        lost.flushall()
        lost.script_flush()
        found = [(await store.check_and_add(of(host, 2, spread(1)))).decision for host in HOSTS]
        assert {*found} == {Decision.NEW, Decision.DUPLICATE}
        assert {
            (await store.check_and_add(of(host, 3, spread(1)))).decision for host in HOSTS
        } == {Decision.DUPLICATE}


@pytest.mark.parametrize("matching", [Matching(), Matching(features=2)], ids=str)
async def test_slots_move_while_pages_are_judged(matching):
    """No call is executed while some keys of its home are here and others there."""
    with running_cluster() as cluster:
        source, target, _ = cluster.masters
        async with (
            open_store(cluster.uri, matching=matching, **BY_HOST) as one,
            open_store(cluster.uri, matching=matching, **BY_HOST) as two,
        ):
            over, moved, judged = asyncio.Event(), 0, 0

            async def move() -> None:
                nonlocal moved
                while not over.is_set():
                    for slot in cluster.slots_in_use(source)[:1]:
                        await asyncio.to_thread(cluster.move_slot, slot, source, target)
                        moved += 1
                    await asyncio.sleep(0.01)

            moving = asyncio.create_task(move())
            kept: dict[str, set[int]] = {host: set() for host in HOSTS}

            async def judge(host: str, number: int) -> None:
                """Pages of five kinds of each host arrive together at two crawlers."""
                store = (one, two)[number % 2]
                features = (number % 5, 7) if matching.features else ()
                arrived = replace(of(host, number, spread(number % 5)), features=features)
                verdict = await store.check_and_add(arrived)
                if verdict.decision is Decision.NEW:
                    kept[host].add(number % 5)
                    await store.confirm(arrived.id)
                else:
                    assert verdict.decision is Decision.DUPLICATE

            while judged < 40 or moved < 6:
                numbers = range(judged, judged + 10)
                judged += 10
                await asyncio.gather(*(judge(host, each) for host in HOSTS for each in numbers))
            over.set()
            await moving
            stats = await one.stats()
            assert stats.pages == sum(map(len, kept.values()))
            assert {len(each) for each in kept.values()} == {1 if matching.features else 5}
            assert stats.dropped == judged * len(HOSTS) - stats.pages


async def test_a_killed_master_s_replica_knows_its_hosts():
    with running_cluster(masters=3, replicas=3) as cluster:
        async with open_store(cluster.uri, **BY_HOST) as store:
            for host in HOSTS:
                await store.check_and_add(of(host, 1, spread(1)))
                await store.confirm(of(host, 1, 0).id)
            async with asyncio.timeout(60):
                while not cluster.replicated():  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            cluster.masters[0].stop(9)
            with suppress(StoreUnavailableError):
                await store.check_and_add(of(HOSTS[0], 2, spread(1)))
            for host in HOSTS:
                verdict = await healed(
                    lambda host=host: store.check_and_add(of(host, 3, spread(1)))
                )
                assert verdict.decision is Decision.DUPLICATE
