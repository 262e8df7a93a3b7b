"""Races on real servers, while connections, scripts, slots and processes go."""

import asyncio
import os
import random
from contextlib import suppress
from functools import partial
from itertools import count
from statistics import median

import pytest
import redis
from cluster_stress import Storm
from race import Race, race
from race_processes import race_of_processes
from redis_servers import RedisCluster, RedisServer, running_cluster
from tried import row

from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.verdict import Page

PAGES = int(os.environ.get("STRESS_PAGES", "20000"))
"""Pages of a race on one Redis with one kind of trouble; a cluster gets a fifth of them."""
ALL_PAGES = int(os.environ.get("STRESS_ALL_PAGES", "20000"))
"""The same of the races with every kind of trouble, half of them with features and evidence."""
TROUBLE_EVERY, KILL_EVERY = 100, 500
"""Pages between two troubles, and between two crawlers killed, on average."""
SLOTS_MOVED = 3
"""Slots that are moved at a time."""
LEG = 10_000
"""Pages of a race that are met, and judged, at a time, on a server of their own."""
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
PLAIN = Matching()
CONFIRMED = Matching(features=4, text_bits=256, named_bits=64)
LONGEST_CALL = 70
"""Seconds: how long a store may try, and some more."""
CALLED = {PLAIN: "", CONFIRMED: ", features and evidence"}

pytestmark = [pytest.mark.stress, pytest.mark.timeout(86_400)]


def nodes(place: RedisServer | RedisCluster) -> list[RedisServer]:
    return place.masters if isinstance(place, RedisCluster) else [place]


async def calm(_place, _stores) -> None:
    pass


async def connections_killed(place, _stores) -> None:
    for node in nodes(place):
        node.client().client_kill_filter(_type="normal", skipme=True)


async def scripts_flushed(place, _stores) -> None:
    for node in nodes(place):
        node.client().script_flush()


async def stopped(place, _stores) -> None:
    node = random.choice(nodes(place))
    node.pause()
    await asyncio.sleep(0.5)
    node.resume()


async def restarted(place, _stores) -> None:
    """Kill a server, of a cluster a master, and start it anew; its log is whole."""
    node = random.choice(nodes(place))
    node.stop(9)
    node.start()
    while True:
        try:
            node.client().ping()
        except redis.exceptions.BusyLoadingError:
            await asyncio.sleep(0.05)
        else:
            return


async def clients_reset(_place, stores) -> None:
    await random.choice(stores)._client.aclose()


async def slots_moved(place, _stores) -> None:
    """Move slots that hold something."""
    source, target = random.sample(place.masters, 2)
    slots = place.slots_in_use(source)
    for slot in random.sample(slots, min(SLOTS_MOVED, len(slots))):
        await asyncio.to_thread(place.move_slot, slot, source, target)


def check(what: str, tried, *races: Race) -> None:
    found, calls = [each.findings for each in races], [each.calls for each in races]
    longest = max(each.longest for each in calls)
    tried(
        what,
        sum(each.pages for each in found),
        both=sum(len(each.both_kept) + len(each.both_dropped) for each in found),
        nothing=sum(len(each.dropped_for_nothing) for each in found),
        errors=sum(each.errors for each in calls),
        longest=longest,
    )
    for each in found:
        assert each.outcomes["new"]
        assert each.outcomes["duplicate"]
        assert each.both_kept == each.both_dropped == each.dropped_for_nothing == []
    assert not any(each.raised for each in calls)
    assert longest < LONGEST_CALL


def called(what: str, trouble, matching: Matching) -> str:
    return f"{what}: {trouble.__name__.replace('_', ' ')}{CALLED[matching]}"


@pytest.mark.parametrize("matching", [PLAIN, CONFIRMED], ids=["plain", "confirmed"])
@pytest.mark.parametrize(
    "trouble", [calm, connections_killed, scripts_flushed, stopped, restarted]
)
async def test_on_one_redis(trouble, matching, tried):
    storm = Storm(seed=random.randrange(10**6), pages=PAGES, matching=matching)
    with RedisServer(*(DURABLE if trouble is restarted else ())) as server:
        result = await race(server.uri, storm, partial(trouble, server), TROUBLE_EVERY)
    check(called("race on one Redis", trouble, matching), tried, result)


