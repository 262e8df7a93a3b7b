"""Candidates that are confirmed or refused, and witnesses, on every store."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from matching_pages import CONFIRMED, FAR, NEAR_CONFIRMED, ZEROS, like, with_ones
from store_registry import on_store, outcome, page

from scrapy_neardup.evidence.layout import Head
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.verdict import Decision, Page, Reason, Weighing


@on_store(matching=CONFIRMED)
async def test_texts_confirm_or_refuse(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3), **like(ZEROS)))
    for way in ({"features": (1, 0, 0)}, {"features": (0, 0, 0)}):
        other = page(2, FAR[0], **way, **like(with_ones(4)))
        verdict = await store.check_and_add(other)
        assert (verdict.decision, verdict.match.page_id) == (Decision.DUPLICATE, 1)
        assert verdict.match.resemblance == pytest.approx(1 - 4 / 16 / (15 / 16))
    other = page(3, FAR[0], features=(1, 2, 3), **like(with_ones(5)))
    assert await outcome(store, other) == (Decision.NEW, None)


@on_store(matching=NEAR_CONFIRMED)
async def test_the_nearest_that_is_confirmed_wins(store):
    # Pairwise far enough apart in their sketches, all near each other in their fingerprints.
    for number, digit in ((4, "4"), (3, "3"), (2, "2"), (1, "1")):
        new = page(number, (1 << number) - 1, **like(digit * 16))
        assert await outcome(store, new) == (Decision.NEW, None)
    for digit in "1234":
        other = page(10, 0, **like(digit * 16))
        expected = Decision.DUPLICATE if digit != "4" else Decision.NEW  # 4 bits away
        assert (await store.check_and_add(other)).decision is expected
    # Among equals the smallest page id.
    await store.check_and_add(page(30, FAR[1] ^ 1, **like("5" * 16)))
    await store.check_and_add(page(20, FAR[1] ^ 2, **like("6" * 8 + "7" * 8)))
    either = like("5" * 8 + "7" * 8, weighing=Weighing(min_resemblance=0.4))
    assert await outcome(store, page(40, FAR[1], **either)) == (Decision.DUPLICATE, 20)


@on_store(matching=NEAR_CONFIRMED)
async def test_a_page_among_many_that_are_near_and_not_alike_is_kept(store):
    rng = random.Random(1)
    for number in range(MAX_COMPARED + 20):
        digits = f"{rng.getrandbits(64):016x}"
        new = page(number, 0, **like(digits))
        assert await outcome(store, new) == (Decision.NEW, None)
    assert (await store.stats()).overflowed == 0
    again = page(number, 0, **like(digits))
    assert await outcome(store, again) == (Decision.SEEN, number)


# The page itself


@on_store(matching=CONFIRMED)
async def test_the_page_itself_is_seen_if_it_is_confirmed(store):
    first = page(1, FAR[0], features=(1, 2, 3), **like(ZEROS))
    await store.check_and_add(first)
    verdict = await store.check_and_add(replace(first, **like(with_ones(2))))
    assert verdict.decision is Decision.SEEN
    assert verdict.match.resemblance == pytest.approx(1 - 2 / 16 / (15 / 16))
    assert verdict.match.count == 0
    # By a feature, and by distance.
    assert await outcome(store, replace(first, fingerprint=FAR[1])) == (Decision.SEEN, 1)
    assert await outcome(store, replace(first, features=(7, 8, 9))) == (Decision.SEEN, 1)
    refused = replace(first, **like(with_ones(9)))
    assert (await store.check_and_add(refused)).reason is Reason.CHANGED
    neither = replace(refused, fingerprint=FAR[1], features=(7, 8, 9))
    assert (await store.check_and_add(neither)).reason is Reason.CHANGED
    # Nothing of what it was is left.
    assert await outcome(store, replace(first, id=2)) == (Decision.NEW, None)
    assert await outcome(store, replace(neither, id=3)) == (Decision.DUPLICATE, 1)


@on_store(matching=CONFIRMED)
async def test_forget_takes_features_and_evidence_along(store):
    first = page(1, FAR[0], features=(1, 2, 3), **like(ZEROS))
    await store.check_and_add(first)
    assert await store.forget(1) == 0
    # Its row may be the next one's.
    assert await outcome(store, page(2, FAR[1], **like("9" * 16))) == (Decision.NEW, None)
    other = page(3, FAR[1], features=(1, 2, 3), **like("9" * 16))
    assert await outcome(store, other) == (Decision.DUPLICATE, 2)
    assert await outcome(store, replace(first, id=4)) == (Decision.NEW, None)
    await store.confirm(4)
    assert await store.forget(4) == 0
    assert await outcome(store, replace(first, id=5)) == (Decision.DUPLICATE, 4)


@on_store(matching=CONFIRMED)
async def test_an_entry_whose_page_repeats_another_now_is_withdrawn(store):
    first = page(1, FAR[0], features=(1, 2, 3), **like(ZEROS))
    second = page(2, FAR[1], features=(4, 5, 6), **like("2" * 16))
    await store.check_and_add(first)
    await store.check_and_add(second)
    assert await outcome(store, replace(first, id=2)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, replace(second, id=3)) == (Decision.NEW, None)


# The witness


@on_store(matching=CONFIRMED)
async def test_the_witness_is_at_the_path_of_the_page(store):
    near = page(1, FAR[0], features=(1, 2, 100), **like(ZEROS))
    here = page(2, FAR[1], features=(3, 4, 200), **like("2" * 16))
    nearer = page(3, FAR[1] ^ 0xF000, features=(5, 6, 200), **like("3" * 16))
    for each in (near, here, nearer):
        assert await outcome(store, each) == (Decision.NEW, None)
    # The nearest one at its path, whatever is said of it; of other scopes none.
    arrived = page(4, FAR[1] ^ 1 << 60, features=(7, 8, 200), **like("4" * 16))
    verdict = await store.check_and_add(arrived)
    assert (verdict.decision, verdict.witness) == (Decision.NEW, here.evidence)
    elsewhere = replace(arrived, id=5, scope="a.example")
    assert (await store.check_and_add(elsewhere)).witness == b""
    # A page is no witness of itself; where there is nobody else, a candidate is one.
    changed = replace(near, **like("5" * 16))
    assert (await store.check_and_add(changed)).witness == b""
    other = replace(near, id=6, features=(9, 9, 300), **like("6" * 16))
    verdict = await store.check_and_add(other)
    assert (verdict.decision, verdict.witness) == (Decision.NEW, changed.evidence)


@on_store(matching=CONFIRMED)
async def test_a_duplicate_has_a_witness(store):
    at_path = page(1, FAR[1], features=(1, 2, 100), **like("1" * 16))
    original = page(2, FAR[0], features=(3, 4, 200), **like(ZEROS))
    for each in (at_path, original):
        await store.check_and_add(each)
    again = replace(original, id=3, fingerprint=FAR[0] ^ 1, features=(5, 6, 100))
    verdict = await store.check_and_add(again)
    assert (verdict.match.page_id, verdict.witness) == (2, at_path.evidence)
    assert verdict.rule == "alike"
    again = replace(again, features=(5, 6, 300))
    assert (await store.check_and_add(again)).witness == original.evidence


@on_store(matching=CONFIRMED)
async def test_many_short_pages_of_one_text_and_titles_of_their_own_are_kept(store):
    def short(number: int, title: int) -> Page:
        head = Head(title=frozenset({title}), path=title)
        return page(number, FAR[1], exact=True, evidence=head.pack())

    for number in range(1, MAX_COMPARED + 10):
        assert await outcome(store, short(number, number)) == (Decision.NEW, None)
    verdict = await store.check_and_add(short(1000, 5))
    assert (verdict.match.page_id, verdict.rule, verdict.match.resemblance) == (5, "equal", None)
    assert verdict.witness == short(1, 1).evidence
    assert (await store.stats()).overflowed == 0
