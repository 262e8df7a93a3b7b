"""Storms over a real cluster: never both kept, never dropped for nothing.

``python -m pytest -m stress tests/stores/test_redis_cluster.py`` runs the long ones.
"""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from unittest.mock import AsyncMock, Mock

import pytest
from cluster_stress import Findings, Storm, judge, rage
from redis_servers import RedisCluster, running_cluster, shared_cluster
from store_registry import counts, decision, healed, keep, outcome, page, spread, until
from tried import row

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.stores.base import matched
from scrapy_neardup.stores.redis import namespace
from scrapy_neardup.stores.redis.calls import sha
from scrapy_neardup.stores.redis.cluster import clusterstore as protocol
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.cluster.rivals import Rivals
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.pages import ADDED, GONE, UNDECIDED, Met
from scrapy_neardup.verdict import Candidate, Decided, Decision, Page, Reason, Verdict


class NeverWound(RedisClusterStore):
    """Announce, look once, drop or add, and let undecided ones be. Two may be kept."""

    async def _announce(self, rivals, lease):
        key = self._attempt(rivals.name)
        await self._calls.make(("SET", key, rivals.record.stored, "PX", int(lease * 1000)))
        await self._meet(rivals, "add", rivals.places + rivals.features)
        return self._in_the_way(rivals, await self._seen(rivals))

    def _in_the_way(self, rivals, seen):
        return rivals.take(seen)


class DropIfAnythingWasSeen(NeverWound):
    """Drop if anybody else is listed. Two may both be dropped."""

    def _in_the_way(self, rivals, seen):
        for name, reply in seen.items():
            if reply != GONE and name[:8] != rivals.page_id:
                candidate = Candidate(int.from_bytes(name[:8]), 0)
                return Met(name, candidate, b""), Decided(is_same=True, rule="")
        return None

    async def _repeats(self, page, home, repeats, own):
        match = matched(repeats[0].candidate, repeats[1])
        return Verdict.on(page, Reason.NEAR, match)


FOUR, TEN, PROBED = Layout(3, 4), Layout(3, 5), Layout(3, 2)
BY_FEATURES = Matching(by_distance=False, features=3)
BY_TWO = Matching(by_distance=False, features=5, shared_features=2)
NEAR_CONFIRMED = Matching(features=1, text_bits=256, named_bits=64)
CONFIRMED = Matching(features=4, text_bits=256, named_bits=64)
TWO_CONFIRMED = Matching(features=5, shared_features=2, text_bits=256, named_bits=64)
WEATHER = {
    "plain": (Storm(seed=6, pages=150, forget=0, replace=0), FOUR),
    "ten tables": (Storm(seed=2, pages=100), TEN),
    "probed": (Storm(seed=7, pages=100), PROBED),
    "crashes, short lease": (Storm(seed=3, pages=150, die=0.01, attempt_lease=0.1), FOUR),
    "crashes, long lease": (Storm(seed=4, pages=150, die=0.01, attempt_lease=1.0), TEN),
    "lapses": (Storm(seed=5, pages=150, lapse=0.2, lease=0.5), FOUR),
    "features": (Storm(seed=11, pages=120, matching=BY_FEATURES), FOUR),
    "two features": (Storm(seed=12, pages=120, matching=BY_TWO), FOUR),
    "evidence": (Storm(seed=13, pages=120, matching=NEAR_CONFIRMED), FOUR),
    "both, crashes": (
        Storm(seed=14, pages=120, matching=CONFIRMED, die=0.005, attempt_lease=0.3, tasks=16),
        FOUR,
    ),
    "both by two, lapses": (
        Storm(seed=15, pages=120, matching=TWO_CONFIRMED, lapse=0.2, lease=1, tasks=16), FOUR,
    ),
}  # fmt: skip
SHORT = ["plain", "probed", "crashes, long lease", "lapses", "both, crashes"]
"""That in which simple protocols fail, all that can go wrong, few and many tables, and all that
pages are told by; the rest is for long runs alone."""


@pytest.fixture(autouse=True)
def leases(monkeypatch):
    """Storms set them; afterwards they are as they were."""
    monkeypatch.setattr(protocol, "ATTEMPT_LEASE", protocol.ATTEMPT_LEASE)
    monkeypatch.setattr(namespace, "LEASE", namespace.LEASE)


def check(storm: Storm, layout: Layout, cluster: RedisCluster) -> Findings:
    findings = judge(storm, asyncio.run(rage(cluster.uri, storm, layout=layout)))
    print(
        f"{storm}, {len(layout.tables)} tables: {dict(findings.outcomes)}; confirmed late: "
        f"{findings.late}, of these lapsed: {findings.excused}; refused: {findings.refused}, "
        f"excepted: {findings.excepted}"
    )
    assert findings.pages >= storm.pages
    assert findings.outcomes["new"]
    assert findings.outcomes["duplicate"]
    assert findings.refused
    assert findings.both_kept == findings.both_dropped == findings.dropped_for_nothing == []
    return findings


