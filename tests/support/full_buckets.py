"""Rule 5 of `scrapy_neardup/stores/base.py`, where the room of a bucket is what ends."""

import random

from store_registry import SOMETHING, outcome, page

from scrapy_neardup.stores import Store
from scrapy_neardup.verdict import Decision, Reason


async def check_full_buckets(store: Store, cap: int) -> None:
    """A page whose buckets are full is kept and not remembered; an empty store is filled."""
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
    assert (await store.check_and_add(page(0, candidate.fingerprint))).reason is Reason.OVERFLOW
    assert await outcome(store, page(0, SOMETHING)) == (Decision.SEEN, 0)
    # What is stored is found, and what is forgotten makes room.
    again = page(number + 1, kept[0].fingerprint)
    assert await outcome(store, again) == (Decision.DUPLICATE, kept[0].id)
    assert (await store.stats()).overflowed == 2
    await store.forget(kept[0].id)
    assert await outcome(store, candidate) == (Decision.NEW, None)
