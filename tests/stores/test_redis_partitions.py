"""A cluster whose scopes are hosts: each is judged as on one Redis, and lies on one master."""

import asyncio
import time
from dataclasses import replace

import pytest
from redis.crc import key_slot
from redis_servers import running_cluster, shared_cluster
from store_registry import counts, keep, outcome, page, shrunk, spread

from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.stores.redis import store as redis_store
from scrapy_neardup.stores.redis.calls import sha
from scrapy_neardup.stores.redis.cluster.clusterstore import PartitionedStore, RedisClusterStore
from scrapy_neardup.verdict import Decision, Page

HOSTS = [f"{number}.example" for number in range(40)]
BY_HOST = {"schema": {"scope": "host"}}


def of(host: str, number: int, fingerprint: int) -> Page:
    """Return a page of a host, of which the id tells the number."""
    return page(HOSTS.index(host) << 32 | number, fingerprint, scope=host)


@pytest.mark.parametrize(("scope", "kind"), [
    ("all", RedisClusterStore), ("language", RedisClusterStore), ("host", PartitionedStore),
    ("domain+language", PartitionedStore), ("project.scopes.of", RedisClusterStore),
])  # fmt: skip
def test_the_scope_says_how_a_cluster_is_used(scope, kind, uri):
    assert type(open_store(uri, schema={"scope": scope})) is kind


async def test_hosts_are_apart_and_spread_over_the_masters(uri):
    async with open_store(uri, **BY_HOST) as one, open_store(uri, **BY_HOST) as two:
        pages = [of(host, 1, spread(1)) for host in HOSTS]
        for decided in (Decision.NEW, Decision.SEEN):
            verdicts = await asyncio.gather(*map(one.check_and_add, pages))
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
        {key[: key.index(b"}")] for key in node.client().scan_iter("*:p:*")}
        for node in shared_cluster().masters
    ]
    assert all(used) is False  # what was pending went
    assert sum(map(len, used)) == 1


async def test_a_page_that_comes_back_at_another_host_has_an_entry_at_each(uri):
    async with open_store(uri, **BY_HOST) as store:
        for number, found in ((1, (Decision.NEW, None)), (2, (Decision.DUPLICATE, 1))):
            for host in HOSTS[:2]:
                assert await outcome(store, page(number, spread(1), scope=host)) == found
                await store.confirm(1)


async def test_all_that_leads_to_a_page_lies_in_its_home(uri):
    async with open_store(uri, **BY_HOST) as store:
        pages = [of(host, 1, spread(1)) for host in HOSTS]
        await keep(store, *pages)
        clients = [node.client() for node in shared_cluster().masters]
        homes = [{key.split(b"}")[0] for key in each.scan_iter("*:t1*")} for each in clients]
        assert all(homes)
        wanted = {home.split("}")[0].encode() for home in map(store._home, pages)}
        assert set().union(*homes) == wanted


async def test_a_page_whose_reply_was_lost_is_added_once(uri):
    """The call is made again: it finds the page there, and the page is new all the same."""
    async with open_store(uri, **BY_HOST) as store:
        make, made, arrived = store._calls.make, [], of(HOSTS[0], 1, 5)

        async def twice(command, item=()):
            made.append(command[1])
            await make(command, item)
            return await make(command, item)

        store._calls.make = twice
        assert await outcome(store, arrived) == (Decision.NEW, None)
        store._calls.make = make
        assert sha("check_and_add") in made
        assert await counts(store) == (1, 1, 0)
        assert await outcome(store, arrived) == (Decision.SEEN, arrived.id)


async def test_a_master_that_was_emptied_keeps_its_hosts_once_more(uri):
    async with open_store(uri, **BY_HOST) as store:
        await keep(store, *(of(host, 1, spread(1)) for host in HOSTS))
        lost = shared_cluster().masters[0].client()
        lost.flushall()
        lost.script_flush()
        for number, found in ((2, {Decision.NEW, Decision.DUPLICATE}), (3, {Decision.DUPLICATE})):
            pages = [of(host, number, spread(1)) for host in HOSTS]
            assert {(await store.check_and_add(each)).decision for each in pages} == found


async def test_a_home_that_cannot_be_swept_keeps_no_other_from_it(uri, monkeypatch):
    monkeypatch.setattr(redis_store, "SWEEP_PAUSE", 0.002)
    async with open_store(uri, retention=1, **BY_HOST) as store:
        await keep(store, *(of(host, 1, spread(1)) for host in HOSTS))
        client = shared_cluster().masters[0].client()
        client.set(next(client.scan_iter("*:p:*")), b"\xff")  # a damaged record
        await shrunk(store, 1)


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


async def test_a_slot_that_moves_for_seconds_keeps_its_host_waiting():
    """redis-py itself gives up after half a second."""
    with running_cluster() as cluster:
        async with open_store(cluster.uri, **BY_HOST) as store:
            pages = [of(HOSTS[0], number, spread(number)) for number in range(1, 30)]
            for each in pages:
                await store.check_and_add(each)
            slot = key_slot(f"{store._home(pages[0])}counters".encode())
            source = next(node for node in cluster.masters if slot in cluster.slots_in_use(node))
            target = next(node for node in cluster.masters if node is not source)
            moving = asyncio.create_task(asyncio.to_thread(slowly, cluster, slot, source, target))
            await asyncio.sleep(0.5)
            near = [replace(each, id=each.id + 100) for each in pages]
            calls = [asyncio.create_task(store.check_and_add(each)) for each in near]
            await asyncio.sleep(1.5)
            assert not any(call.done() for call in calls)
            await moving
            verdicts = await asyncio.gather(*calls)
            assert {each.decision for each in verdicts} == {Decision.DUPLICATE}
            assert await counts(store) == (29, 29, 29)


def slowly(cluster, slot, source, target) -> None:
    """Move a slot, and pause when a part of its keys has moved."""
    clients = [node.client() for node in (source, target)]
    names = [client.execute_command("CLUSTER", "MYID") for client in clients]
    clients[1].execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
    clients[0].execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
    keys = clients[0].execute_command("CLUSTER", "GETKEYSINSLOT", slot, 40)
    migrate = ("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS")
    clients[0].execute_command(*migrate, *keys)
    time.sleep(3)
    cluster.move_slot(slot, source, target)
