"""Memory and speed of the Redis store against sorted sets used the naive way.

Both keep the same pages on a server of their own, started here: the store's packed
buckets, and one sorted set a table (members: permuted fingerprints, found by
ZRANGEBYLEX), also one script a page. Uniform fingerprints fill them; then new pages and
duplicates alternate. Every answer is checked against what was planted.

    python benchmarks/redis_store.py                     # 1 million pages, 4 and 10 tables
    python benchmarks/redis_store.py --pages 10_000_000 --tables 10 --no-naive
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from redis.asyncio import Redis
from redis_servers import RedisServer

from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.stores.redis import RedisStore
from scrapy_neardup.stores.redis_client import Scripts
from scrapy_neardup.stores.redis_layout import Layout
from scrapy_neardup.verdict import Decision, Page

K = 3
BATCH = 256
NAIVE = """
local byte, sub, char, floor = string.byte, string.sub, string.char, math.floor
local bxor = bit.bxor
local ones = {}
for i = 0, 255 do
  local n, c = i, 0
  while n > 0 do c = c + n % 2; n = floor(n / 2) end
  ones[i] = c
end
local id, bits = ARGV[1], tonumber(ARGV[2])
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
  local members = redis.call('ZRANGEBYLEX', 'naive:' .. i, '[' .. from, '[' .. to)
  for _, m in ipairs(members) do
    local d = 0
    for j = 1, 8 do d = d + ones[bxor(byte(m, j), byte(f, j))] end
    if d <= bits then return {'duplicate', d} end
  end
end
for i = 3, #ARGV, 2 do
  redis.call('ZADD', 'naive:' .. i, 0, i == 3 and ARGV[i] .. id or ARGV[i])
end
return {'new'}
"""


class Naive:
    """Sorted sets, one script a page; no page ids but in the first set."""

    def __init__(self, uri: str, layout: Layout) -> None:
        self.client = Redis.from_url(uri)
        self.layout = layout
        self.scripts = Scripts(self.client, {"naive": NAIVE}, uri)
        self.prefixes = [table.prefix_bits for table in layout.design.tables]

    async def open(self) -> None:
        await self.scripts.load()

    async def close(self) -> None:
        await self.client.aclose()

    async def judge(self, page: Page) -> bool:
        permuted = self.layout.permuted(page.fingerprint)
        words = [word for pair in zip(permuted, self.prefixes, strict=True) for word in pair]
        reply = await self.scripts.call("naive", page.id.to_bytes(8, "big"), K, *words)
        return reply[0] == b"duplicate"


class Packed:
    """The Redis store; pages are confirmed as they are kept."""

    def __init__(self, uri: str, layout: Layout) -> None:
        self.store = RedisStore(
            uri, StoreOptions(namespace="bench", max_distance=K), layout=layout
        )

    async def open(self) -> None:
        await self.store.open()

    async def close(self) -> None:
        await self.store.close()

    async def judge(self, page: Page) -> bool:
        return (await self.store.check_and_add(page)).decision is Decision.DUPLICATE


async def together(
    judge: Callable[[Page], Awaitable[bool]], pages: list[Page], at_once: int
) -> tuple[list[bool], list[float]]:
    """Judge pages with so many under way; return answers and seconds each."""
    answers, seconds = [False] * len(pages), [0.0] * len(pages)
    numbers = iter(range(len(pages)))

    async def work() -> None:
        for number in numbers:
            start = time.perf_counter()
            answers[number] = await judge(pages[number])
            seconds[number] = time.perf_counter() - start

    await asyncio.gather(*(work() for _ in range(at_once)))
    return answers, seconds


def server_seconds(server: RedisServer) -> float:
    """CPU time of the server process: what other processes do meanwhile doesn't count."""
    used = server.client().info("cpu")
    return used["used_cpu_user"] + used["used_cpu_sys"]


def memory_by_kind(server: RedisServer, prefix: str) -> dict[str, int]:
    """Bytes of the keys of a namespace: tables, identity (page ids, evidence), the rest."""
    client = server.client()
    kinds = {"tables": 0, "identity": 0, "rest": 0}
    for key in client.scan_iter(match=f"{prefix}*", count=1000):
        name = key.decode().removeprefix(prefix)
        kind = "tables" if name[0] == "t" and name[1].isdigit() else "rest"
        kind = "identity" if name.startswith("page:") else kind
        kinds[kind] += client.memory_usage(key, samples=0)
    return kinds


