"""What every store does, line by line of the rule in `scrapy_neardup/stores/base.py`.

A story is a sequence of calls, and what comes of each. ``new 2 S~3 scope=a`` adds page 2 with the
fingerprint S but for its lowest three bits; ``duplicate 3 S of 2``; ``forget 2 = 1``, as one page
was dropped for it; ``pages 1 pending 0 dropped 2``. ``f=1,2,3`` are features, ``t=1`` is a text:
16 digits, or one for all of them; with 12 in common it is the same. Tests below tell more of which
entries are candidates (rule 1).
"""

import asyncio
import random
import re
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from deciders import Asking, by_evidence
from matching_pages import BY_BOTH, BY_FEATURES, BY_TWO, CONFIRMED, NEAR_CONFIRMED, like
from store_registry import (
    EVERYTHING,
    NAMESPACES,
    PLACES,
    SOMETHING,
    counts,
    on,
    on_store,
    outcome,
    page,
)

from scrapy_neardup.stores import Matching, StoreOptions, open_store
from scrapy_neardup.stores.entryformat import partition
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Decision, Page, Reason

NAMED = {"A": 0, "S": SOMETHING, "Z": EVERYTHING}
"""Fingerprints of stories; others are hexadecimal."""

STORIES = {
    # Rule 1: candidates
    "scopes never meet": """
        new 1 S scope=a.example; new 2 S scope=b.example; new 3 S;
        duplicate 4 S of 2 scope=b.example""",
    "exact pages repeat equal ones only": """
        new 1 S exact; new 2 S~1 exact; duplicate 3 S of 1 exact""",
    "equal keys side by side, each found by what repeats it": """
        new 1 S tokens=1; new 2 S tokens=2; new 3 S~1 tokens=3; confirm 1;
        duplicate 11 S of 1 tokens=1; duplicate 12 S of 2 tokens=2; duplicate 13 S of 3 tokens=3;
        forget 2 = 1; new 20 S tokens=2; duplicate 21 S of 1 tokens=1""",
    # Rule 2: the same page again
    "the same page is seen, and distances are to its first fingerprint": """
        new 1 S; seen 1 S~3; pages 1 pending 1 dropped 0; duplicate 2 S~2 of 1; new 3 S~6""",
    "seen comes before a nearer page": "new 1 A; new 2 f; seen 1 7",
    "an exact page is seen where it is equal": """
        new 1 S exact; seen 1 S exact; changed 1 S~1 exact""",
    # Rule 3: duplicates
    "the nearest wins, and then the smallest page id": """
        new 9 A; new 5 3f; new 7 fc0; duplicate 20 3 of 9; duplicate 21 7 of 5;
        duplicate 22 1c0 of 7""",
    "of two entries with one fingerprint the smallest page id wins": """
        new 9 S; new 5 S tokens=1; duplicate 20 S of 5""",
    "a duplicate withdraws its own old entry, and what was dropped for that counts no more": """
        new 1 A; new 2 Z; duplicate 3 Z of 2; duplicate 2 1 of 1; pages 1 pending 1 dropped 1;
        new 4 Z; forget 2 = 0""",
    # Rule 4: new pages
    "a changed page replaces its entry": """
        new 1 A; confirm 1; duplicate 2 A of 1; changed 1 Z; pages 1 pending 1 dropped 0;
        duplicate 3 Z of 1; new 4 A""",
    "so it does if the texts differ": "new 1 S; changed 1 S tokens=2; pages 1; new 2 S tokens=2",
    "so it does if it is exact now": "new 1 S; changed 1 S exact; pages 1; new 2 S",
    "so it does in another scope": "new 1 S; changed 1 S scope=a.example; pages 1; new 2 S",
    # Pending, kept, gone
    "forget withdraws a pending entry and tells what it cost": """
        new 1 S; duplicate 2 S of 1; duplicate 3 S of 1; duplicate 4 S of 1; forget 1 = 3;
        pages 0 pending 0 dropped 0; forget 1 = 0; new 5 S""",
    "what is confirmed is final": """
        new 1 S; duplicate 2 S of 1; confirm 1; confirm 1; forget 1 = 0; duplicate 3 S of 1;
        pages 1 pending 0 dropped 2""",
    "unknown ids change nothing": "new 1 S; confirm 2; forget 2 = 0; pages 1 pending 1",
    "a forgotten replacement leaves nothing": """
        new 1 A; confirm 1; changed 1 Z; forget 1 = 0; pages 0; new 2 A; new 3 Z""",
    "a replacement is pending until it is confirmed itself": """
        new 1 A; confirm 1; changed 1 Z; pending 1; confirm 1; pending 0; forget 1 = 0;
        duplicate 2 Z of 1""",
    # See `Store.confirm`: two fetches of a page have one id and two contents.
    "of two fetches of a page the first that is confirmed keeps the later": """
        new 1 A; changed 1 Z; confirm 1; pending 0; forget 1 = 0; duplicate 2 Z of 1; new 3 A""",
    "of two fetches of a page the first that fails withdraws the later": """
        new 1 A; changed 1 Z; duplicate 2 Z of 1; forget 1 = 1; confirm 1; pages 0; new 2 Z""",
}
MATCHED = {
    # Features
    "an equal fingerprint is nothing to features, nor is a feature in another place": (
        BY_FEATURES, """
        new 1 A f=1,2,3; duplicate 2 ff of 1 f=9,2,8; new 3 A f=2,3,1;
        duplicate 4 1 of 1 f=1,3,5; new 5 A; new 6 A"""),
    "of what is near or has a feature in common the nearest wins": (
        BY_BOTH, """
        new 1 A f=1,2,3; duplicate 2 7 of 1 f=4,5,6; duplicate 3 ff of 1 f=4,5,3;
        new 4 ff00 f=4,5,6; duplicate 5 3 of 1 f=4,0,0; duplicate 6 ff01 of 4 f=1,0,0"""),
    "two entries that share a feature each are no entry that shares two": (
        BY_TWO, """
        new 1 A f=1,2,3; new 2 ff f=1,9,9; new 3 ff00 f=7,2,9; duplicate 4 ff0000 of 1 f=1,7,3"""),
    "of entries under one feature the one that is repeated is found": (
        BY_FEATURES, """
        new 1 A f=1,2,3; new 2 A f=1,2,3 tokens=2; duplicate 3 A of 1 f=1,2,3 tokens=1;
        duplicate 3 A of 2 f=1,2,3 tokens=2; changed 1 A f=1,2,3 tokens=3"""),
    # Texts
    "texts confirm or refuse": (
        CONFIRMED, """
        new 1 A f=1,2,3 t=0; duplicate 2 A of 1 f=1,0,0 t=1111000000000000;
        duplicate 2 A of 1 f=0,0,0 t=1111000000000000; new 3 A f=1,2,3 t=1111100000000000"""),
    "the nearest that is confirmed wins, if it is near enough": (
        NEAR_CONFIRMED, """
        new 4 f t=4; new 3 7 t=3; new 2 3 t=2; new 1 1 t=1; duplicate 10 A of 1 t=1;
        duplicate 10 A of 2 t=2; duplicate 10 A of 3 t=3; new 10 A t=4"""),
    "the page itself is seen if it is confirmed, or else nothing of what it was is left": (
        CONFIRMED, """
        new 1 A f=1,2,3 t=0; seen 1 A f=1,2,3 t=1100000000000000; seen 1 ff f=1,2,3 t=0;
        seen 1 A f=7,8,9 t=0; changed 1 A f=1,2,3 t=1111111110000000;
        changed 1 ff f=7,8,9 t=1111111110000000; new 2 A f=1,2,3 t=0;
        duplicate 3 ff of 1 f=7,8,9 t=1111111110000000"""),
    "forget takes features and texts along": (
        CONFIRMED, """
        new 1 A f=1,2,3 t=0; forget 1 = 0; new 2 ff t=9; duplicate 3 ff of 2 f=1,2,3 t=9;
        new 4 A f=1,2,3 t=0; confirm 4; forget 4 = 0; duplicate 5 A of 4 f=1,2,3 t=0"""),
}  # fmt: skip
"""Of stores that go by more than fingerprints."""
TOLD = {story: (Matching(), steps) for story, steps in STORIES.items()} | MATCHED


