"""Sketches that confirm candidates or refuse them, on every store."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from matching_pages import CONFIRMED, FAR, NEAR_CONFIRMED, ZEROS, sketch, with_ones
from store_registry import on_store, outcome, page

from scrapy_neardup.verdict import Decision, Reason


@on_store(matching=CONFIRMED)
async def test_a_sketch_confirms_or_refuses(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS)))
    for way in ({"features": (1, 0, 0)}, {"features": (0, 0, 0)}):
        other = page(2, FAR[0], **way, sketch=sketch(with_ones(4)))
        verdict = await store.check_and_add(other)
        assert (verdict.decision, verdict.match.page_id) == (Decision.DUPLICATE, 1)
        assert verdict.match.resemblance == pytest.approx((12 / 16 - 1 / 16) / (15 / 16))
    other = page(3, FAR[0], features=(1, 2, 3), sketch=sketch(with_ones(5)))
    assert await outcome(store, other) == (Decision.NEW, None)


@on_store(matching=NEAR_CONFIRMED)
async def test_what_has_no_sketch_is_not_refused(store):
    await store.check_and_add(page(1, FAR[0]))
    verdict = await store.check_and_add(page(2, FAR[0], sketch=sketch(ZEROS)))
    assert (verdict.match.page_id, verdict.match.resemblance) == (1, None)
    await store.check_and_add(page(3, FAR[1], sketch=sketch(ZEROS)))
    verdict = await store.check_and_add(page(4, FAR[1]))
    assert (verdict.match.page_id, verdict.match.resemblance) == (3, None)
    await store.check_and_add(page(5, FAR[0], exact=True))
    verdict = await store.check_and_add(page(6, FAR[0], exact=True))
    assert (verdict.match.page_id, verdict.match.resemblance) == (5, None)


@on_store(matching=NEAR_CONFIRMED)
async def test_furniture_that_both_hold_does_not_count(store):
    await store.check_and_add(page(1, FAR[0], sketch=sketch(ZEROS)))
    # 16 bins, 8 are furniture of which 2 differ: 2 of 10 are too many, where 2 of 16 aren't.
    other = sketch(with_ones(2), furniture="F" * 8 + "0" * 8, most=0.19)
    assert await outcome(store, page(2, FAR[0], sketch=other)) == (Decision.NEW, None)
    bare = replace(other, furniture=bytes(8))
    assert await outcome(store, page(3, FAR[0], sketch=bare)) == (Decision.DUPLICATE, 1)


@on_store(matching=NEAR_CONFIRMED)
async def test_text_and_core_must_confirm(store):
    # Of the cores those bins count that neither page has named: of these pages' the last four.
    named = "x" * 12
    for number, theirs in enumerate(("", named)):
        site = FAR[number]
        base = 100 * number
        await store.check_and_add(page(base, site, sketch=sketch(ZEROS, theirs)))
        good = page(base + 1, site, sketch=sketch("111" + "0" * 13, named))
        verdict = await store.check_and_add(good)
        assert (verdict.decision, verdict.match.page_id) == (Decision.DUPLICATE, base)
        assert verdict.match.resemblance == pytest.approx((13 / 16 - 1 / 16) / (15 / 16))
        for text in ("0" * 13 + "111", "3" * 16):
            bad = page(base + 2, site, sketch=sketch(text, named))
            assert await outcome(store, bad) == (Decision.NEW, None)
            await store.forget(bad.id)


@on_store(matching=CONFIRMED)
async def test_another_title_takes_a_sketch_that_is_ten_times_as_like(store):
    first = page(1, FAR[0], title=1, features=(1, 2, 3), sketch=sketch(ZEROS))
    await store.check_and_add(first)
    # All 16 bins may differ in most_differing, and so 1.6 under another title.
    like, unlike = (sketch(with_ones(count), most=1.0) for count in (1, 2))
    for way in ({"features": (4, 5, 6)}, {"fingerprint": FAR[1]}):
        other = replace(first, id=2, title=2, **way)
        verdict = await store.check_and_add(replace(other, sketch=like))
        assert (verdict.decision, verdict.match.page_id) == (Decision.DUPLICATE, 1)
        assert verdict.match.resemblance == pytest.approx((15 / 16 - 1 / 16) / (15 / 16))
        for title in (0, 1):
            repeats = replace(other, title=title, sketch=unlike)
            assert await outcome(store, repeats) == (Decision.DUPLICATE, 1)
        assert await outcome(store, replace(other, sketch=unlike)) == (Decision.NEW, None)
        await store.forget(2)
    # In text and core.
    for text, named in (("0" * 15 + "1", "x" * 15), (with_ones(2), "x")):
        other = replace(first, id=3, title=2, sketch=sketch(text, named, most=1.0))
        assert await outcome(store, other) == (Decision.NEW, None)
        await store.forget(3)
    # An entry without a title is like any other.
    await store.check_and_add(page(4, FAR[2], sketch=sketch(ZEROS)))
    other = page(5, FAR[2], title=2, sketch=unlike)
    assert await outcome(store, other) == (Decision.DUPLICATE, 4)


@on_store(matching=NEAR_CONFIRMED)
async def test_another_title_without_a_sketch_takes_an_equal_fingerprint(store):
    await store.check_and_add(page(1, FAR[0], title=1, sketch=sketch(ZEROS)))
    await store.check_and_add(page(2, FAR[1], title=1))
    for number, more in ((1, {}), (2, {"sketch": sketch(ZEROS)})):
        base = FAR[number - 1]
        equal = page(3, base, title=2, **more)
        assert await outcome(store, equal) == (Decision.DUPLICATE, number)
        near = page(3, base ^ 1, title=2, **more)
        assert await outcome(store, near) == (Decision.NEW, None)
        await store.forget(3)
        for title in (0, 1):
            near = page(3, base ^ 1, title=title, **more)
            assert await outcome(store, near) == (Decision.DUPLICATE, number)


@on_store(matching=NEAR_CONFIRMED)
async def test_of_many_pages_with_titles_of_their_own_none_is_lost(store):
    # Products on one template: any two differ in a bin or two of 16.
    products = [
        page(number, 0, title=number + 1, sketch=sketch(f"{ZEROS[:place]}{digit}".ljust(16, "0")))
        for number, (place, digit) in enumerate(itertools.product(range(16), "1234567"))
    ]
    for each in products:
        assert await outcome(store, each) == (Decision.NEW, None)
    assert (await store.stats()).overflowed == 0
    again = replace(products[5], id=1000, title=1000)
    assert await outcome(store, again) == (Decision.DUPLICATE, 5)
    assert await outcome(store, replace(again, title=0)) == (Decision.DUPLICATE, 0)
    assert await outcome(store, products[-1]) == (Decision.SEEN, products[-1].id)


@on_store(matching=NEAR_CONFIRMED)
async def test_the_nearest_that_is_confirmed_wins(store):
    # Pairwise far enough apart in their sketches, all near each other in their fingerprints.
    for number, digit in ((4, "4"), (3, "3"), (2, "2"), (1, "1")):
        new = page(number, (1 << number) - 1, sketch=sketch(digit * 16))
        assert await outcome(store, new) == (Decision.NEW, None)
    for digit in "1234":
        other = page(10, 0, sketch=sketch(digit * 16))
        expected = Decision.DUPLICATE if digit != "4" else Decision.NEW  # 4 bits away
        assert (await store.check_and_add(other)).decision is expected
    # Among equals the smallest page id.
    await store.check_and_add(page(30, FAR[1] ^ 1, sketch=sketch("5" * 16)))
    await store.check_and_add(page(20, FAR[1] ^ 2, sketch=sketch("6" * 8 + "7" * 8)))
    either = sketch("5" * 8 + "7" * 8, most=0.5)
    assert await outcome(store, page(40, FAR[1], sketch=either)) == (Decision.DUPLICATE, 20)


@on_store(matching=NEAR_CONFIRMED)
async def test_a_page_among_many_that_are_near_and_not_alike_is_kept(store):
    rng = random.Random(1)
    for number in range(600):
        view = f"{rng.getrandbits(64):016x}"
        new = page(number, 0, sketch=sketch(view))
        assert await outcome(store, new) == (Decision.NEW, None)
    assert (await store.stats()).overflowed == 0
    again = page(599, 0, sketch=sketch(view))
    assert await outcome(store, again) == (Decision.SEEN, 599)


# The page itself


@on_store(matching=CONFIRMED)
async def test_the_page_itself_is_seen_if_it_is_confirmed(store):
    first = page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS))
    await store.check_and_add(first)
    verdict = await store.check_and_add(replace(first, sketch=sketch(with_ones(2))))
    assert verdict.decision is Decision.SEEN
    assert verdict.match.resemblance == pytest.approx((14 / 16 - 1 / 16) / (15 / 16))
    assert verdict.match.count == 0
    # By a feature, and by distance.
    assert await outcome(store, replace(first, fingerprint=FAR[1])) == (Decision.SEEN, 1)
    assert await outcome(store, replace(first, features=(7, 8, 9))) == (Decision.SEEN, 1)
    refused = replace(first, sketch=sketch(with_ones(9)))
    assert (await store.check_and_add(refused)).reason is Reason.CHANGED
    neither = replace(refused, fingerprint=FAR[1], features=(7, 8, 9))
    assert (await store.check_and_add(neither)).reason is Reason.CHANGED
    # Nothing of what it was is left.
    assert await outcome(store, replace(first, id=2)) == (Decision.NEW, None)
    assert await outcome(store, replace(neither, id=3)) == (Decision.DUPLICATE, 1)


@on_store(matching=NEAR_CONFIRMED)
async def test_the_page_itself_is_seen_under_another_title_if_it_is_that_like(store):
    first = page(1, FAR[0], title=1, sketch=sketch(ZEROS))
    await store.check_and_add(first)
    near = replace(first, fingerprint=FAR[0] ^ 1, title=2)
    assert await outcome(store, near) == (Decision.SEEN, 1)
    for title in (0, 1):
        again = replace(near, title=title, sketch=sketch(with_ones(4)))
        assert await outcome(store, again) == (Decision.SEEN, 1)
    verdict = await store.check_and_add(replace(near, sketch=sketch(with_ones(1))))
    assert verdict.reason is Reason.CHANGED
    assert (await store.stats()).pages == 1


@on_store(matching=CONFIRMED)
async def test_forget_takes_features_and_sketches_along(store):
    first = page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS, "x" * 16))
    await store.check_and_add(first)
    assert await store.forget(1) == 0
    # Its row may be the next one's, which has neither.
    assert await outcome(store, page(2, FAR[1])) == (Decision.NEW, None)
    other = page(3, FAR[1], features=(1, 2, 3), sketch=sketch("9" * 16))
    assert await outcome(store, other) == (Decision.DUPLICATE, 2)
    assert await outcome(store, replace(first, id=4)) == (Decision.NEW, None)
    await store.confirm(4)
    assert await store.forget(4) == 0
    assert await outcome(store, replace(first, id=5)) == (Decision.DUPLICATE, 4)


@on_store(matching=CONFIRMED)
async def test_an_entry_whose_page_repeats_another_now_is_withdrawn(store):
    first = page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS))
    second = page(2, FAR[1], features=(4, 5, 6), sketch=sketch("2" * 16))
    await store.check_and_add(first)
    await store.check_and_add(second)
    assert await outcome(store, replace(first, id=2)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, replace(second, id=3)) == (Decision.NEW, None)
