"""What goes wrong between us and Redis mid-crawl: with a real server, and it heals by itself."""

import asyncio
import threading
from contextlib import suppress

import pytest
import redis
from redis_servers import SLOTS, RedisServer, running_cluster, shared_cluster, shared_server
from store_registry import SOMETHING, counts, decision, healed, keep, on, page, spread, until

from scrapy_neardup.errors import StoreMismatchError, StoreUnavailableError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.redis import store as redis_store
from scrapy_neardup.verdict import Decision, Verdict

PATIENCE = "?socket_timeout=2"


async def test_killed_and_started_again(server):
    async with open_store(server.uri) as store:
        assert await decision(store, 1) is Decision.NEW
        server.stop(9)
        with pytest.raises(StoreUnavailableError, match=str(server.port)):
            await decision(store, 2)
        server.start()
        # It came back empty and without scripts.
        assert await decision(store, 3) is Decision.NEW
        assert await decision(store, 4) is Decision.DUPLICATE
        # Restarted between two calls: the dead connection isn't used.
        server.stop()
        server.start()
        await asyncio.sleep(0.05)
        assert await decision(store, 5) is Decision.NEW


async def test_a_server_that_stands_still(server):
    async with open_store(server.uri + PATIENCE) as store:
        server.pause()
        calls = *(decision(store, n) for n in range(3)), store.stats()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(result) for result in results} == {StoreUnavailableError}
        server.resume()
        assert await healed(lambda: decision(store, 5)) in {Decision.NEW, Decision.DUPLICATE}


@pytest.mark.parametrize("reply", [5, None, b"", b"OK", [b"n"], b"\0\0\0\0\0\0\0\0"])
async def test_a_reply_of_another_kind(reply, monkeypatch):
    """As after the reply to another command."""

    async def odd(*_: object) -> object:
        return reply

    shared_server().client().flushall()
    async with open_store(shared_server().uri) as store:
        with monkeypatch.context() as patched:
            patched.setattr(store._calls.client, "execute_command", odd)
            with pytest.raises(StoreUnavailableError, match="doesn't answer as it should"):
                await asyncio.wait_for(decision(store, 1), 20)


async def test_a_replica_takes_no_pages(server):
    """The store connects again: its name may lead to another server by now."""
    admin = server.client()
    with RedisServer() as master:
        async with open_store(server.uri) as store:
            admin.replicaof("127.0.0.1", master.port)
            before = admin.info("stats")["total_connections_received"]
            with pytest.raises(StoreUnavailableError, match="read-only replica"):
                await decision(store, 1)
            admin.replicaof("NO", "ONE")
            assert await healed(lambda: decision(store, 2)) is Decision.NEW
            assert admin.info("stats")["total_connections_received"] > before


async def test_a_script_of_others_runs_for_ever():
    def run_for_ever() -> None:
        with pytest.raises(redis.ResponseError):
            server.client(socket_timeout=60).eval("while true do end", 0)

    def is_busy() -> bool:
        with suppress(redis.ResponseError):
            return not server.client().ping()
        return True

    with RedisServer("--lua-time-limit", "50") as server:
        async with open_store(server.uri) as store:
            busy = threading.Thread(target=run_for_ever)
            busy.start()
            await until(is_busy)
            with pytest.raises(StoreUnavailableError):
                await decision(store, 1)
            server.client().script_kill()
            busy.join()
            assert await healed(lambda: decision(store, 2)) is Decision.NEW


async def test_callers_that_give_up_disturb_nobody():
    shared_server().client().flushall()
    async with open_store(shared_server().uri) as store:
        calls = [asyncio.create_task(decision(store, n)) for n in range(300)]
        await asyncio.sleep(0)
        for call in calls[::3]:
            call.cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        left = [result for n, result in enumerate(results) if n % 3]
        assert set(left) <= {Decision.NEW, Decision.DUPLICATE}
        assert await decision(store, 1000) is Decision.DUPLICATE


@pytest.mark.parametrize("sent", [False, True], ids=["wait", "are under way"])
@pytest.mark.parametrize("where", ["one", "paused", "cluster"])
async def test_closed_while_calls(sent, where, server):
    uri = server.uri + PATIENCE if where != "cluster" else shared_cluster().uri
    store = open_store(uri, namespace=f"closed {sent}")
    await store.open()
    if where == "paused":
        server.pause()
    count = 60 if where == "cluster" else 300
    calls = [asyncio.create_task(decision(store, n, spread(n))) for n in range(count)]
    for _ in range(3 if sent else 1):
        await asyncio.sleep(0)
    await store.close()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, StoreUnavailableError | Decision) for result in results), results
    if where == "paused":  # others may be answered while the store withdraws its pending entries
        assert any(isinstance(result, StoreUnavailableError) for result in results)
    with pytest.raises(StoreUnavailableError, match="closed"):
        await decision(store, 1)