def page_of(number: str, fingerprint: str, *more: str) -> Page:
    name, _, flipped = fingerprint.partition("~")
    bits = NAMED[name] if name in NAMED else int(name, 16)
    keys = dict(each.partition("=")[::2] for each in more)
    evidence = like(keys["t"] * (16 // len(keys["t"]))) if "t" in keys else {}
    return page(
        int(number), bits ^ (1 << int(flipped or 0)) - 1, exact="exact" in keys,
        scope=keys.get("scope", ""), tokens=int(keys.get("tokens", 0)),
        features=tuple(map(int, filter(None, keys.get("f", "").split(",")))), **evidence,
    )  # fmt: skip


async def play(store, step: str) -> None:
    """Make a call, and check what came of it."""
    match step.split():
        case ["confirm", number]:
            await store.confirm(int(number))
        case ["forget", number, "=", cost]:
            assert await store.forget(int(number)) == int(cost), step
        case ["pages" | "pending", *_] as counts:
            stats = await store.stats()
            for name, count in zip(counts[::2], counts[1::2], strict=True):
                assert getattr(stats, name) == int(count), step
        case ["new" | "changed" as reason, *words]:
            verdict = await store.check_and_add(page_of(*words))
            wanted = Reason.CHANGED if reason == "changed" else Reason.UNMATCHED
            assert (verdict.decision, verdict.reason) == (Decision.NEW, wanted), step
        case ["seen", *words]:
            verdict = await store.check_and_add(page_of(*words))
            expected = (Reason.SAME_PAGE, int(words[0]))
            assert (verdict.reason, verdict.match.page_id) == expected, step
        case ["duplicate", number, fingerprint, "of", other, *words]:
            arrived = page_of(number, fingerprint, *words)
            verdict = await store.check_and_add(arrived)
            wanted = Reason.EQUAL if arrived.exact else Reason.NEAR
            assert (verdict.decision, verdict.reason) == (Decision.DUPLICATE, wanted), step
            assert verdict.match.page_id == int(other), step
        case _:
            raise ValueError(step)


OTHER_SCOPE = ("so it does in another scope", "redis-partitions")
"""What differs: where hosts lie apart, an entry of another one isn't known (docs/cluster.md)."""


@pytest.mark.parametrize(
    ("story", "name"),
    [(story, name) for story in TOLD for name in sorted(PLACES) if (story, name) != OTHER_SCOPE],
)
async def test_a_story(story, name):
    matching, steps = TOLD[story]
    with PLACES[name]() as place:
        async with open_store(place.uri, matching=matching) as opened:
            store = Asking(opened, by_evidence(matching))
            for step in re.split(r";\s*", steps.strip()):
                await play(store, step)


@on("memory", "sqlite", "redis")
async def test_a_page_whose_buckets_are_full_is_kept_and_not_remembered(place):
    """Rule 5, where the room of a bucket is what ends."""
    opened, cap = open_store(place.uri, expected_pages=1000), 4096
    if place.name == "redis":  # else they don't fill up in a test
        opened, cap = RedisStore(place.uri, StoreOptions(), layout=Layout(3, 4, cap=40)), 40
    async with opened as store:
        rng = random.Random(5)
        kept = []
        await store.check_and_add(page(0, SOMETHING))
        for number in range(1, 2 * cap):
            # The first half is the same: no design spreads these.
            candidate = page(number, rng.getrandbits(32))
            verdict = await store.check_and_add(candidate)
            if verdict.decision is Decision.UNJUDGED:
                break
            if verdict.decision is Decision.NEW:
                kept.append(candidate)
        assert verdict.reason is Reason.OVERFLOW
        assert len(kept) == cap
        before = await store.stats()
        assert (before.pages, before.overflowed) == (len(kept) + 1, 1)
        # It can't replace its own entry either, and that one stays.
        assert (
            await store.check_and_add(page(0, candidate.fingerprint))
        ).reason is Reason.OVERFLOW
        assert await outcome(store, page(0, SOMETHING)) == (Decision.SEEN, 0)
        # What is stored is found, and what is forgotten makes room.
        again = page(number + 1, kept[0].fingerprint)
        assert await outcome(store, again) == (Decision.DUPLICATE, kept[0].id)
        assert (await store.stats()).overflowed == 2
        await store.forget(kept[0].id)
        assert await outcome(store, candidate) == (Decision.NEW, None)


async def test_of_pages_that_arrive_together_one_of_each_group_is_kept(place):
    rng = random.Random(11)
    centres = [rng.getrandbits(64) for _ in range(40)]
    arrivals = [
        page(40 * copy + group, centre ^ (1 << rng.randrange(64)))
        for group, centre in enumerate(centres)
        for copy in range(10)
    ]
    rng.shuffle(arrivals)
    async with AsyncExitStack() as stack:
        stores = [open_store(place.uri) for _ in range(3 if place.shared else 1)]
        clients = [await stack.enter_async_context(store) for store in stores]

        async def arrive(arrival: Page) -> tuple[Decision, int]:
            await asyncio.sleep(rng.random() / 100)
            store = rng.choice(clients)
            verdict = await store.check_and_add(arrival)
            await asyncio.sleep(rng.random() / 100)
            if verdict.decision is Decision.NEW:
                await store.confirm(arrival.id)
            return verdict.decision, arrival.id % 40

        found = Counter(await asyncio.gather(*map(arrive, arrivals)))
        assert found == {
            (decision, group): count for group in range(40)
            for decision, count in ((Decision.NEW, 1), (Decision.DUPLICATE, 9))
        }  # fmt: skip
        assert await counts(clients[0]) == (40, 0, 360)


@on_store()
async def test_scopes_never_meet_where_their_keys_do(store):
    masks = {scope: partition(scope, exact=False).mask for scope in ("", "a.example", "b.example")}
    for first, flipped in ((0, 0), (10, 0b101)):
        for number, (scope, mask) in enumerate(masks.items()):
            crafted = page(first + number, SOMETHING ^ mask ^ flipped, scope=scope)
            found = (Decision.DUPLICATE, number) if first else (Decision.NEW, None)
            assert await outcome(store, crafted) == found


@on_store()
async def test_exact_and_other_pages_never_meet(store):
    for first, scope in ((0, ""), (10, "a.example")):
        masks = [partition(scope, exact=exact).mask for exact in (False, True)]
        crafted = SOMETHING ^ masks[0] ^ masks[1]
        await store.check_and_add(page(first, SOMETHING, scope=scope))
        for number, fingerprint in enumerate((SOMETHING, crafted), first + 1):
            other = page(number, fingerprint, scope=scope, exact=True)
            assert await outcome(store, other) == (Decision.NEW, None)
        other = page(first + 3, crafted, scope=scope)
        assert await outcome(store, other) == (Decision.NEW, None)


@on_store(max_distance=6)
async def test_the_largest_and_the_smallest_values(store):
    for number, fingerprint in ((0, 0), (EVERYTHING, EVERYTHING)):
        extreme = page(number, fingerprint, tokens=10**9)
        assert await outcome(store, extreme) == (Decision.NEW, None)
    assert await outcome(store, page(1, 63)) == (Decision.DUPLICATE, 0)
    assert await outcome(store, page(2, EVERYTHING - 63)) == (Decision.DUPLICATE, EVERYTHING)
    await store.confirm(EVERYTHING)
    await store.confirm(0)
    assert (await store.stats()).pending == 0


@on_store()
async def test_any_text_in_scope_and_url(store):
    scopes = ("", "ü.example", "\ud800", "a" * 5000, "a\x00b", "'; DROP TABLE page; --")
    for number, scope in enumerate(scopes):
        odd = page(number, SOMETHING, scope=scope, url=f"https://{scope}/")
        assert await outcome(store, odd) == (Decision.NEW, None)
        await store.confirm(number)
    for number, scope in enumerate(scopes):
        verdict = await store.check_and_add(page(number + 10, SOMETHING, scope=scope))
        assert verdict.match.page_id == number
        if "\ud800" not in scope:
            assert verdict.match.url == f"https://{scope}/"


async def test_a_store_that_was_closed_can_be_opened_again(place):
    store = open_store(place.uri)
    again = (Decision.DUPLICATE, 1) if place.survives else (Decision.NEW, None)
    for number, expected in ((1, (Decision.NEW, None)), (2, again)):
        await store.open()
        assert await outcome(store, page(number, SOMETHING)) == expected
        await store.confirm(number)
        await store.close()
        await store.close()


async def test_namespaces_never_meet(place):
    for name in NAMESPACES:
        async with open_store(place.uri, namespace=name) as store:
            assert await outcome(store, page(1, SOMETHING)) == (Decision.NEW, None)
            await store.confirm(1)
    for name in NAMESPACES if place.survives else ():
        async with open_store(place.uri, namespace=name) as store:
            assert (await store.stats()).pages == 1
            assert await outcome(store, page(2, SOMETHING)) == (Decision.DUPLICATE, 1)
