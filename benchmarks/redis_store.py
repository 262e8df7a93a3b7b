"""Memory and speed of the Redis store against sorted sets used the naive way.

Both keep the same pages, each on a server of its own, started here: the store's packed
buckets; and one sorted set a table (members: permuted fingerprints, found by ZRANGEBYLEX)
with a hash from page id to the same record, one script a page as well, which takes the first
match and not the nearest, and knows neither leases nor retention nor counts. Fingerprints and
page ids are uniform; what is there before the timing is put there in bulk (redis_fill.py).
Then new pages and duplicates are judged through the client, in rounds, by one and the other
in turn, so that what else the machine does meets both. Every answer is checked against what
was planted.

    python benchmarks/redis_store.py                     # 1 million pages; 4, 6 and 10 tables
    python benchmarks/redis_store.py --pages 10_000_000 --tables 10 --no-naive

"bytes" are what the server takes for everything, the rest is MEMORY USAGE: tables, which hold
page ids and digests, too; identity (page id -> start of the fingerprint); retention (when a page
was last seen: 4 bytes of each identity record). No URLs are stored; each adds its length and some
70 bytes. "server CPU" is that of the server's process (INFO cpu).
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Self

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from redis.asyncio import Redis
from redis_fill import DIGEST_BYTES, TIME, Words, fill_identity, fill_packed, fill_sorted_sets
from redis_servers import RedisServer

from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.stores.base import Store
from scrapy_neardup.stores.redis.keyspace import Layout, prefix
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Decision, Page

K = 3
ROUNDS = 10
AT_ONCE = (1, 8, 64)
LAYOUTS = {4: Layout(K, 4), 6: Layout(K, 3, parts=2), 10: Layout(K, 5)}
NAIVE = """
local byte, sub, char, floor = string.byte, string.sub, string.char, math.floor
local bxor = bit.bxor
local ones = POPCOUNT
local id, bits = ARGV[1], tonumber(ARGV[2])
local known = redis.call('HGET', 'naive:pages', id)
if known then
  local d, f = 0, ARGV[3]
  for j = 1, 8 do d = d + byte(ones, bxor(byte(known, j), byte(f, j)) + 1) end
  if d <= bits then return {'seen', d} end
end
for i = 3, #ARGV, 2 do
  local f, p = ARGV[i], tonumber(ARGV[i + 1])
  local whole, rest = floor(p / 8), p % 8
  local from, to = sub(f, 1, whole), sub(f, 1, whole)
  if rest > 0 then
    local b, step = byte(f, whole + 1), 2 ^ (8 - rest)
    from = from .. char(b - b % step)
    to = to .. char(b - b % step + step - 1)
  end
  to = to .. string.rep('\\255', 20)
  local members = redis.call('ZRANGEBYLEX', 'naive:' .. (i - 1) / 2, '[' .. from, '[' .. to)
  for _, m in ipairs(members) do
    local d = 0
    for j = 1, 8 do d = d + byte(ones, bxor(byte(m, j), byte(f, j)) + 1) end
    if d <= bits then return {'duplicate', d} end
  end
end
for i = 3, #ARGV, 2 do
  redis.call('ZADD', 'naive:' .. (i - 1) / 2, 0, i == 3 and ARGV[i] .. id or ARGV[i])
