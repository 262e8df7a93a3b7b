"""Races on real servers, while connections, scripts, slots and processes go."""

import asyncio
import os
import random
from functools import partial

import pytest
import redis
from cluster_stress import Storm
from race import Race, race, race_of_processes
from redis_servers import RedisCluster, RedisServer, running_cluster
from store_registry import healed
from tried import row

from scrapy_neardup.stores import Matching

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
    await healed(lambda: asyncio.to_thread(node.client().ping), redis.exceptions.BusyLoadingError)


async def clients_reset(_place, stores) -> None:
    await random.choice(stores)._calls.client.aclose()


async def slots_moved(place, _stores) -> None:
    """Move slots that hold something."""
    source, target = random.sample(place.masters, 2)
    slots = place.slots_in_use(source)
    for slot in random.sample(slots, min(SLOTS_MOVED, len(slots))):
        await asyncio.to_thread(place.move_slot, slot, source, target)


def check(what: str, tried, *races: Race) -> None:
    found, calls = [each.findings for each in races], [each.calls for each in races]
    longest = max(each.longest for each in calls)
    counts = {
        "both": sum(len(each.both_kept) + len(each.both_dropped) for each in found),
        "nothing": sum(len(each.dropped_for_nothing) for each in found),
        "errors": sum(each.errors for each in calls),
    }
    tried(what, sum(each.pages for each in found), longest=longest, **counts)
    for each in found:
        assert each.outcomes["new"]
        assert each.outcomes["duplicate"]
        assert each.both_kept == each.both_dropped == each.dropped_for_nothing == []
    assert not any(each.raised for each in calls)
    assert longest < LONGEST_CALL


async def one_of(troubles, place, stores) -> None:
    await random.choice(troubles)(place, stores)


ON_ONE = [calm, connections_killed, scripts_flushed, stopped, restarted]
ON_MASTERS = [calm, connections_killed, scripts_flushed, stopped, clients_reset, slots_moved]
EVERYTHING = [connections_killed, scripts_flushed, stopped, restarted]
GROUNDS = {
    "one Redis": (RedisServer, "all", ON_ONE, EVERYTHING, 1, 64),
    "a cluster": (running_cluster, "all", ON_MASTERS, [*EVERYTHING, slots_moved], 5, 16),
    "a host of a cluster": (
        running_cluster, "host", ON_MASTERS, [*EVERYTHING, slots_moved], 5, 16,
    ),
}  # fmt: skip
"""What is run, its scope, what goes wrong there alone and together, the part of the pages, groups
of pages at a time."""
both_matchings = pytest.mark.parametrize(
    "matching", [PLAIN, CONFIRMED], ids=["plain", "confirmed"]
)


@both_matchings
@pytest.mark.parametrize(
    ("ground", "trouble"), [(name, each) for name, found in GROUNDS.items() for each in found[2]]
)
async def test_one_trouble(ground, trouble, matching, tried):
    running, scope, _, _, part, tasks = GROUNDS[ground]
    pages, seed = PAGES // part, random.randrange(10**6)
    storm = Storm(seed=seed, pages=pages, matching=matching, tasks=tasks, scope=scope)
    with running(*(DURABLE if trouble is restarted else ())) as place:
        result = await race(place.uri, storm, partial(trouble, place), TROUBLE_EVERY)
    what = trouble.__name__.replace("_", " ")
    check(f"race on {ground}: {what}{CALLED[matching]}", tried, result)


@both_matchings
@pytest.mark.parametrize("ground", GROUNDS)
async def test_processes_and_servers_are_killed(ground, matching, tried):
    """All kinds of trouble, and crawlers killed while they judge."""
    running, scope, _, troubles, part, tasks = GROUNDS[ground]
    pages = ALL_PAGES // part // 2
    what = f"race on {ground}: everything, crawlers killed{CALLED[matching]}"
    races: list[Race] = []
    for start in range(0, pages, LEG):
        leg, seed = min(LEG, pages - start), random.randrange(10**6)
        storm = Storm(seed=seed, pages=leg, matching=matching, tasks=tasks, scope=scope)
        with running(*DURABLE) as place:
            one = await race_of_processes(
                place.uri, storm, partial(one_of, troubles, place, []), TROUBLE_EVERY, KILL_EVERY
            )
        races.append(one)
        print(f"seed {seed}, {one.killed} killed", flush=True)
        check(what, so_far, *races)
    assert any(each.killed for each in races)
    check(what, tried, *races)


def so_far(*what, **counts) -> None:
    """Show the row as it is by now (``pytest -s``), should the run be stopped."""
    print(*row(*what, **counts), sep=" | ", flush=True)
