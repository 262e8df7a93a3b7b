"""What features and evidence add in Redis: memory of a page, and time of a call.

One server for each preset, started here. The same pages are put into all of them through the
store, call by call, and confirmed: fingerprints, features and sketches are uniform, and a tenth of
the bins is of links. Then pages are judged in rounds, by one
preset and the next in turn, so that what else the machine does meets all of them:

new        it resembles none
duplicate  of a page there: 0 to 3 bits away, shares half of its features, differs in 3 % of
           the bins, and a quarter of the bins are furniture
refused    as near, and shares a feature, but its text differs: it is kept

Every answer is checked against what was planted.

    python benchmarks/redis_sketches.py                      # 200,000 pages
    python benchmarks/redis_sketches.py --pages 1_000_000

"bytes" are what the server takes for everything, the rest is MEMORY USAGE; no URLs are stored.
"log" is what appendonly writes, at this size, of a page that is kept.
"server CPU" is that of the server's process (INFO cpu).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from redis_servers import RedisServer
from redis_store import K, Timing, used_memory

from scrapy_neardup.evidence.context import SiteContext
from scrapy_neardup.evidence.decision import deciding
from scrapy_neardup.evidence.layout import HEAD, LINKS, Head, pack_planes
from scrapy_neardup.options import PRESETS
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import Matching, StoreOptions
from scrapy_neardup.stores.base import Store
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Decide, Decision, Page

ROUNDS = 10
KINDS = ("new", "duplicate", "refused")
STEP = 7919  # a prime: pages that others resemble come in no order, and none twice
AT_ONCE = (1, 64)
FILLED_AT_ONCE = 512
LOGGED = 500
FURNITURE, ASIDE, DIFFERING = 0.25, 0.1, 0.03
NAMES = {"page": "identity", "f": "features", "body": "sketches", "bodies": "sketches"}
"""Tree of keys -> what it is for, apart from the tables."""


class Planted:
    """Pages of one preset, made of a number each: the same ones as often as they are asked for."""

    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.furniture: dict[int, Plane] = {}
        """Page id -> what is known of the page."""

    def page(self, number: int) -> Page:
        """Return the page of this number, which resembles no other's."""
        matching, chance = self.matching, np.random.default_rng(number)
        page_id, fingerprint = chance.integers(0, 2**64, 2, dtype=np.uint64).tolist()
        features = chance.integers(0, 2**64, matching.features, dtype=np.uint64)
        evidence = b""
        if matching.bins:
            head = Head(
                path=int(chance.integers(2**16)),
                title=frozenset(chance.integers(1, 2**16, 6).tolist()),
                places=tuple(chance.integers(1, 2**16, 4).tolist()),
                name=int(chance.integers(2**16)),
            )
            minima = chance.integers(0, 2**64, matching.bins, dtype=np.uint64)
            owners = np.where(_bins(chance, matching.bins, ASIDE), LINKS, 0).astype(np.uint8)
            evidence = head.pack() + pack_planes(minima, owners, matching.bits)
        return Page(
            id=page_id,
            fingerprint=fingerprint,
            features=tuple(features.tolist()),
            evidence=evidence,
        )

    def near(self, known: int, number: int, *, repeats: bool) -> Page:
        """Return a page near that of number `known`; what it doesn't repeat has its own text."""
        base, own = self.page(known), self.page(number)
        chance = np.random.default_rng((known, number))
        flipped = chance.choice(64, number % (K + 1), replace=False).tolist()
        shared = self.matching.features // 2 if repeats else 1
        evidence = own.evidence
        if repeats and base.evidence:
            changed = _bins(chance, self.matching.bins, DIFFERING)
            furniture = _bins(chance, self.matching.bins, FURNITURE) & ~changed
            self.furniture[own.id] = Plane(_plane(furniture))
            text = bytearray(base.evidence)
            end = HEAD.size + len(changed) // 8
            first = int.from_bytes(text[HEAD.size : end], "little") ^ _plane(changed)
            text[HEAD.size : end] = first.to_bytes(len(changed) // 8, "little")
            evidence = bytes(text)
        return Page(
            id=own.id,
            fingerprint=base.fingerprint ^ sum(1 << bit for bit in flipped),
            features=base.features[:shared] + own.features[shared:],
            evidence=evidence,
        )

    def decide(self, page: Page) -> Decide:
        """Return what decides about a page."""
        return deciding(page, self.matching, SiteContext(furniture=self.furniture.get(page.id)))


@dataclass(frozen=True)
class Plane:
    """Furniture that is known."""

    bins: int

    def plane(self) -> int:
        """Return it, bin i as bit i."""
        return self.bins

    def lacked(self, bits: int) -> None:  # noqa: ARG002
        return None

    def is_most(self) -> bool:
        """Return that other text is left."""
        return False


def _bins(chance: np.random.Generator, count: int, share: float) -> NDArray[np.bool_]:
    """Return which of so many bins are chosen, a share of them."""
    bins = np.zeros(count, np.bool_)
    bins[chance.choice(count, round(share * count), replace=False)] = True
    return bins


def _plane(bins: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(bins, bitorder="little").tobytes(), "little")


class Contestant:
    """One preset: its server, its store, its pages."""

    def __init__(self, preset: str, server: RedisServer) -> None:
        matching = Parameters(**PRESETS[preset]).matching
        options = StoreOptions(namespace="bench", max_distance=K, matching=matching)
        self.preset, self.server = preset, server
        self.store: Store = RedisStore(server.uri, options)
        self.planted = Planted(matching)
        self.empty = 0

    async def fill(self, pages: int) -> None:
        """Store pages, each of which must be new, and confirm them."""
        self.empty = used_memory(self.server)

        async def keep(number: int) -> None:
            page = self.planted.page(number)
            assert (await self.store.check_and_add(page)).decision is Decision.NEW
            await self.store.confirm(page.id)

        for start in range(0, pages, FILLED_AT_ONCE):
            numbers = range(start, min(start + FILLED_AT_ONCE, pages))
            await asyncio.gather(*map(keep, numbers))
        assert (await self.store.stats()).pages == pages

    def memory(self) -> dict[str, int]:
        """Bytes by what they are for."""
        found = Counter({"bytes": used_memory(self.server) - self.empty})
        client = self.server.client()
        for key in client.scan_iter("nd:bench:*", count=1000):
            tree = key.decode().split(":")[2]
            kind = "tables" if tree.strip("t").isdigit() else NAMES.get(tree, "rest")
            found[f"bytes of {kind}"] += client.memory_usage(key, samples=0)
        return dict(found)

    async def logged(self, numbers: range) -> float:
        """Bytes of the server's log for each new page."""
        client = self.server.client()
        client.config_set("appendonly", "yes")
        while (about := client.info("persistence"))["aof_rewrite_in_progress"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        before: int = about["aof_current_size"]
        for number in numbers:
            assert not await self.judge(self.planted.page(number))
        after: int = client.info("persistence")["aof_current_size"]
        client.config_set("appendonly", "no")
        return (after - before) / len(numbers)

    async def judge(self, page: Page) -> bool:
        verdict = await self.store.check_and_add(page, self.planted.decide(page))
        return verdict.is_duplicate


def batches(pages: int, probes: int) -> Iterator[tuple[str, int, range]]:
    """Yield kind, concurrency and page numbers of each timing; no number comes twice."""
    count = max(probes // ROUNDS, 1)
    starts = itertools.count(pages, count)
    for _ in range(ROUNDS):
        for at_once, kind in itertools.product(AT_ONCE, KINDS):
            start = next(starts)
            yield kind, at_once, range(start, start + count)


async def race(
    contestants: list[Contestant], pages: int, probes: int
) -> dict[tuple[str, str, int], Timing]:
    """Time each kind of call at each concurrency, by one contestant and the other in turn."""
    timings: dict[tuple[str, str, int], Timing] = defaultdict(Timing)
    for turn, (kind, at_once, numbers) in enumerate(batches(pages, probes)):
        for contestant in contestants[:: 1 if turn % 2 else -1]:
            planted = contestant.planted
            if kind == "refused" and not planted.matching.bins:
                continue
            arrivals = [
                planted.page(number)
                if kind == "new"
                else planted.near(number * STEP % pages, number, repeats=kind == "duplicate")
                for number in numbers
            ]
            timing = timings[contestant.preset, kind, at_once]
            repeats = kind == "duplicate"
            await timing.run(contestant.server, contestant.judge, arrivals, at_once, repeats)
    return timings


async def measure(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the figures of each preset."""
    results: dict[str, dict[str, float]] = {}
    async with AsyncExitStack() as stores:
        servers = stores.enter_context(ExitStack())
        contestants = []
        for preset in ("paper", "best", "compact"):
            server = servers.enter_context(RedisServer())
            contestant = Contestant(preset, server)
            await stores.enter_async_context(contestant.store)
            await contestant.fill(options.pages)
            memory = contestant.memory()
            results[preset] = {name: size / options.pages for name, size in memory.items()}
            numbers = range(options.pages, options.pages + LOGGED)
            results[preset]["bytes of log, each new page"] = await contestant.logged(numbers)
            contestants.append(contestant)
        for (preset, kind, at_once), timing in (
            await race(contestants, options.pages + LOGGED, options.probes)
        ).items():
            for figure, value in timing.figures(at_once).items():
                results[preset][f"{kind}, {at_once} at once: {figure}"] = value
    return results


def table(results: dict[str, dict[str, float]]) -> str:
    """Return the figures side by side, and what each preset has more than the first, or times."""
    first, *others = results
    lines = [f"{'':34}" + "".join(f"{name:>10}{'':>9}" for name in results).rstrip()]
    for figure in dict.fromkeys(name for found in results.values() for name in found):
        base = results[first].get(figure)
        line = f"{figure:34}" + ("" if base is None else f"{base:10.1f}").ljust(19)
        for name in others:
            value = results[name].get(figure, 0.0)
            against = ""
            if base is not None:
                against = f"{value - base:+.0f}" if "bytes" in figure else f"x{value / base:.2f}"
            line += f"{value:10.1f}{against:>9}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--probes", type=int, default=5_000, help="pages a timing")
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.pages, options.probes = 2_000, 100
    print(f"{options.pages:,} pages, k = {K}")
    print(table(asyncio.run(measure(options))))


if __name__ == "__main__":
    main()