end
redis.call('HSET', 'naive:pages', id, ARGV[3] .. RECORD)
return {'new'}
"""
NAIVE = NAIVE.replace("POPCOUNT", "'" + "".join(f"\\{n.bit_count()}" for n in range(256)) + "'")
NAIVE = NAIVE.replace("RECORD", f"string.rep('0', {DIGEST_BYTES + TIME})")


class Naive:
    """Sorted sets and a hash of page ids, one script a page."""

    fill = staticmethod(fill_sorted_sets)
    prefix = "naive:"

    def __init__(self, uri: str, layout: Layout) -> None:
        self.client = Redis.from_url(uri)
        self.layout = layout
        self.waiting: list[tuple[tuple[object, ...], asyncio.Future[list[bytes]]]] = []
        self.sender: asyncio.Task[None] | None = None
        self.prefixes = [table.prefix_bits for table in layout.tables]

    async def __aenter__(self) -> Self:
        self.script = await self.client.script_load(NAIVE)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def judge(self, page: Page) -> bool:
        permuted = self.layout.permuted(page.fingerprint)
        words = [word for pair in zip(permuted, self.prefixes, strict=True) for word in pair]
        reply = await self.call(page.id.to_bytes(8, "big"), K, *words)
        return reply[0] == b"duplicate"

    async def call(self, *arguments: object) -> list[bytes]:
        """Call the script; calls that are due while others are under way share a pipeline."""
        loop = asyncio.get_running_loop()
        self.waiting.append((arguments, loop.create_future()))
        if self.sender is None:
            self.sender = loop.create_task(self.send())
        return await self.waiting[-1][1]

    async def send(self) -> None:
        while self.waiting:
            calls, self.waiting = self.waiting, []
            async with self.client.pipeline(transaction=False) as pipeline:
                for arguments, _ in calls:
                    pipeline.execute_command("EVALSHA", self.script, 0, *arguments)
                replies = await pipeline.execute()
            for (_, future), reply in zip(calls, replies, strict=True):
                future.set_result(reply)
        self.sender = None


class Packed:
    """The Redis store."""

    fill = staticmethod(fill_packed)
    prefix = prefix("bench")

    def __init__(self, uri: str, layout: Layout) -> None:
        options = StoreOptions(namespace="bench", max_distance=K)
        self.store: Store = RedisStore(uri, options, layout=layout)

    async def __aenter__(self) -> Self:
        await self.store.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    async def judge(self, page: Page) -> bool:
        return (await self.store.check_and_add(page)).decision is Decision.DUPLICATE

    async def confirm(self, page: Page) -> bool:
        await self.store.confirm(page.id)
        return False


class Timing:
    """One kind of call on one server: seconds of each, of all, and the server's CPU time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.spent = self.used = 0.0

    async def run(
        self,
        server: RedisServer,
        call: Callable[[Page], Awaitable[bool]],
        pages: list[Page],
        at_once: int,
        wanted: bool,
    ) -> None:
        """Call with so many under way; every answer has to be the wanted one."""
        numbers = iter(pages)

        async def work() -> None:
            for page in numbers:
                start = time.perf_counter()
                assert await call(page) is wanted, f"a wrong answer for {page}"
                self.seconds.append(time.perf_counter() - start)

        used, start = server_seconds(server), time.perf_counter()
        await asyncio.gather(*(work() for _ in range(at_once)))
        self.spent += time.perf_counter() - start
        self.used += server_seconds(server) - used

    def figures(self, at_once: int) -> dict[str, float]:
        count = len(self.seconds)
        found = {"pages/s": count / self.spent, "server CPU µs": self.used / count * 1e6}
        if at_once == 1:
            found["p50 µs"] = statistics.median(self.seconds) * 1e6
            found["p99 µs"] = statistics.quantiles(self.seconds, n=100)[98] * 1e6
        return found


def server_seconds(server: RedisServer) -> float:
    """CPU time of the server process: what other processes do meanwhile doesn't count."""
    used = server.client().info("cpu")
    return used["used_cpu_user"] + used["used_cpu_sys"]


def used_memory(server: RedisServer) -> int:
    return server.client().info("memory")["used_memory"]


def memory_by_kind(server: RedisServer) -> dict[str, int]:
    """Bytes of the keys by what they are for."""
    kinds = dict.fromkeys(("tables", "identity", "retention", "rest"), 0)
    client = server.client()
    for key in client.scan_iter(count=1000):
        kind = key.decode().removeprefix(Packed.prefix).removeprefix(Naive.prefix).split(":")[0]
        kind = "tables" if kind.strip("t").isdigit() else kind
        kind = {"page": "identity", "pages": "identity"}.get(kind, kind)
        kinds[kind if kind in kinds else "rest"] += client.memory_usage(key, samples=0)
    return kinds


def memory_without_times(server: RedisServer, layout: Layout, keys: Words, ids: Words) -> int:
    """Bytes of the identity of pages if it had no times: stored once more, to see that."""
    client = server.client()
    fill_identity(client, "without", layout, keys, ids, with_time=False)
    names = list(client.scan_iter("without:*", count=1000))
    size = sum(client.memory_usage(name, samples=0) for name in names)
    client.unlink(*names)
    return size


