"""A storm over a cluster store, and a judge of what came out of it.

Crawlers (stores of their own on one cluster) get near-duplicates at the same time, in groups
(`cluster_pages.py`). Calls are delayed at random, some are
repeated as if their reply had been lost, some crawlers die between two calls; kept pages
are confirmed, forgotten, replaced by other content, or left to lapse.

Everything that happens to a page is written down with the time before and after the call,
so the judge knows when an entry was *surely* live and when it was *possibly* live. Leases
too: an entry is surely live until the lease ends that was given to it last, by a call that
surely came in time. One that was confirmed later than that is excused only if it is gone
from the cluster, right after `confirm`; if it isn't, it was never dead.
"""

import asyncio
import math
import random
from collections import defaultdict
from dataclasses import dataclass, field

from cluster_pages import K, Pages, decide_as

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import Matching, StoreOptions
from scrapy_neardup.stores.base import MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis import namespace
from scrapy_neardup.stores.redis.calls import sha
from scrapy_neardup.stores.redis.cluster import clusterstore as protocol
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.pages import GONE, STAMP
from scrapy_neardup.verdict import Decision, Page

ROUNDING = 0.002
"""Seconds: the server counts milliseconds, and two clocks read a little apart."""


class CrawlerDiedError(StoreUnavailableError):
    """Raised between two calls; what was to be done beside judging is left undone as well."""


@dataclass
class Storm:
    """How bad the weather is."""

    seed: int
    pages: int
    matching: Matching = field(default_factory=Matching)
    crawlers: int = 4
    tasks: int = 64
    delay: float = 0.004
    repeat: float = 0.03
    die: float = 0.0
    forget: float = 0.1
    replace: float = 0.1
    lapse: float = 0.0
    attempt_lease: float = 1.0
    lease: float = 60.0
    scope: str = "all"
    """As settings say it; pages are of none, and compared with all."""


@dataclass
class Run:
    page: Page
    start: float
    crawler: int = 0
    """Number of the crawler that met it."""
    end: float = math.inf
    outcome: str = "died"
    match: int | None = None
    ended_from: float = math.inf
    """Before this moment nothing was done that could end the entry."""
    ended_by: float = math.inf
    """After this moment the entry is surely gone."""
    late: bool = False
    """Its confirmation may have come after the end of its lease."""
    lapsed: bool = False
    """It had: the entry was gone."""

    def surely_live(self) -> tuple[float, float]:
        return (self.end, self.ended_from) if self.outcome == "new" else (0.0, 0.0)

    def possibly_live(self) -> tuple[float, float]:
        return (self.start, self.ended_by) if self.outcome in {"new", "died"} else (0.0, 0.0)


@dataclass
class Findings:
    pages: int = 0
    both_kept: list[tuple[Run, Run]] = field(default_factory=list)
    dropped_for_nothing: list[Run] = field(default_factory=list)
    both_dropped: list[tuple[Run, Run]] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    late: int = 0
    """Entries that were confirmed when their lease may have been over."""
    excused: int = 0
    """Those that had lapsed, by the evidence of the cluster."""
    refused: int = 0
    """Pairs of candidates that were both kept, as a crawler said no."""
    excepted: int = 0
    """Pairs that were both kept, as they had nothing in common but boilerplate."""

    @property
    def wrong(self) -> int:
        return len(self.both_kept) + len(self.dropped_for_nothing) + len(self.both_dropped)


@dataclass
class Leases:
    """When the leases of attempts end, by the name of the attempt."""

    lasts: dict[bytes, float] = field(default_factory=dict)
    """Not before this moment."""
    over: dict[bytes, float] = field(default_factory=dict)
    """Not after this one."""

    def note(self, verb: str, item: tuple, start: float, end: float) -> None:
        """Note a call that gives a lease; it was executed between `start` and `end`."""
        renewed = verb == "lease" and item[2] == "renew"
        if verb != "commit" and not renewed:
            return
        page_id, stamp = item[:2]
        name, lease = page_id + stamp, namespace.LEASE
        if not renewed or end < self.lasts.get(name, 0.0):  # else it may have come too late
            self.lasts.setdefault(name, 0.0)
            self.lasts[name] = max(self.lasts[name], start + lease - ROUNDING)
        self.over[name] = max(self.over.get(name, 0.0), end + lease + ROUNDING)


