"""Every store that the behaviour suite runs over, and how a test gets a fresh one.

A store is added here and nowhere else: `PLACES` maps its name to a context manager that
yields the `Place` of an empty store and removes it afterwards. It is entered once a test
(by `on_store`, or by the fixture ``place`` of ``tests/stores/``), and once an example by the
state machine.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from deciders import Asking, DecideFor
from list_store import HELD
from redis_servers import RedisServer, all_binaries, shared_cluster, shared_server

from scrapy_neardup.errors import StoreError, StoreUnavailableError
from scrapy_neardup.stores import SCHEMES, Store, StoreOptions, open_store
from scrapy_neardup.stores.admin import ADMINS
from scrapy_neardup.stores.redis.cluster.clusterstore import PartitionedStore
from scrapy_neardup.stores.redis.redis_admin import redis_admin
from scrapy_neardup.verdict import Decision, Page

SOMETHING = 0x0123456789ABCDEF
EVERYTHING = (1 << 64) - 1
NAMESPACES = (
    "a", "a:t1", "a}", "{a", "a*", "a?", "[a]", "a\n", "a b", "名", "a%2F", "a/", "a\x00", "",
    "a\\", "schema", "a:schema", "%", "\ud800",
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where an empty store is, and what can be expected of it."""

    name: str
    """As in `PLACES`."""
    uri: str
    survives: bool = False
    """What was confirmed is there when the store is opened again."""
    shared: bool = False
    """Several clients may have it open at once."""

    def arrived(self, page: Page) -> Page:
        """Return a page as it may arrive: where hosts lie apart, it stays at its own."""
        if self.name != "redis-partitions":
            return page
        return replace(page, scope=("", "a.example", "b.example")[page.id % 3])


@contextmanager
def memory() -> Iterator[Place]:
    yield Place("memory", "memory:")


@contextmanager
def toy() -> Iterator[Place]:
    HELD.clear()
    yield Place("toy", "list:toy", survives=True)


@contextmanager
def sqlite() -> Iterator[Place]:
    with TemporaryDirectory() as directory:
        uri = f"sqlite:{Path(directory) / 'pages.db'}"
        yield Place("sqlite", uri, survives=True)


@contextmanager
def redis() -> Iterator[Place]:
    server = shared_server()
    server.client().flushall()
    yield Place("redis", server.uri, survives=True, shared=True)


@contextmanager
def redis_cluster() -> Iterator[Place]:
    cluster = shared_cluster()
    for node in cluster.masters:
        node.client().flushall()
    yield Place("redis-cluster", cluster.uri, survives=True, shared=True)


@contextmanager
def redis_partitions() -> Iterator[Place]:
    with redis_cluster() as place:
        uri = place.uri.replace("redis+", "partitions+", 1)
        yield Place("redis-partitions", uri, survives=True, shared=True)


def _partitioned(uri: str, options: StoreOptions) -> Store:
    """Return the store of a cluster for scopes that are hosts, whatever the schema says."""
    return PartitionedStore(uri.replace("partitions+", "redis+", 1), options)


def admin_of_partitions(uri: str):
    return redis_admin(uri.replace("partitions+", "redis+", 1))


SCHEMES["partitions+cluster"] = _partitioned
ADMINS["partitions+cluster"] = f"{__name__}:{admin_of_partitions.__name__}"

FEW_EXAMPLES = {"sqlite": 15, "redis": 8, "redis-cluster": 3, "redis-partitions": 3}
"""Where calls wait for a disk or a server: sequences of calls that hypothesis plays usually."""

PLACES: dict[str, Callable[[], AbstractContextManager[Place]]] = {
    "memory": memory, "toy": toy, "sqlite": sqlite, "redis": redis, "redis-cluster": redis_cluster,
    "redis-partitions": redis_partitions,
}  # fmt: skip


on_every_binary = pytest.mark.parametrize(
    "binary", all_binaries(), ids=lambda path: path.split("/")[-3]
)
"""Make a test into one over every Redis and Valkey that is installed."""


def on(*names: str) -> pytest.MarkDecorator:
    """Make a test of ``place`` into one over the stores of these names."""
    return pytest.mark.parametrize("place", names, indirect=True, ids=names)


def on_store(decide: DecideFor | None = None, **options: object):
    """Make a scenario, ``async def test_…(store)``, into a test over all stores.

    With `decide` the store is an `Asking` one.
    """

    def decorate(scenario: Callable[[Store], Awaitable[None]]) -> object:
        @pytest.mark.parametrize("name", sorted(PLACES))
        async def test(name: str) -> None:
            with PLACES[name]() as place:
                async with open_store(place.uri, **options) as store:
                    await scenario(Asking(store, decide) if decide else store)

        test.__name__ = test.__qualname__ = scenario.__name__
        test.__doc__ = scenario.__doc__
        return test

    return decorate


def page(page_id: int, fingerprint: int, **more: object) -> Page:
    return Page(id=page_id, fingerprint=fingerprint, **more)


def spread(number: int) -> int:
    """Return a fingerprint that is far from those of all other small numbers."""
    return number * 0x9E3779B97F4A7C15 % 2**64


async def outcome(store: Store, page: Page) -> tuple[Decision, int | None]:
    verdict = await store.check_and_add(page)
    return verdict.decision, verdict.match and verdict.match.page_id


async def counts(store: Store) -> tuple[int, int, int]:
    """The pages that it holds, those of them that are pending, and the dropped ones."""
    stats = await store.stats()
    return stats.pages, stats.pending, stats.dropped


async def decision(store: Store, number: int, fingerprint: int = SOMETHING) -> Decision:
    """Judge a page that has nothing but an id and a fingerprint."""
    return (await store.check_and_add(page(number, fingerprint))).decision


async def keep(store: Store, *pages: Page) -> None:
    """Judge pages, and confirm them."""
    for each in pages:
        await store.check_and_add(each)
        await store.confirm(each.id)


async def until(holds: Callable[[], object]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110, there is no event
            await asyncio.sleep(0.02)


async def shrunk(store: Store, most: int = 0) -> None:
    """Wait until it holds no more pages than that."""
    async with asyncio.timeout(60):
        while (await store.stats()).pages > most:  # noqa: ASYNC110, there is no event
            await asyncio.sleep(0.05)


async def healed(call, error: type[StoreError] = StoreUnavailableError):
    """Call until it doesn't raise that error; return what comes of it."""
    async with asyncio.timeout(60):
        while True:
            with suppress(error):
                return await call()
            await asyncio.sleep(0.05)


def _nodes(name: str) -> list[RedisServer]:
    return [shared_server()] if name == "redis" else shared_cluster().masters


def keys(name: str) -> set[bytes]:
    """All keys of the Redis, or the cluster, of this name."""
    return {key for node in _nodes(name) for key in node.client().scan_iter(count=1000)}


def dumped(name: str) -> list[dict[bytes, bytes]]:
    """All that each node of the Redis, or the cluster, of this name holds."""
    clients = [node.client() for node in _nodes(name)]
    return [{key: client.dump(key) for key in client.scan_iter()} for client in clients]


def restored(name: str, snapshot: list[dict[bytes, bytes]]) -> None:
    """Let each node hold what it held, and nothing else."""
    for node, held in zip(_nodes(name), snapshot, strict=True):
        node.client().flushall()
        for key, value in held.items():
            node.client().restore(key, 0, value)