def probes(chance: np.random.Generator, keys: Words, count: int) -> dict[bool, list[Page]]:
    """New pages, and duplicates 0 to K bits away, half of each; ids are new to all."""
    new = chance.integers(0, 2**64, count, dtype=np.uint64).tolist()
    known = keys[chance.integers(0, len(keys), count)].tolist()
    near = [
        one ^ sum(1 << int(bit) for bit in chance.choice(64, n % (K + 1), replace=False))
        for n, one in enumerate(known)
    ]
    ids = iter(chance.integers(0, 2**64, 2 * count, dtype=np.uint64).tolist())
    return {
        duplicate: [Page(id=next(ids), fingerprint=one) for one in prints]
        for duplicate, prints in ((False, new), (True, near))
    }


async def measure(options: argparse.Namespace, layout: Layout) -> dict[str, dict[str, float]]:
    """Fill the servers and time them in turn; return figures by contestant."""
    chance = np.random.default_rng(7)
    keys, ids = chance.integers(0, 2**64, (2, options.pages), dtype=np.uint64)
    kinds = [Packed] if options.no_naive else [Packed, Naive]
    results: dict[str, dict[str, float]] = {}
    async with AsyncExitStack() as stores:
        servers = stores.enter_context(ExitStack())
        contestants = []
        for kind in kinds:
            server = servers.enter_context(RedisServer())
            contestant = await stores.enter_async_context(kind(server.uri, layout))
            empty = used_memory(server)
            kind.fill(server.client(), kind.prefix, layout, keys, ids)
            found = {"bytes": used_memory(server) - empty}
            parts = memory_by_kind(server)
            if kind is Packed:
                without = memory_without_times(server, layout, keys, ids)
                parts |= {"retention": parts["identity"] - without, "identity": without}
            found |= {f"bytes of {part}": size for part, size in parts.items()}
            results[kind.__name__] = {name: size / options.pages for name, size in found.items()}
            contestants.append((contestant, server))
        timings = await race(contestants, probes(chance, keys, len(AT_ONCE) * options.probes))
    for (name, title, at_once), timing in timings.items():
        for figure, value in timing.figures(at_once).items():
            results[name][f"{title}, {at_once} at once: {figure}"] = value
    return results


async def race(
    contestants: list[tuple[Naive | Packed, RedisServer]], pages: dict[bool, list[Page]]
) -> dict[tuple[str, str, int], Timing]:
    """Time each kind of call at each concurrency, by one contestant and the other in turn."""
    timings: dict[tuple[str, str, int], Timing] = defaultdict(Timing)
    for turn in range(ROUNDS):
        for number, at_once in enumerate(AT_ONCE):
            for duplicate, title in ((False, "new"), (True, "duplicate")):
                part = pages[duplicate][turn * len(AT_ONCE) + number :: ROUNDS * len(AT_ONCE)]
                for contestant, server in contestants[:: 1 if turn % 2 else -1]:
                    name = type(contestant).__name__
                    timing = timings[name, title, at_once]
                    await timing.run(server, contestant.judge, part, at_once, duplicate)
                    if isinstance(contestant, Packed) and not duplicate:
                        timing = timings[name, "confirm", 64]
                        await timing.run(server, contestant.confirm, part, 64, False)
    return timings


def table(results: dict[str, dict[str, float]]) -> str:
    """Return the figures side by side; a ratio above 1 is in favour of the store."""
    lines = [f"{'':38}" + "".join(f"{name:>11}" for name in results) + f"{'ratio':>8}"]
    for figure, value in results["Packed"].items():
        line = f"{figure:38}{value:11.1f}"
        if value and (other := results.get("Naive", {}).get(figure)):
            ratio = value / other if "pages/s" in figure else other / value
            line += f"{other:11.1f}{ratio:8.2f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--probes", type=int, default=20_000, help="pages a timing")
    parser.add_argument("--tables", type=int, nargs="+", choices=list(LAYOUTS), default=[4, 6, 10])
    parser.add_argument("--no-naive", action="store_true", help="leave the sorted sets out")
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.pages, options.probes = 20_000, 200
    for tables in options.tables:
        results = asyncio.run(measure(options, LAYOUTS[tables]))
        print(f"{options.pages:,} pages, {tables} tables, k = {K}", table(results), sep="\n")


if __name__ == "__main__":
    main()