@pytest.mark.parametrize("flushed", [False, True])
async def test_an_emptied_server_gets_the_record_again_or_refuses(flushed, server, monkeypatch):
    """Whoever comes first afterwards decides what the namespace is made with."""
    monkeypatch.setattr(redis_store, "SWEEP_PAUSE", 3600.0)  # a sweep would agree on it

    def empty(server: RedisServer) -> None:
        if flushed:  # scripts stay: that the record is gone has to be noticed by itself
            server.client().flushall()
        else:
            server.stop(9)
            server.start()

    async with open_store(server.uri, max_distance=3) as store:
        assert await decision(store, 1) is Decision.NEW
        empty(server)
        verdicts = await asyncio.gather(*(decision(store, n) for n in range(50)))
        assert verdicts.count(Decision.NEW) == 1
        with pytest.raises(StoreMismatchError, match="max_distance is '3' there and '2' here"):
            await open_store(server.uri, max_distance=2).open()
        empty(server)
        async with open_store(server.uri, max_distance=2) as other:
            assert await decision(other, 100) is Decision.NEW
            with pytest.raises(StoreMismatchError, match="max_distance is '2' there and '3' here"):
                await decision(store, 3, ~SOMETHING & 2**64 - 1)
            assert (await other.stats()).pages == 1
    empty(server)
    async with open_store(server.uri, expected_pages=1000) as store:
        empty(server)
        async with open_store(server.uri, expected_pages=10**8) as other:
            # It asked as if its tables were there, and has those of the other one from then on.
            await healed(lambda: decision(store, 1, 5))
            for number in range(2, 20):
                one, two = (store, other) if number % 2 else (other, store)
                assert await decision(one, number, spread(number)) is Decision.NEW
                assert await decision(two, number + 100, spread(number) ^ 7) is Decision.DUPLICATE


@on("redis-cluster")
async def test_an_emptied_cluster_refuses_whoever_had_other_parameters(monkeypatch, place):
    # A sweep would write the record again.
    monkeypatch.setattr(redis_store, "SWEEP_PAUSE", 3600.0)
    async with open_store(place.uri, max_distance=3) as store:
        assert await decision(store, 1) is Decision.NEW
        for node in shared_cluster().masters:
            node.client().flushall()
            node.client().script_flush()  # as after a restart
        async with open_store(place.uri, max_distance=2) as other:
            assert await decision(other, 1) is Decision.NEW
            with pytest.raises(StoreMismatchError, match="max_distance is '2' there and '3' here"):
                await decision(store, 2)


async def test_behind_a_slow_reply_no_call_waits(monkeypatch):
    """Of forty calls in half a second, with replies of 3 seconds, none waits for two of them."""
    execute = redis.asyncio.Redis.execute_command

    async def slow(self, *arguments: object, **options: object) -> object:
        if arguments[0] == "EVALSHA":
            await asyncio.sleep(3)
        return await execute(self, *arguments, **options)

    shared_server().client().flushall()
    async with open_store(shared_server().uri) as store:
        monkeypatch.setattr(redis.asyncio.Redis, "execute_command", slow)
        clock, seconds = asyncio.get_running_loop().time, []

        async def judge(number: int) -> None:
            await asyncio.sleep(number / 80)
            start = clock()
            await decision(store, number, spread(number))
            seconds.append(clock() - start)

        await asyncio.gather(*map(judge, range(40)))
        assert max(seconds) < 5
        monkeypatch.undo()


async def test_a_master_that_is_reset():
    """``CLUSTER RESET`` takes a master's slots: calls fail until it has them again."""
    with running_cluster() as cluster:
        first, *others = cluster.masters
        async with open_store(cluster.uri + PATIENCE) as store:
            kept = [*map(spread, range(1, 30))]
            await keep(store, *(page(one, one) for one in kept))
            assert await counts(store) == (29, 0, 0)
            first.client().flushall()  # it refuses to be reset as long as it holds keys
            first.client().execute_command("CLUSTER", "RESET", "SOFT")
            async with asyncio.timeout(60):
                calls = (store.check_and_add(page(one + 1, one)) for one in kept)
                found = await asyncio.gather(*calls, return_exceptions=True)
            # Those of whose lists it has none are judged.
            assert StoreUnavailableError in {type(each) for each in found}
            assert all(isinstance(each, (StoreUnavailableError, Verdict)) for each in found)
            first.client().execute_command("CLUSTER", "MEET", "127.0.0.1", others[0].port)
            first.client().execute_command("CLUSTER", "ADDSLOTS", *range(SLOTS // 3 + 1))
            for one in kept:
                found = await healed(lambda one=one: decision(store, one + 1, one))
                assert found in (Decision.NEW, Decision.DUPLICATE, Decision.SEEN)
            # What it had is kept once more; what others have is known.
            assert {await decision(store, one + 2, one) for one in kept} == {Decision.DUPLICATE}
