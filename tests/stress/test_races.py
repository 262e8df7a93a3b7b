"""Races on real servers, while connections, scripts, slots and processes go."""

from __future__ import annotations

import asyncio
import os
import random

import pytest
import redis
from cluster_stress import Storm
from race import race
from redis_servers import RedisCluster, RedisServer, running_cluster

from scrapy_neardup.stores import Matching

PAGES = int(os.environ.get("STRESS_PAGES", "20000"))
"""Pages of a race on one Redis; a cluster gets a fifth of them."""
PLAIN = Matching()
CONFIRMED = Matching(features=4, bins=64, bits=4)
CALLED = {PLAIN: "", CONFIRMED: ", features and evidence"}

pytestmark = [pytest.mark.stress, pytest.mark.timeout(3600)]


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
    place.stop(9)
    place.start()
    while True:
        try:
            place.client().ping()
        except redis.exceptions.BusyLoadingError:
            await asyncio.sleep(0.05)
        else:
            return


async def clients_reset(_place, stores) -> None:
    await random.choice(stores)._client.aclose()


async def slots_moved(place, _stores) -> None:
    source, target = random.sample(place.masters, 2)
    for slot in random.sample(range(16384), 3):
        try:
            await asyncio.to_thread(place.move_slot, slot, source, target)
        except redis.ResponseError:  # it is another one's
            continue


def again_and_again(trouble, place, pause=1.0):
    async def run(stores) -> None:
        while True:
            await asyncio.sleep(pause * random.random())
            await trouble(place, stores)

    return run


def check(what: str, uri: str, storm: Storm, trouble, tried) -> None:
    result = asyncio.run(race(uri, storm, trouble))
    found = result.findings
    tried(
        what,
        found.pages,
        both=len(found.both_kept) + len(found.both_dropped),
        nothing=len(found.dropped_for_nothing),
        errors=result.errors,
        longest=result.longest,
    )
    assert not result.raised
    assert found.outcomes["new"]
    assert found.outcomes["duplicate"]
    assert found.both_kept == found.both_dropped == found.dropped_for_nothing == []
    assert result.longest < 70


@pytest.mark.parametrize("matching", [PLAIN, CONFIRMED], ids=["plain", "confirmed"])
@pytest.mark.parametrize(
    "trouble", [calm, connections_killed, scripts_flushed, stopped, restarted]
)
def test_on_one_redis(trouble, matching, tried):
    storm = Storm(seed=random.randrange(10**6), pages=PAGES, matching=matching)
    log = ("--appendonly", "yes", "--appendfsync", "always") if trouble is restarted else ()
    with RedisServer(*log) as server:
        what = f"race on one Redis: {trouble.__name__.replace('_', ' ')}"
        check(
            f"{what}{CALLED[matching]}", server.uri, storm, again_and_again(trouble, server), tried
        )


@pytest.mark.parametrize("matching", [PLAIN, CONFIRMED], ids=["plain", "confirmed"])
@pytest.mark.parametrize(
    "trouble",
    [calm, connections_killed, scripts_flushed, stopped, clients_reset, slots_moved],
)
def test_on_a_cluster(trouble, matching, tried):
    storm = Storm(seed=random.randrange(10**6), pages=PAGES // 5, matching=matching, tasks=16)
    with running_cluster() as cluster:
        what = f"race on a cluster: {trouble.__name__.replace('_', ' ')}"
        check(
            f"{what}{CALLED[matching]}",
            cluster.uri,
            storm,
            again_and_again(trouble, cluster),
            tried,
        )
