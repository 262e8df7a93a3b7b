"""Candidates that are repeated or refused, and what is asked about them, on every store."""

import random
from dataclasses import replace

from deciders import by_evidence, nothing
from matching_pages import CONFIRMED, FAR, NEAR_CONFIRMED, ZEROS, like, own_evidence, with_ones
from store_registry import on_store, outcome, page

from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.verdict import Candidate, Decision, Page, Reason


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_texts_confirm_or_refuse(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3), **like(ZEROS)))
    for way in ({"features": (1, 0, 0)}, {"features": (0, 0, 0)}):
        other = page(2, FAR[0], **way, **like(with_ones(4)))
        verdict = await store.check_and_add(other)
        assert (verdict.decision, verdict.match.page_id) == (Decision.DUPLICATE, 1)
        assert verdict.match.resemblance == 12 / 16
    other = page(3, FAR[0], features=(1, 2, 3), **like(with_ones(5)))
    assert await outcome(store, other) == (Decision.NEW, None)


@on_store(by_evidence(NEAR_CONFIRMED), matching=NEAR_CONFIRMED)
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
    either = page(40, FAR[1], **like("5" * 8 + "7" * 8))
    store.decide_for = by_evidence(NEAR_CONFIRMED, 0.5)
    assert await outcome(store, either) == (Decision.DUPLICATE, 20)
    assert [each.page_id for each in store.asked] == [20]


@on_store(by_evidence(NEAR_CONFIRMED), matching=NEAR_CONFIRMED)
async def test_a_page_among_many_that_are_near_and_not_alike_is_kept(store):
    rng = random.Random(1)
    for number in range(MAX_COMPARED + 20):
        digits = f"{rng.getrandbits(64):016x}"
        assert await outcome(store, page(number, 0, **like(digits))) == (Decision.NEW, None)
    assert (await store.stats()).overflowed == 0
    assert await outcome(store, page(number, 0, **like(digits))) == (Decision.SEEN, number)


# The page itself


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_the_page_itself_is_seen_if_it_is_confirmed(store):
    first = page(1, FAR[0], features=(1, 2, 3), **like(ZEROS))
    await store.check_and_add(first)
    verdict = await store.check_and_add(replace(first, **like(with_ones(2))))
    assert verdict.decision is Decision.SEEN
    assert verdict.match.resemblance == 14 / 16
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


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
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


# What is asked


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_candidates_are_asked_about_with_what_is_stored_of_them(store):
    near = page(1, FAR[0], features=(1, 2, 100), **like(ZEROS))
    here = page(2, FAR[1], features=(3, 4, 200), **like("2" * 16))
    for each in (near, here):
        assert await outcome(store, each) == (Decision.NEW, None)
        assert store.asked == []
    arrived = page(4, FAR[0] ^ 1, features=(7, 4, 300), **like("4" * 16))
    assert await outcome(store, arrived) == (Decision.NEW, None)
    assert store.asked == [Candidate(1, 1, near.evidence), Candidate(2, 7, here.evidence)]
    assert await outcome(store, replace(arrived, id=5, scope="a.example")) == (Decision.NEW, None)
    assert store.asked == []


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_the_page_itself_is_asked_about_first_and_nobody_after_the_match(store):
    own = page(9, FAR[0] ^ 0b111, features=(1, 2, 100), **like(ZEROS))
    nearest = page(2, FAR[0], features=(4, 5, 6), **like("2" * 16))
    farther = page(3, FAR[0] ^ 0b1100, features=(7, 8, 9), **like("3" * 16))
    for each in (own, nearest, farther):
        assert await outcome(store, each) == (Decision.NEW, None)
    changed = page(9, FAR[0], features=(0, 0, 0), **like("2" * 16))
    assert await outcome(store, changed) == (Decision.DUPLICATE, 2)
    assert [each.page_id for each in store.asked] == [9, 2]


@on_store(nothing, matching=NEAR_CONFIRMED)
async def test_a_bounded_number_is_asked_about_and_the_page_itself_besides(store):
    near = [page(100 + number, 0, **like(f"{number:016x}")) for number in range(MAX_COMPARED)]
    far = page(1, 0b11, **like(ZEROS))
    for each in (*reversed(near), far):
        assert await outcome(store, each) == (Decision.NEW, None)
    nearest = [each.id for each in near]
    assert await outcome(store, page(2, 0, **like(ZEROS))) == (Decision.NEW, None)
    assert [each.page_id for each in store.asked] == nearest
    assert (await store.check_and_add(replace(far, fingerprint=1))).reason is Reason.CHANGED
    assert [each.page_id for each in store.asked] == [far.id, *nearest]


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_many_exact_pages_of_one_digest_and_evidence_of_their_own_are_kept(store):
    def short(number: int, text: int) -> Page:
        return page(number, FAR[1], exact=True, evidence=own_evidence(text, CONFIRMED))

    for number in range(1, MAX_COMPARED + 10):
        assert await outcome(store, short(number, number)) == (Decision.NEW, None)
    assert await outcome(store, short(1000, 5)) == (Decision.DUPLICATE, 5)
    assert (await store.stats()).overflowed == 0