@pytest.mark.parametrize("name", SHORT)
def test_a_storm(name):
    storm, layout = WEATHER[name]
    check(storm, layout, shared_cluster())


@pytest.mark.stress
@pytest.mark.parametrize("name", WEATHER)
def test_a_long_storm(name, record_property):
    storm, layout = WEATHER[name]
    storm = replace(storm, seed=storm.seed + 100, pages=5_500)
    findings = check(storm, layout, shared_cluster())
    record_property("tried", row(f"storm on a cluster: {name}", findings.pages))


@pytest.mark.parametrize(
    "matching", [Matching(), pytest.param(CONFIRMED, marks=pytest.mark.stress)], ids=str
)
@pytest.mark.parametrize("control", [DropIfAnythingWasSeen, NeverWound])
async def test_the_judge_finds_what_simple_protocols_do_wrong(control, matching):
    for seed in range(10):  # beside other work a storm may do no harm
        storm = replace(WEATHER["plain"][0], matching=matching, seed=seed)
        if judge(storm, await rage(shared_cluster().uri, storm, control, FOUR)).wrong:
            break
    else:
        pytest.fail("none of ten storms does harm")


@contextmanager
def meanwhile(step):
    """Run ``step()`` again and again in a thread, for the length of a ``with`` block."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            step()

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run)
        try:
            yield
        finally:
            over.set()
    running.result()  # or it raises what the step did


def test_slots_move_in_a_storm():
    storm = Storm(seed=7, pages=120, matching=CONFIRMED, tasks=16)
    with running_cluster() as cluster:
        source, target, _ = cluster.masters
        moved: list[int] = []

        def move() -> None:
            for slot in cluster.slots_in_use(source)[:1]:
                cluster.move_slot(slot, source, target)
                moved.append(slot)

        with meanwhile(move):
            check(storm, FOUR, cluster)
        assert len(moved) > 5


def test_scripts_flushed_in_a_storm():
    cluster = shared_cluster()

    def flush() -> None:
        for node in cluster.masters:
            node.client().script_flush()
        time.sleep(0.02)

    with meanwhile(flush):
        check(Storm(seed=8, pages=80, matching=BY_FEATURES), FOUR, cluster)


@pytest.mark.parametrize("scope", ["all", "host"])
async def test_a_master_is_killed_and_its_replica_takes_over(scope):
    with running_cluster(masters=3, replicas=3) as cluster:
        async with open_store(cluster.uri, schema={"scope": scope}) as store:

            def of(number: int, page_id: int, flipped: int = 0) -> Page:
                host = f"{number}.example" if scope == "host" else ""
                return page(page_id, spread(number) ^ flipped, scope=host)

            await keep(store, *(of(number, number) for number in range(1, 31)))
            assert await counts(store) == (30, 0, 0)
            await until(cluster.replicated)  # what was confirmed
            cluster.masters[0].stop(9)
            for number in range(31, 61):
                found, _ = await healed(lambda one=number: outcome(store, of(one, one)))
                # SEEN: the first call was executed, its reply was lost.
                assert found in {Decision.NEW, Decision.SEEN}
            again = [await outcome(store, of(number, number + 100, 1)) for number in range(1, 61)]
            assert {found for found, _ in again} == {Decision.DUPLICATE}


async def test_connections_that_are_closed_under_load_are_made_anew_and_that_is_all():
    """redis-py closes them all where it reads the map of slots again."""
    cluster = shared_cluster()

    def counted(kind: str, name: str) -> int:
        found = [node.client().info(kind).get(name, 0) for node in cluster.masters]
        return sum(each["count"] if isinstance(each, dict) else each for each in found)

    moved = partial(counted, "errorstats", "errorstat_MOVED")
    connected = partial(counted, "stats", "total_connections_received")

    async with open_store(cluster.uri, namespace="reset") as store:
        fingerprints = map(spread, range(1, 801))

        async def judge_all() -> None:
            for one in fingerprints:
                with suppress(StoreUnavailableError):  # a call that was under way
                    await store.check_and_add(page(one, one))

        judging = asyncio.gather(*(judge_all() for _ in range(64)))
        await asyncio.sleep(0.3)
        before = moved(), connected()
        await store._calls.client.aclose()
        try:  # redis-py 5 may go on to close, for each call that fails, those of all others
            await asyncio.wait_for(judging, 100)
        except TimeoutError:
            pytest.fail(f"not over after 100 s, {connected() - before[1]:,} connections")
        answered_moved, connections = moved() - before[0], connected() - before[1]
    # As many as calls can be under way, and connections be open, a few times over.
    assert answered_moved < 200
    assert connections < 600


async def test_whoever_gives_up_leaves_what_lapses(monkeypatch):
    monkeypatch.setattr(protocol, "ATTEMPT_LEASE", 0.3)
    monkeypatch.setattr(namespace, "LEASE", 0.5)
    async with open_store(shared_cluster().uri, namespace="cancelled") as store:
        for number in range(40):
            call = asyncio.create_task(store.check_and_add(page(number, 2**63 + number)))
            await asyncio.sleep(0.0005 * (number % 10))
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        store._held.clear()
        await asyncio.sleep(0.6)
        monkeypatch.undo()
        assert await decision(store, 1000, 2**63) is Decision.NEW
        assert await decision(store, 1001, 2**63) is Decision.DUPLICATE


async def test_to_wound_ends_what_is_undecided_and_nothing_that_is_added():
    async with open_store(shared_cluster().uri, namespace="wounded") as store:
        for number, commits in ((1, False), (2, True)):
            rivals = Rivals(page(number, spread(number)), None, FOUR, store.key)
            assert await store._announce(rivals, 60) is None
            assert (await store._see(rivals.name))[:1] == UNDECIDED
            if commits:
                assert await store._commit(rivals)
            await store._wound(rivals.name)
            assert (await store._see(rivals.name))[:1] == (ADDED if commits else GONE)
            assert await store._commit(rivals) is commits


async def test_an_attempt_that_is_gone_leaves_where_it_is_found():
    """Also if the page that finds it has another key."""
    async with open_store(shared_cluster().uri, namespace="gone") as store:
        rivals = Rivals(page(1, spread(1)), None, store.layout, store.key)
        assert await store._announce(rivals, 60) is None
        await store._calls.make(("DEL", store._attempt(rivals.name)))  # as if it had expired
        assert await decision(store, 2, spread(1) ^ 1 << 8) is Decision.NEW
    clients = [node.client() for node in shared_cluster().masters]
    lists = [one.get(key) for one in clients for key in one.scan_iter("{nd:gone:t:*")]
    assert [rivals.name in each for each in lists].count(True) == 1  # the bucket that bit 8 names


async def test_leases_are_renewed_together_and_one_that_fails_keeps_no_other(monkeypatch):
    """One after the other they would take as many round trips as a crawler has pages."""
    under_way, most = 0, 0

    class Renewing(ClusterCalls):
        async def make(self, command, item=()):
            nonlocal under_way, most
            if command[1] != sha("lease"):
                return await super().make(command, item)
            if item[0] == (1).to_bytes(8):
                raise StoreUnavailableError("its master is away")
            under_way += 1
            most = max(most, under_way)
            try:
                return await super().make(command, item)
            finally:
                under_way -= 1

    monkeypatch.setattr(namespace, "LEASE", 3.0)
    monkeypatch.setattr(RedisClusterStore, "calls_class", Renewing)
    async with open_store(shared_cluster().uri, namespace="renewed") as store:
        for number in range(1, 13):
            assert await decision(store, number, spread(number)) is Decision.NEW
        await asyncio.sleep(2)
        await store._renew()
        assert most >= 11
        await asyncio.sleep(2)
        lapsed, *renewed = [await decision(store, n + 100, spread(n)) for n in range(1, 13)]
    assert lapsed is Decision.NEW
    assert set(renewed) == {Decision.DUPLICATE}


@pytest.mark.parametrize("error", [AttributeError("no writer"), ConnectionResetError("gone")])
async def test_whatever_a_client_raises_while_a_node_goes_is_a_failure_of_the_store(error):
    """redis-py itself fails where a connection goes while it is being set up."""
    client = Mock(get_node_from_key=lambda _: None, execute_command=AsyncMock(side_effect=error))
    calls = ClusterCalls(client, "redis+cluster://a.example")
    with pytest.raises(StoreUnavailableError, match=str(error)):
        await calls.make(("GET", "key"))


async def test_what_a_node_has_opened_that_is_no_longer_the_client_s_is_closed():
    """redis-py 5 makes its nodes anew when it is reset, and forgets those that calls still use."""

    class Node:
        name = "a.example:6379"

        async def execute_pipeline(self, commands: list) -> None:
            used.append(self)
            client.node = newest
            for command in commands:
                command.result = b"done"

        async def disconnect(self) -> None:
            closed.append(self)

    class Client:
        node = Node()

        def get_node_from_key(self, _: str) -> Node:
            return oldest

        def get_node(self, *, node_name: str) -> Node:
            assert node_name == Node.name
            return self.node

    oldest, client, newest = Node(), Client(), Node()
    middle = client.node
    used, closed = [], []
    calls = ClusterCalls(client, "redis+cluster://a.example")
    for _ in range(2):
        two = asyncio.gather(calls.make(("GET", "one")), calls.make(("GET", "other")))
        assert await two == [b"done", b"done"]
    assert used == [middle, newest]
    assert closed == [middle]
