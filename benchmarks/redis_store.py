"""What pages cost in Redis: memory, requests and time, by preset, on one server or in a cluster.

Each preset has servers of its own, started here, into which the same pages are put through the
store: fingerprints and features are uniform, evidence is that of made-up pages. Then pages are
judged in rounds, one preset after the other: *new*, which resemble none; *duplicate*, 0 to 3 bits
from a page there, with half of its features and its evidence; *refused*, as near, which say
something else and are kept. Every answer is checked against what was planted.

    python benchmarks/redis_store.py --pages 1_000_000 --preset paper --tables 4 6 10
    python benchmarks/redis_store.py --pages 40_000 --preset paper --distances 3 6 7 8
    python benchmarks/redis_store.py --cluster                         # three masters
    python benchmarks/redis_store.py --beside ../before --preset best --tables 4 10

"bytes" are what the servers take for everything, the rest is MEMORY USAGE of keys; no URLs are
stored. "log" is what appendonly writes, at this size, of a page that is kept. "server CPU" is that
of the servers' processes. In a cluster "scripts" are those that a page calls, "requests" what is
sent for them: scripts that are due at once go to each master together. --beside compares bytes and
CPU with those of another checkout, whose modules have to be compiled as well: both get the same
pages, in turns. REDIS_SERVER names another server.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from beside import compare
from harness import ROOT, arguments
from redis_servers import RedisServer, running_cluster

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.redis_admin import KEY
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.text import parse_html
from scrapy_neardup.verdict import Decision, Page

K = 3
DESIGNS = {4: {}, 6: {"blocks": 3, "parts": 2}, 10: {"blocks": 5}}
"""Number of tables -> how the fingerprint is cut for them."""
KINDS = {"new": Decision.NEW, "duplicate": Decision.DUPLICATE, "refused": Decision.NEW}
ROUNDS, FILLED_AT_ONCE, LOGGED, IDLE_TURNS = 10, 512, 500, 20
STEP = 7919  # a prime: pages that others resemble come in no order, and none twice
TEXTS = 50
"""Number of made-up pages whose evidence the pages have."""
TAGS = ("h2", "p", "blockquote", "pre", "address", "h3", "h4", "h5")
"""Elements of such a page: as many DOM paths as evidence has, as on most real pages."""


class Counting(ClusterCalls):
    """Calls that are counted, and the requests that they travel in."""

    made = requests = under_way = 0

    async def make(self, command: tuple, item: tuple = ()) -> object:
        Counting.made += 1
        Counting.under_way += 1
        try:
            return await super().make(command, item)
        finally:
            Counting.under_way -= 1

    async def _answer(self, commands: list[object], server: str) -> None:
        Counting.requests += 1
        await super()._answer(commands, server)

    @classmethod
    async def all_done(cls) -> None:
        idle = 0
        while idle < IDLE_TURNS:
            idle = 0 if cls.under_way else idle + 1
            await asyncio.sleep(0)


class CountingStore(RedisClusterStore):
    calls_class = Counting


@cache
def evidence_of(parameters: Parameters) -> list[bytes]:
    """Return the evidence of made-up pages of one site; simhash alone has none."""
    analyser = Analyser(parameters)

    def page(number: int) -> Page:
        words = [f"w{number * 1000 + word}" for word in range(400)]
        parts = (f"<{tag}>{' '.join(words[at::8])}</{tag}>" for at, tag in enumerate(TAGS))
        html = f"<title>t{number} - a site</title>{''.join(parts)}"
        content = analyser.read(parse_html(html.encode()))
        return analyser.page(content, page_id=number, url=f"http://a.test/{number}")

    return [page(number).evidence for number in range(TEXTS)]


class Contestant:
    """One preset, number of tables and distance: its servers, its store, its pages."""

    def __init__(
        self, preset: str, tables: int, distance: int, expected: int, servers: AsyncExitStack,
        *, cluster: bool,
    ) -> None:  # fmt: skip
        self.name = preset if tables == 4 else f"{tables} tables"
        if distance != K:
            self.name = f"k = {distance}"
        self.distance = distance
        self.parameters = Parameters(**PRESETS[preset])
        self.matching, self.cluster = self.parameters.matching, cluster
        running = servers.enter_context(running_cluster() if cluster else RedisServer())
        self.servers: list[RedisServer] = running.masters if cluster else [running]
        options = StoreOptions(namespace="bench", max_distance=distance, matching=self.matching)
        cut = DESIGNS[tables] if distance == K else {}
        layout = replace(Layout.choose(distance, expected), matching=self.matching, **cut)
        kind = CountingStore if cluster else RedisStore
        self.store = kind(running.uri, options, layout=layout)
        self.timings: dict[tuple[str, int], Timing] = defaultdict(Timing)

    def page(self, number: int) -> Page:
        chance = np.random.default_rng(number)
        drawn = chance.integers(0, 2**64, 2 + self.matching.features, dtype=np.uint64).tolist()
        evidence = evidence_of(self.parameters)[number % TEXTS]
        page_id, fingerprint, *features = drawn
        return Page(
            id=page_id, fingerprint=fingerprint, features=tuple(features), evidence=evidence
        )

    def near(self, known: int, number: int, *, repeats: bool) -> Page:
        """Return a page near that of number `known`; one that is refused says something else."""
        base, own = self.page(known), self.page(number)
        chance = np.random.default_rng((known, number))
        flipped = sum(
            1 << bit for bit in chance.permutation(64)[: number % (self.distance + 1)].tolist()
        )
        shared = self.matching.features // 2 if repeats else 1
        evidence = evidence_of(self.parameters)[(known + (not repeats)) % TEXTS]
        features = base.features[:shared] + own.features[shared:]
        return replace(own, fingerprint=base.fingerprint ^ flipped, features=features,
                       evidence=evidence)  # fmt: skip

    async def fill(self, pages: int) -> dict[str, float]:
        empty = self.info("memory", "used_memory")

        async def keep(number: int) -> None:
            page = self.page(number)
            assert (await self.store.check_and_add(page)).decision is Decision.NEW
            await self.store.confirm(page.id)

        for start in range(0, pages, FILLED_AT_ONCE):
            numbers = range(start, min(start + FILLED_AT_ONCE, pages))
            await asyncio.gather(*map(keep, numbers))
        assert self.cluster or (await self.store.stats()).pages == pages
        await Counting.all_done()
        found = Counter({"bytes": self.info("memory", "used_memory") - empty})
        for server in self.servers:
            client = server.client()
            for key in client.scan_iter(count=1000):
                size = client.memory_usage(key, samples=0)
                found[f"bytes of {KEY.match(key).lastgroup}"] += size
        return {name: size / pages for name, size in found.items()}

    async def logged(self, numbers: range) -> float:
        client = self.servers[0].client()
        client.config_set("appendonly", "yes")
        while (about := client.info("persistence"))["aof_rewrite_in_progress"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        for number in numbers:
            await self.store.check_and_add(self.page(number))
        after = client.info("persistence")["aof_current_size"]
        client.config_set("appendonly", "no")
        return (after - about["aof_current_size"]) / len(numbers)

    def info(self, section: str, *names: str) -> float:
        found = (server.client().info(section) for server in self.servers)
        return sum(each[name] for each in found for name in names)


class Timing:
    """One kind of call: seconds of each and of all, CPU of both sides, calls and requests."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.sums: Counter[str] = Counter()
        self.rounds: dict[str, list[float]] = {"requests": [], "scripts": []}

    async def run(self, by: Contestant, pages: list[Page], at_once: int, wanted: Decision) -> None:
        waiting = iter(pages)

        async def work() -> None:
            for page in waiting:
                start = time.perf_counter()
                verdict = await by.store.check_and_add(page)
                assert verdict.decision is wanted, f"a wrong answer for {page}"
                self.seconds.append(time.perf_counter() - start)

        def clocks() -> dict[str, float]:
            return {"wall": time.perf_counter(), "client": time.process_time(),
                    "server": by.info("cpu", "used_cpu_user", "used_cpu_sys")}  # fmt: skip

        before = clocks()
        Counting.requests = Counting.made = 0
        await asyncio.gather(*(work() for _ in range(at_once)))
        await Counting.all_done()
        self.sums.update({name: value - before[name] for name, value in clocks().items()})
        self.rounds["requests"].append(Counting.requests / len(pages))
        self.rounds["scripts"].append(Counting.made / len(pages))

    def figures(self, at_once: int) -> dict[str, float]:
        count = len(self.seconds)
        found = {"pages/s": count / self.sums["wall"]}
        found |= {f"{side} CPU µs": self.sums[side] / count * 1e6 for side in ("server", "client")}
        if at_once == 1:
            found["p50 µs"] = statistics.median(self.seconds) * 1e6
            found["p99 µs"] = statistics.quantiles(self.seconds, n=100)[98] * 1e6
        if at_once == 1 and any(self.rounds["scripts"]):
            found |= {name: statistics.median(made) for name, made in self.rounds.items()}
        return found