@pytest.mark.parametrize("matching", [PLAIN, CONFIRMED], ids=["plain", "confirmed"])
@pytest.mark.parametrize("scope", ["all", "host"])
@pytest.mark.parametrize(
    "trouble", [calm, connections_killed, scripts_flushed, stopped, clients_reset, slots_moved]
)
async def test_on_a_cluster(trouble, scope, matching, tried):
    seed, where = random.randrange(10**6), "a cluster" if scope == "all" else "a host of a cluster"
    storm = Storm(seed=seed, pages=PAGES // 5, matching=matching, tasks=16, scope=scope)
    with running_cluster() as cluster:
        result = await race(cluster.uri, storm, partial(trouble, cluster), TROUBLE_EVERY)
    check(called(f"race on {where}", trouble, matching), tried, result)


def all_of(*troubles):
    async def one_of_them(place, stores) -> None:
        await random.choice(troubles)(place, stores)

    return one_of_them


ON_ONE = all_of(connections_killed, scripts_flushed, stopped, restarted)
ON_MASTERS = all_of(connections_killed, scripts_flushed, stopped, restarted, slots_moved)
GROUNDS = {
    "one Redis": (RedisServer, "all", ON_ONE, ALL_PAGES, 64),
    "a cluster": (running_cluster, "all", ON_MASTERS, ALL_PAGES // 5, 16),
    "a host of a cluster": (running_cluster, "host", ON_MASTERS, ALL_PAGES // 5, 16),
}
"""What is run, its scope, what goes wrong there, pages, groups of pages at a time."""


@pytest.mark.parametrize("matching", [PLAIN, CONFIRMED], ids=["plain", "confirmed"])
@pytest.mark.parametrize("ground", GROUNDS)
async def test_processes_and_servers_are_killed(ground, matching, tried):
    """All kinds of trouble, and crawlers killed while they judge."""
    running, scope, trouble, pages, tasks = GROUNDS[ground]
    pages //= 2
    what = f"race on {ground}: everything, crawlers killed{CALLED[matching]}"
    races: list[Race] = []
    for start in range(0, pages, LEG):
        leg, seed = min(LEG, pages - start), random.randrange(10**6)
        storm = Storm(seed=seed, pages=leg, matching=matching, tasks=tasks, scope=scope)
        with running(*DURABLE) as place:
            one = await race_of_processes(
                place.uri, storm, partial(trouble, place, []), TROUBLE_EVERY, KILL_EVERY
            )
        races.append(one)
        print(f"seed {seed}, {one.killed} killed", flush=True)
        check(what, so_far, *races)
    assert any(each.killed for each in races)
    check(what, tried, *races)


def so_far(*what, **counts) -> None:
    """Show the row as it is by now (``pytest -s``), should the run be stopped."""
    print(*row(*what, **counts), sep=" | ", flush=True)


RESET_AFTER, RECOVERED_WITHIN, STEADY = 6, 5, 0.9
"""Seconds; seconds; share of the calls a second before the reset."""
TELLING = 200
"""Calls a second below which a share of them says nothing."""


async def test_a_reset_client_is_soon_as_fast_as_before(tried):
    """Calls a second, in seconds that begin every quarter of one."""

    async def run(uri: str) -> list[float]:
        clock = asyncio.get_running_loop().time
        made: list[float] = []
        async with open_store(uri, namespace="reset") as store:
            fingerprints = (n * 0x9E3779B97F4A7C15 % 2**64 for n in count(1))
            start = clock()

            async def judge() -> None:
                while clock() < start + RESET_AFTER + RECOVERED_WITHIN:
                    one = next(fingerprints)
                    with suppress(StoreError):
                        await store.check_and_add(Page(id=one, fingerprint=one))
                        made.append(clock() - start)

            judging = asyncio.gather(*(judge() for _ in range(64)))
            await asyncio.sleep(RESET_AFTER)
            await store._client.aclose()
            await judging
        return made

    def calls(made: list[float], begin: float) -> int:
        return sum(begin <= each < begin + 1 for each in made)

    with running_cluster() as cluster:
        made = await run(cluster.uri)
    before = median(calls(made, begin / 4) for begin in range(4, 4 * (RESET_AFTER - 1)))
    if before < TELLING:
        pytest.skip(f"{before} calls a second: too busy a machine to tell")
    recovered = (
        begin / 4
        for begin in range(4 * (RECOVERED_WITHIN - 1) + 1)
        if calls(made, RESET_AFTER + begin / 4) >= STEADY * before
    )
    after = next(recovered, None)
    assert after is not None
    tried("reset under load: nine tenths of the calls a second again", len(made), longest=after)