def rough(kind: type, storm: Storm, chance: random.Random, leases: Leases) -> type:

    class RoughCalls(ClusterCalls):
        async def make(self, command, item=()):
            clock, make = asyncio.get_running_loop().time, super().make
            if command[1] == sha("open"):  # before the storm
                return await make(command, item)
            verb = next((each for each in ("commit", "lease") if command[1] == sha(each)), "")
            await asyncio.sleep(chance.random() * storm.delay)
            self._perhaps_die()
            start = clock()
            reply = await make(command, item)
            leases.note(verb, item, start, clock())
            if chance.random() < storm.repeat:
                await asyncio.sleep(chance.random() * storm.delay)
                reply = await make(command, item)
                leases.note(verb, item, start, clock())
            await asyncio.sleep(chance.random() * storm.delay)
            self._perhaps_die()
            return reply

        def _perhaps_die(self):
            if storm.die and chance.random() < storm.die:
                raise CrawlerDiedError

    class Rough(kind):  # type: ignore[misc, valid-type]
        calls_class = RoughCalls

        def _give_up(self, page, asked):
            """Who died ends nothing."""

    return Rough


async def rage(  # noqa: C901, PLR0915, one story
    uri: str,
    storm: Storm,
    kind: type[RedisClusterStore] = RedisClusterStore,
    layout: Layout | None = None,
) -> list[Run]:
    chance = random.Random(storm.seed + 1)
    protocol.ATTEMPT_LEASE, namespace.LEASE = storm.attempt_lease, storm.lease
    options = StoreOptions(
        namespace=f"storm-{storm.seed}-{kind.__name__}", max_distance=K, matching=storm.matching
    )
    store_class = rough(kind, storm, chance, leases := Leases())
    stores = [store_class(uri, options, layout=layout) for _ in range(storm.crawlers)]
    for store in stores:
        await store.open()
    for home in stores[0].homes:  # else the first calls of each would take turns
        await stores[0].agree(home)
    clock = asyncio.get_running_loop().time
    runs: list[Run] = []
    last: dict[int, Run] = {}
    left: list[tuple[Run, bytes]] = []  # that nobody renews or confirms any more

    async def meet(page: Page) -> None:
        crawler = chance.randrange(len(stores))
        store, run = stores[crawler], Run(page, clock(), crawler)
        runs.append(run)
        before = last.get(page.id)
        doubted = before is not None and before.ended_from == math.inf
        if doubted:
            before.ended_from = run.start  # this run may replace or withdraw it
        last[page.id] = run
        try:
            verdict = await store.check_and_add(page, decide_as(crawler, page, storm.matching))
        except CrawlerDiedError:
            store._held.pop(page.id, None)  # nobody renews the lease of a dead crawler
            return
        run.end, run.outcome = clock(), str(verdict.decision)
        run.match = verdict.match.page_id if verdict.match else None
        if verdict.decision is Decision.SEEN and before is not None:
            if doubted and before.ended_by == math.inf:
                before.ended_from = math.inf
        elif before is not None:
            before.ended_by = min(before.ended_by, run.end)
        if run.outcome == "new":
            await settle(store, run, page.id.to_bytes(8) + store._held[page.id][1][:STAMP])

    async def settle(store: RedisClusterStore, run: Run, mine: bytes) -> None:
        await asyncio.sleep(chance.random() * storm.delay * 4)
        fate = chance.random()
        lapses, forgotten = fate < storm.lapse, fate < storm.lapse + storm.forget
        try:
            if lapses:
                let_go(store, run.page.id, mine)
            elif forgotten:
                run.ended_from = min(run.ended_from, clock())
                await store.forget(run.page.id)
                run.ended_by = min(run.ended_by, clock())
            else:
                await store.confirm(run.page.id)
                run.late = clock() > leases.lasts[mine]
                run.lapsed = run.late and await gone(store, mine)
        except CrawlerDiedError:
            let_go(store, run.page.id, mine)
            lapses = True  # unless its confirmation had arrived
        if lapses or run.lapsed:
            run.ended_from = min(run.ended_from, leases.lasts[mine])
        if forgotten:
            left.append((run, mine))

    def let_go(store: RedisClusterStore, page_id: int, mine: bytes) -> None:
        if store._held.get(page_id, ("", b""))[1][:STAMP] == mine[8:]:
            del store._held[page_id]  # nobody renews its lease

    async def gone(store: RedisClusterStore, name: bytes) -> bool:
        home = store._of(name)
        command, item = store.command("see", home), (name[:8], name[8:], b"")
        return await ClusterCalls(store._calls.client, uri).make(command, item) == GONE

    weather = Pages(storm.seed, storm.pages, storm.matching)
    free = asyncio.Semaphore(storm.tasks)

    async def meet_group(pages: list[Page]) -> None:
        async with free:
            await asyncio.gather(*map(meet, pages))
            others = [weather.changed(page) for page in pages if chance.random() < storm.replace]
            await asyncio.gather(*map(meet, others))

    await asyncio.gather(*(meet_group(pages) for pages in weather.groups()))
    for run, entry in left:
        run.ended_by = min(run.ended_by, leases.over[entry])
    for store in stores:
        await store._background.close()
        await store._calls.close()  # some outlive a crawler that died
        await store._calls.client.aclose()
    return runs