def batches(pages: int, probes: int, at_once: tuple[int, ...]) -> Iterator[tuple]:
    """Yield kind, concurrency and page numbers of each timing; no number comes twice."""
    size = max(probes // ROUNDS, 1)
    timings = itertools.product(range(ROUNDS), at_once, KINDS)
    for start, (_, number, kind) in zip(itertools.count(pages, size), timings, strict=False):
        yield kind, number, range(start, start + size)


async def measure(
    pages: int,
    probes: int,
    preset: list[str],
    tables: list[int],
    distances: list[int],
    *,
    expected: int,
    cluster: bool,
) -> dict[str, dict[str, float]]:
    results: dict[str, dict[str, float]] = {}
    async with AsyncExitStack() as stack:
        contestants = []
        for name, number, distance in itertools.product(preset, tables, distances):
            one = Contestant(name, number, distance, expected or pages, stack, cluster=cluster)
            contestants.append(one)
            await stack.enter_async_context(one.store)
            results[one.name] = await one.fill(pages)
            if not cluster:
                numbers = range(pages, pages + LOGGED)
                results[one.name]["bytes of log, each new page"] = await one.logged(numbers)
        at_once = (1, 8) if cluster else (1, 8, 64)
        for turn, (kind, number, numbers) in enumerate(batches(pages + LOGGED, probes, at_once)):
            for one in contestants[:: 1 if turn % 2 else -1]:
                if kind == "refused" and not one.matching.text_bits:
                    continue
                near = partial(one.near, repeats=kind == "duplicate")
                arrivals = [one.page(each) if kind == "new" else near(each * STEP % pages, each)
                            for each in numbers]  # fmt: skip
                await one.timings[kind, number].run(one, arrivals, number, KINDS[kind])
        for one in contestants:
            for (kind, number), timing in one.timings.items():
                for figure, value in timing.figures(number).items():
                    results[one.name][f"{kind}, {number} at once: {figure}"] = value
    return results


def table(results: dict[str, dict[str, float]]) -> Iterator[str]:
    first, *others = results
    yield f"{'':38}" + "".join(f"{name:>10}{'':>9}" for name in results).rstrip()
    for figure in dict.fromkeys(name for found in results.values() for name in found):
        base = results[first].get(figure)
        line = f"{figure:38}" + ("" if base is None else f"{base:10.1f}").ljust(19)
        for name in others:
            value, against = results[name].get(figure, 0.0), ""
            if base:
                against = f"{value - base:+.0f}" if "bytes" in figure else f"x{value / base:.2f}"
            line += f"{value:10.1f}{against:>9}"
        yield line.rstrip()


def main() -> None:
    options = arguments(
        __doc__, pages=(200_000, "put there first"), probes=(5_000, "pages a timing"),
        preset=["paper", "best", "compact"], tables=([4], None, list(DESIGNS)),
        distances=([K], "in bits"), expected=(0, "NEARDUP_EXPECTED_PAGES; 0: PAGES"),
        cluster=(False, "three masters"), beside=(Path, "another checkout"),
        quick={"pages": 300, "probes": 60},
    )  # fmt: skip
    given = {key: value for key, value in vars(options).items() if key not in {"quick", "beside"}}
    if options.beside is None:
        print(f"{options.pages:,} pages", *table(asyncio.run(measure(**given))), sep="\n")
        return
    trees = {"before": options.beside.resolve(), "now": ROOT}
    for preset, tables in itertools.product(options.preset, options.tables):
        print(f"{options.pages:,} pages of {preset}, {tables} tables")
        has_texts = Parameters(**PRESETS[preset]).matching.text_bits
        kinds = [each for each in KINDS if each != "refused" or has_texts]
        words = preset, tables, options.expected or options.pages
        print(*table(compare(trees, words, options.pages, options.probes, kinds)), sep="\n")


if __name__ == "__main__":
    main()