async def measure(
    contestant: Naive | Packed, server: RedisServer, options: argparse.Namespace
) -> dict[str, float]:
    """Fill a server and time new pages and duplicates on it."""
    chance = np.random.default_rng(7)
    empty = server.client().info("memory")["used_memory"]
    await contestant.open()
    prints = chance.integers(0, 2**64, options.pages, dtype=np.uint64)
    for start in range(0, options.pages, 65536):
        part = prints[start : start + 65536].tolist()
        pages = [Page(id=start + n, fingerprint=one) for n, one in enumerate(part)]
        answers, _ = await together(contestant.judge, pages, BATCH)
        assert not any(answers), "uniform fingerprints have no near-duplicates"
        if isinstance(contestant, Packed):
            await asyncio.gather(*(contestant.store.confirm(page.id) for page in pages))
        if sys.stderr.isatty():
            print(f"\r{start + len(part):,} pages", end="", file=sys.stderr)
    held = server.client().info("memory")["used_memory"] - empty
    figures: dict[str, float] = {"bytes": held / options.pages}
    if isinstance(contestant, Packed):
        for kind, size in memory_by_kind(server, "nd:bench:").items():
            figures[f"bytes of {kind}"] = size / options.pages
    new = [
        Page(id=options.pages + n, fingerprint=one)
        for n, one in enumerate(
            chance.integers(0, 2**64, 3 * options.probes, dtype=np.uint64).tolist()
        )
    ]
    known = prints[chance.integers(0, options.pages, 3 * options.probes)].tolist()
    flips = [sum(1 << bit for bit in chance.choice(64, n % (K + 1), replace=False).tolist())
             for n in range(len(known))]  # fmt: skip
    near = [
        Page(id=2 * options.pages + n, fingerprint=one ^ flip)
        for n, (one, flip) in enumerate(zip(known, flips, strict=True))
    ]
    for kind, pages, wanted in (("new", new, False), ("duplicate", near, True)):
        for at_once, part in ((1, 0), (8, 1), (64, 2)):
            chosen = pages[part::3]
            before = server_seconds(server)
            start = time.perf_counter()
            answers, seconds = await together(contestant.judge, chosen, at_once)
            spent = time.perf_counter() - start
            used = server_seconds(server) - before
            assert all(answer is wanted for answer in answers), f"a wrong answer for a {kind} page"
            figures[f"{kind}, {at_once} at once: pages/s"] = len(chosen) / spent
            figures[f"{kind}, {at_once} at once: server CPU µs"] = used / len(chosen) * 1e6
            if at_once == 1:
                figures[f"{kind}: p50 µs"] = statistics.median(seconds) * 1e6
                figures[f"{kind}: p99 µs"] = statistics.quantiles(seconds, n=100)[98] * 1e6
    await contestant.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--probes", type=int, default=20_000, help="pages a timing")
    parser.add_argument("--tables", type=int, nargs="+", choices=[4, 10], default=[4, 10])
    parser.add_argument("--no-naive", action="store_true", help="leave the sorted sets out")
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.pages, options.probes = 2_000, 200
    for tables in options.tables:
        layout = Layout(K, {4: 4, 10: 5}[tables])
        contestants = {"packed": Packed} | ({} if options.no_naive else {"sorted sets": Naive})
        results = {}
        for name, kind in contestants.items():
            with RedisServer() as server:
                results[name] = asyncio.run(measure(kind(server.uri, layout), server, options))
        print(f"\n{options.pages:,} pages, {tables} tables, k = {K}")
        print(f"{'':34}" + "".join(f"{name:>14}" for name in results) + f"{'ratio':>9}")
        for figure, value in results["packed"].items():
            row = f"{figure:34}{value:14.1f}"
            if "sorted sets" in results and figure in results["sorted sets"]:
                other = results["sorted sets"][figure]
                row += f"{other:14.1f}{other / value:9.2f}"
            print(row)


if __name__ == "__main__":
    main()
