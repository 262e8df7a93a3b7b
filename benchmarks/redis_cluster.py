"""What a page costs in a Redis Cluster: requests, time, and bytes, for each preset.

Three masters are started here and filled in bulk, byte for byte as the store would do it;
that it finds what was put there is checked by every answer. Then new pages and duplicates
are judged through the store, one at a time and eight at once. Fingerprints, features and
evidence are uniform, so that no page has candidates but the one that it repeats; no page has
named bins (which take a bit each), and no URLs are stored.

    python benchmarks/redis_cluster.py                       # 200,000 pages, all presets
    python benchmarks/redis_cluster.py --pages 1_000_000 --presets best

"scripts" are those that a page calls, "requests" what is sent for them: scripts that are due at
once go to each master together. "bytes" are what the masters take; the rest of them is MEMORY
USAGE of the keys. "server CPU" is that of all masters together (INFO cpu), "client CPU" that of
this process.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from redis.cluster import RedisCluster as Client
from redis_fill import Words, _Tree, big_endian
from redis_servers import RedisCluster, running_cluster

from scrapy_neardup.options import PRESETS
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import Matching, StoreOptions
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.cluster.values import ClusterPage
from scrapy_neardup.stores.redis.codec import DIGEST_BYTES
from scrapy_neardup.stores.redis.keyspace import PAGE_DEPTH, Layout, prefix
from scrapy_neardup.verdict import Decision, Page

K = 3
AT_ONCE = (1, 8)
KINDS = {"t1": "entries", "f": "claims of features", "page": "pointers", "schema": "schema"}
_BATCH = 200
_IDLE_TURNS = 20


class Counting(ClusterCalls):
    """Calls that are counted, and the requests that they travel in."""

    made = requests = under_way = 0

    async def call(self, verb: str, key: str, *arguments: object) -> object:
        Counting.made += 1
        Counting.under_way += 1
        try:
            return await super().call(verb, key, *arguments)
        finally:
            Counting.under_way -= 1

    async def request(self, node: object, calls: list[object]) -> None:
        Counting.requests += len(calls) if node is None else 1
        await super().request(node, calls)

    @classmethod
    async def all_done(cls) -> None:
        """Wait for what is done beside judging: it costs time as well."""
        idle = 0
        while idle < _IDLE_TURNS:
            idle = 0 if cls.under_way else idle + 1
            await asyncio.sleep(0)


class CountingStore(RedisClusterStore):
    """The store, counting."""

    calls_class = Counting


@dataclass(frozen=True)
class Collection:
    """Uniform pages, by number."""

    matching: Matching
    keys: Words
    ids: Words
    features: Words
    evidence: bytes

    @classmethod
    def of(cls, chance: np.random.Generator, count: int, matching: Matching) -> Collection:
        """Return so many pages for this matching."""
        size = max(matching.evidence_sizes, default=0)
        keys, ids = chance.integers(0, 2**64, (2, count), dtype=np.uint64)
        features = chance.integers(0, 2**64, (count, matching.features), dtype=np.uint64)
        return cls(matching, keys, ids, features, chance.bytes(size * count))

    def page(self, number: int) -> Page:
        """Return a page of the collection."""
        size = len(self.evidence) // len(self.keys)
        return Page(
            id=int(self.ids[number]),
            fingerprint=int(self.keys[number]),
            features=tuple(self.features[number].tolist()),
            evidence=self.evidence[number * size : (number + 1) * size],
        )


@dataclass(frozen=True)
class Tagged:
    """A client for which each whole key is a hash tag."""

    client: Client

    def execute_command(self, command: str, key: str, *fields: bytes) -> None:
        """Execute a command on one key."""
        self.client.execute_command(command, f"{{{key}}}", *fields)


def fill(client: Client, layout: Layout, pages: Collection, start: str) -> None:
    """Store pages as kept and confirmed entries with their claims."""
    to, count = Tagged(client), len(pages.keys)
    tokens = np.random.default_rng(1).integers(0, 256, (count, 4), dtype=np.uint8)
    names = np.hstack([big_endian(pages.keys), tokens])
    now = (int(time.time() * 1000)).to_bytes(6, "big")
    state = np.frombuffer(bytes(DIGEST_BYTES) + b"k" + now, np.uint8)
    entries = np.hstack([tokens, big_endian(pages.ids), np.tile(state, (count, 1))])
    for number, permutation in enumerate(layout.permutations, 1):
        words = permutation.apply_many(pages.keys)
        payload = entries if number == 1 else tokens
        _Tree(f"{start}t{number}", layout.split, layout.depth).fill(to, words, payload)
    _Tree(f"{start}page", layout.split, PAGE_DEPTH).fill(to, pages.ids, names)
    arrivals = [ClusterPage.of(pages.page(number), layout) for number in range(count)]
    if pages.matching.features:
        lists = [sorted(arrived.features) for arrived in arrivals]
        features = np.frombuffer(b"".join(f for each in lists for f in each), ">u8")
        tree = _Tree(f"{start}f", layout.split, PAGE_DEPTH)
        tree.fill(
            to, features.astype(np.uint64), np.repeat(names, pages.matching.features, axis=0)
        )
    by_hash: dict[int, list[bytes]] = {}
    for name, arrived in zip(names, arrivals, strict=True):
        if arrived.body:
            by_hash.setdefault(int(name[0]), []).extend((b"b" + name.tobytes(), arrived.body))
    for first, fields in by_hash.items():
        for at in range(0, len(fields), _BATCH):
            to.execute_command("HSET", f"{start}t1:{first:02x}", *fields[at : at + _BATCH])
    for first, kept in enumerate(np.bincount(names[:, 0], minlength=256)):
        to.execute_command("HSET", f"{start}t1:{first:02x}", "P", int(kept))


def server_seconds(cluster: RedisCluster) -> float:
    used = [node.client().info("cpu") for node in cluster.masters]
    return sum(each["used_cpu_user"] + each["used_cpu_sys"] for each in used)


def used_memory(cluster: RedisCluster) -> int:
    return sum(node.client().info("memory")["used_memory"] for node in cluster.masters)


def memory_by_tree(cluster: RedisCluster) -> Counter[str]:
    """Bytes of the keys: entries and bodies, claims in tables, under features, pointers."""
    kinds: Counter[str] = Counter()
    for node in cluster.masters:
        client = node.client()
        for key in client.scan_iter(count=1000):
            tree = key.decode().strip("{}").split(":")[2]
            kinds[KINDS.get(tree, "claims in tables")] += client.memory_usage(key, samples=0)
    return kinds


def duplicates(pages: Collection, chance: np.random.Generator, count: int) -> Iterator[Page]:
    """Yield pages that repeat one of the collection each."""
    for number in chance.choice(len(pages.keys), count, replace=False).tolist():
        yield replace(pages.page(number), id=int(chance.integers(0, 2**63)))


async def timed(
    store: RedisClusterStore,
    cluster: RedisCluster,
    pages: list[Page],
    wanted: Decision,
    at_once: int,
) -> dict[str, float]:
    """Judge pages with so many under way; every answer has to be the wanted one."""
    numbers, seconds = iter(pages), []

    async def work() -> None:
        for page in numbers:
            start = time.perf_counter()
            verdict = await store.check_and_add(page)
            assert verdict.decision is wanted, f"a wrong answer for {page}"
            seconds.append(time.perf_counter() - start)

    Counting.made = Counting.requests = 0
    used, start = server_seconds(cluster), time.perf_counter()
    own = time.process_time()
    await asyncio.gather(*(work() for _ in range(at_once)))
    await Counting.all_done()
    spent = time.perf_counter() - start
    found = {
        "pages/s": len(pages) / spent,
        "client CPU µs": (time.process_time() - own) / len(pages) * 1e6,
        "server CPU µs": (server_seconds(cluster) - used) / len(pages) * 1e6,
    }
    if at_once == 1:
        found["p50 µs"] = statistics.median(seconds) * 1e6
        found["requests"] = Counting.requests / len(pages)
        found["scripts"] = Counting.made / len(pages)
    return found


async def measure(preset: str, count: int, probes: int) -> dict[str, float]:
    """Return the figures of a preset."""
    parameters = Parameters(**PRESETS[preset])
    matching = parameters.matching
    layout = replace(Layout(K, 4), matching=matching)
    chance = np.random.default_rng(7)
    pages = Collection.of(chance, count, matching)
    new = Collection.of(chance, len(AT_ONCE) * probes, matching)
    results: dict[str, float] = {}
    with running_cluster() as cluster:
        empty = used_memory(cluster)
        client = Client(host="127.0.0.1", port=cluster.masters[0].port)
        fill(client, layout, pages, prefix("bench"))
        client.close()
        results["bytes"] = (used_memory(cluster) - empty) / count
        for kind, size in memory_by_tree(cluster).items():
            results[f"bytes of {kind}"] = size / count
        options = StoreOptions(namespace="bench", max_distance=K, matching=matching)
        async with CountingStore(cluster.uri, options, layout=layout) as store:
            await store.stats()
            for turn, at_once in enumerate(AT_ONCE):
                fresh = [new.page(turn * probes + number) for number in range(probes)]
                known = list(duplicates(pages, chance, probes))
                for title, some, wanted in (
                    ("new", fresh, Decision.NEW),
                    ("duplicate", known, Decision.DUPLICATE),
                ):
                    found = await timed(store, cluster, some, wanted, at_once)
                    for figure, value in found.items():
                        results[f"{title}, {at_once} at once: {figure}"] = value
                for page in fresh:
                    await store.confirm(page.id)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--probes", type=int, default=2_000, help="pages a timing")
    parser.add_argument("--presets", nargs="+", choices=list(PRESETS), default=list(PRESETS))
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.pages, options.probes = 2_000, 40
    results = {
        preset: asyncio.run(measure(preset, options.pages, options.probes))
        for preset in options.presets
    }
    print(f"{options.pages:,} pages, 4 tables, k = {K}")
    print(f"{'':38}" + "".join(f"{preset:>11}" for preset in results))
    for figure in dict.fromkeys(name for figures in results.values() for name in figures):
        values = (figures.get(figure, 0.0) for figures in results.values())
        print(f"{figure:38}" + "".join(f"{value:11.1f}" for value in values))


if __name__ == "__main__":
    main()