def judge(storm: Storm, runs: list[Run]) -> Findings:
    """Hold what happened against the two guarantees."""
    rule = Pages(storm.seed, storm.pages, storm.matching)
    findings = Findings(pages=len(runs))
    by_id: dict[int, list[Run]] = defaultdict(list)
    alike: dict[object, list[Run]] = defaultdict(list)
    for run in runs:
        findings.outcomes[run.outcome] += 1
        findings.late += run.late
        findings.excused += run.lapsed
        by_id[run.page.id].append(run)
        for key in rule.keys(run.page):
            alike[key].append(run)
    known = {id(run): run for run in runs}
    pairs = {
        (min(a, b), max(a, b))
        for bucket in alike.values()
        for a in map(id, bucket)
        for b in map(id, bucket)
        if a != b
    }
    dropped = [run for run in runs if run.outcome == "duplicate"]
    for_nothing = {id(run) for run in dropped if not _kept_for(rule, run, by_id)}
    for one, two in ((known[a], known[b]) for a, b in pairs):
        if one.page.id == two.page.id:
            continue
        kept = _overlap(one.surely_live(), two.surely_live())
        together = one.start < two.end and two.start < one.end
        both_dropped = one.outcome == two.outcome == "duplicate"
        in_vain = together and both_dropped and not for_nothing.isdisjoint((id(one), id(two)))
        if not kept and not in_vain:
            continue
        said = [rule.repeats(a.crawler, a.page, b.page) for a, b in ((one, two), (two, one))]
        if kept and all(said):
            links = rule.links(one.page, two.page)
            if links is not None and all(_is_boilerplate(alike[key], one, two) for key in links):
                findings.excepted += 1
            else:
                findings.both_kept.append((one, two))
        elif kept:
            findings.refused += rule.are_candidates(one.page, two.page)
        if any(said) and in_vain:
            findings.both_dropped.append((one, two))
    findings.dropped_for_nothing = [known[each] for each in for_nothing]
    return findings


def _kept_for(rule: Pages, run: Run, by_id: dict[int, list[Run]]) -> bool:
    """Whether the page that `run` was dropped for may have been kept during the call."""
    return any(
        rule.repeats(run.crawler, run.page, other.page)
        and _overlap(other.possibly_live(), (run.start, run.end))
        for other in by_id[run.match]
    )


def _is_boilerplate(having: list[Run], one: Run, two: Run) -> bool:
    judged = max(one.start, two.start), max(one.end, two.end)
    kept = sum(_overlap(run.possibly_live(), judged) for run in having)
    return kept >= MAX_UNDER_FEATURE


def _overlap(one: tuple[float, float], two: tuple[float, float]) -> bool:
    return max(one[0], two[0]) < min(one[1], two[1])
