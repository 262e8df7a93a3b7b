"""Candidates by min-wise features, and sketches that confirm them, on every store that can."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import replace

import pytest
from store_model import ModelStore
from store_registry import MATCHING, PLACES, Place, on_store, page

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores import Matching, Store, open_store
from scrapy_neardup.verdict import Decision, Page, Reason, Sketch

FAR = (0, 0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000)
"""Fingerprints that are pairwise more than k bits apart."""

BY_FEATURES = Matching(by_distance=False, features=3)
BY_BOTH = Matching(features=3)
BY_TWO = Matching(features=3, shared_features=2)
CONFIRMED = Matching(features=3, sketch_bits=4, sketch_bytes=8)
NEAR_CONFIRMED = Matching(sketch_bits=4, sketch_bytes=8)


def fresh_places() -> list[object]:
    return [pytest.param(PLACES[name], id=name) for name in sorted(MATCHING)]


def sketch(*views: str, furniture: str = "00" * 8, most: float = 0.25) -> Sketch:
    """Return a sketch of 16 bins a view, each a hexadecimal digit."""
    return Sketch(
        views=tuple(map(bytes.fromhex, views)),
        furniture=(bytes.fromhex(furniture),) * len(views),
        most_differing=most,
    )


ZEROS = "0" * 16


def with_ones(count: int) -> str:
    """Return a view that differs from `ZEROS` in so many bins."""
    return ("1" * count).ljust(16, "0")


async def outcome(store: Store, page: Page) -> tuple[Decision, int | None]:
    verdict = await store.check_and_add(page)
    return verdict.decision, verdict.match and verdict.match.page_id


# Candidates


@on_store(MATCHING, matching=BY_FEATURES)
async def test_by_features_alone(store):
    assert await outcome(store, page(1, FAR[0], features=(1, 2, 3))) == (Decision.NEW, None)
    verdict = await store.check_and_add(page(2, FAR[1], features=(9, 2, 8)))
    assert (verdict.decision, verdict.reason) == (Decision.DUPLICATE, Reason.NEAR)
    assert (verdict.match.page_id, verdict.match.distance) == (1, 8)
    assert verdict.match.resemblance is None
    # An equal fingerprint is nothing to them, and a feature in another place is another one.
    assert await outcome(store, page(3, FAR[0], features=(2, 3, 1))) == (Decision.NEW, None)
    # The nearest of those that share one.
    assert await outcome(store, page(4, 1, features=(1, 3, 5))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(5, FAR[0], features=())) == (Decision.NEW, None)
    assert await outcome(store, page(6, FAR[0], features=())) == (Decision.NEW, None)


@on_store(MATCHING, matching=BY_FEATURES)
async def test_exact_pages_are_compared_by_equality_in_any_case(store):
    await store.check_and_add(page(1, FAR[0], exact=True))
    assert await outcome(store, page(2, FAR[0], exact=True)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(3, 1, exact=True)) == (Decision.NEW, None)
    assert await outcome(store, page(4, FAR[0], features=(0, 0, 1))) == (Decision.NEW, None)


@on_store(MATCHING, matching=BY_BOTH)
async def test_by_either(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3)))
    assert await outcome(store, page(2, 0b111, features=(4, 5, 6))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(3, FAR[1], features=(4, 5, 3))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(4, FAR[2], features=(4, 5, 6))) == (Decision.NEW, None)
    # Near one and sharing a feature with another: the nearest, whatever found it.
    assert await outcome(store, page(5, 0b11, features=(4, 0, 0))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(6, FAR[2] ^ 1, features=(1, 0, 0))) == (Decision.DUPLICATE, 4)


@on_store(MATCHING, matching=BY_TWO)
async def test_as_many_features_as_asked_for(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3)))
    assert await outcome(store, page(2, FAR[1], features=(1, 9, 9))) == (Decision.NEW, None)
    # Two entries that share one each aren't one that shares two.
    assert await outcome(store, page(3, FAR[2], features=(7, 2, 9))) == (Decision.NEW, None)
    assert await outcome(store, page(4, FAR[3], features=(1, 7, 3))) == (Decision.DUPLICATE, 1)


@on_store(MATCHING, matching=BY_FEATURES)
async def test_scopes_never_meet(store):
    features = (1, 2, 3)
    for number, scope in enumerate(("", "a.example", "b.example")):
        new = page(number, FAR[number], scope=scope, features=features)
        assert await outcome(store, new) == (Decision.NEW, None)
    for number, scope in enumerate(("", "a.example", "b.example")):
        new = page(number + 10, FAR[4], scope=scope, features=features)
        assert await outcome(store, new) == (Decision.DUPLICATE, number)


@on_store(MATCHING, matching=BY_FEATURES)
async def test_title_and_content_together_contradict(store):
    features = (1, 2, 3)
    await store.check_and_add(page(1, FAR[0], title=1, content=1, features=features))
    other = page(2, FAR[0], title=2, content=2, features=features)
    assert await outcome(store, other) == (Decision.NEW, None)
    other = page(3, FAR[0], title=2, content=1, features=features)
    assert await outcome(store, other) == (Decision.DUPLICATE, 1)
    changed = page(1, FAR[0], title=3, content=3, features=features)
    assert (await store.check_and_add(changed)).reason is Reason.CHANGED


@on_store(MATCHING, matching=BY_FEATURES)
async def test_another_title_is_repeated_by_equal_text_only(store):
    await store.check_and_add(page(1, FAR[0], title=1, features=(1, 2, 3)))
    other = page(2, 1, title=2, features=(1, 2, 3))
    assert await outcome(store, other) == (Decision.NEW, None)
    for title, fingerprint, match in ((2, FAR[0], 1), (1, FAR[1], 1), (0, FAR[1], 2)):
        other = page(3, fingerprint, title=title, features=(1, 0, 0))
        assert await outcome(store, other) == (Decision.DUPLICATE, match)
    changed = page(1, FAR[1], title=3, features=(1, 2, 3))
    assert (await store.check_and_add(changed)).reason is Reason.CHANGED


@on_store(MATCHING, matching=BY_FEATURES)
async def test_features_that_a_whole_site_shares_lead_nowhere_in_the_end(store):
    """Pages that have nothing but furniture in common are kept, and so is what is their own."""
    pages = [
        page(number, number << 20, features=(5, 6, 100 + number), title=number, content=number)
        for number in range(1, 500)
    ]
    for each in pages:
        assert await outcome(store, each) == (Decision.NEW, None)
    for each in pages[:10] + pages[-10:]:
        found = replace(each, id=each.id + 10_000, features=(0, 0, each.features[2]))
        assert await outcome(store, found) == (Decision.DUPLICATE, each.id)
    # Of two entries both features lead to the first ones.
    await store.confirm(1)
    other = page(9000, 0, features=(5, 6, 0), title=2, content=0)
    assert await outcome(store, other) == (Decision.DUPLICATE, 2)
    other = page(9001, 0, features=(5, 6, 0), title=499, content=0)
    assert await outcome(store, other) == (Decision.NEW, None)
    # To withdraw those that it doesn't lead to is no error, and makes room for nobody else's.
    for each in pages[1:]:
        assert await store.forget(each.id) in (0, 1, 2)
    assert (await store.stats()).pages == 2


@on_store(MATCHING, matching=BY_FEATURES)
async def test_features_that_many_scopes_share_lead_each_to_its_own(store):
    for number in range(100):
        new = page(number, number << 20, scope=f"{number}.example", features=(1, 2, 3))
        assert await outcome(store, new) == (Decision.NEW, None)
    for number in range(100):
        again = page(number + 1000, 0, scope=f"{number}.example", features=(1, 0, 0))
        assert await outcome(store, again) == (Decision.DUPLICATE, number)


@on_store(PLACES)
async def test_what_a_store_was_not_opened_for_counts_for_nothing(store):
    first = page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS, "2" * 16))
    assert await outcome(store, first) == (Decision.NEW, None)
    other = page(2, FAR[0] ^ 1, features=(4, 5, 6), sketch=sketch("1" * 16))
    verdict = await store.check_and_add(other)
    assert (verdict.match.page_id, verdict.match.resemblance) == (1, None)
    assert await outcome(store, replace(first, id=3, fingerprint=FAR[1])) == (Decision.NEW, None)
    assert await outcome(store, replace(first, fingerprint=FAR[2])) == (Decision.NEW, None)
    assert await store.forget(1) == 0
    assert await outcome(store, other) == (Decision.NEW, None)


# Confirmation


@on_store(MATCHING, matching=CONFIRMED)
async def test_a_sketch_confirms_or_refuses(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS)))
    for way in ({"features": (1, 0, 0)}, {"features": (0, 0, 0)}):
        other = page(2, FAR[0], **way, sketch=sketch(with_ones(4)))
        verdict = await store.check_and_add(other)
        assert (verdict.decision, verdict.match.page_id) == (Decision.DUPLICATE, 1)
        assert verdict.match.resemblance == pytest.approx((12 / 16 - 1 / 16) / (15 / 16))
    other = page(3, FAR[0], features=(1, 2, 3), sketch=sketch(with_ones(5)))
    assert await outcome(store, other) == (Decision.NEW, None)


@on_store(MATCHING, matching=NEAR_CONFIRMED)
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


@on_store(MATCHING, matching=NEAR_CONFIRMED)
async def test_furniture_that_both_hold_does_not_count(store):
    await store.check_and_add(page(1, FAR[0], sketch=sketch(ZEROS)))
    # 16 bins, 8 are furniture of which 2 differ: 2 of 10 are too many, where 2 of 16 aren't.
    other = sketch(with_ones(2), furniture="F" * 8 + "0" * 8, most=0.19)
    assert await outcome(store, page(2, FAR[0], sketch=other)) == (Decision.NEW, None)
    bare = replace(other, furniture=(bytes(8),))
    assert await outcome(store, page(3, FAR[0], sketch=bare)) == (Decision.DUPLICATE, 1)


@on_store(MATCHING, matching=NEAR_CONFIRMED)
async def test_every_view_must_confirm(store):
    # Equal views, and then different ones; both pages have two in any case.
    for number, (first, second) in enumerate(((ZEROS, ZEROS), (ZEROS, "2" * 16))):
        site = FAR[number]
        base = 100 * number
        await store.check_and_add(page(base, site, sketch=sketch(first, second)))
        good = page(base + 1, site, sketch=sketch(with_ones(3), second))
        verdict = await store.check_and_add(good)
        assert (verdict.decision, verdict.match.page_id) == (Decision.DUPLICATE, base)
        assert verdict.match.resemblance == pytest.approx((13 / 16 - 1 / 16) / (15 / 16))
        for views in ((first, "3" * 16), ("3" * 16, second)):
            bad = page(base + 2, site, sketch=sketch(*views))
            assert await outcome(store, bad) == (Decision.NEW, None)
            await store.forget(bad.id)


@on_store(MATCHING, matching=CONFIRMED)
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
    # In each view.
    for views in ((ZEROS, with_ones(2)), (with_ones(2), ZEROS)):
        other = replace(first, id=3, title=2, sketch=sketch(*views, most=1.0))
        assert await outcome(store, other) == (Decision.NEW, None)
        await store.forget(3)
    # An entry without a title is like any other.
    await store.check_and_add(page(4, FAR[2], sketch=sketch(ZEROS)))
    other = page(5, FAR[2], title=2, sketch=unlike)
    assert await outcome(store, other) == (Decision.DUPLICATE, 4)


@on_store(MATCHING, matching=NEAR_CONFIRMED)
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


@on_store(MATCHING, matching=NEAR_CONFIRMED)
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


@on_store(MATCHING, matching=NEAR_CONFIRMED)
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


@on_store(MATCHING, matching=NEAR_CONFIRMED)
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


@on_store(MATCHING, matching=CONFIRMED)
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


@on_store(MATCHING, matching=NEAR_CONFIRMED)
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


@on_store(MATCHING, matching=BY_FEATURES)
async def test_the_page_itself_is_not_seen_by_its_distance_alone(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3)))
    changed = await store.check_and_add(page(1, FAR[0], features=(4, 5, 6)))
    assert (changed.decision, changed.reason) == (Decision.NEW, Reason.CHANGED)


@on_store(MATCHING, matching=CONFIRMED)
async def test_forget_takes_features_and_sketches_along(store):
    first = page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS, "1" * 16))
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


@on_store(MATCHING, matching=CONFIRMED)
async def test_an_entry_whose_page_repeats_another_now_is_withdrawn(store):
    first = page(1, FAR[0], features=(1, 2, 3), sketch=sketch(ZEROS))
    second = page(2, FAR[1], features=(4, 5, 6), sketch=sketch("2" * 16))
    await store.check_and_add(first)
    await store.check_and_add(second)
    assert await outcome(store, replace(first, id=2)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, replace(second, id=3)) == (Decision.NEW, None)


@on_store(MATCHING, matching=BY_BOTH)
async def test_a_match_says_which_of_its_repeats_the_page_is(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3)))
    counts = [
        (await store.check_and_add(page(number, FAR[number % 3], features=(1, 0, 0)))).match.count
        for number in range(2, 7)
    ]
    assert counts == [1, 2, 3, 4, 5]
    assert (await store.check_and_add(page(1, FAR[0], features=(1, 2, 3)))).match.count == 0
    assert await store.forget(1) == 5


# Opened again


@pytest.mark.parametrize("fresh", fresh_places())
def test_features_sketches_and_notices_survive_where_entries_do(fresh):
    async def scenario(place: Place) -> None:
        plain = page(1, FAR[0], features=(1, 2, 3))
        single = page(2, FAR[1], features=(4, 5, 6), sketch=sketch(ZEROS, ZEROS))
        double = page(3, FAR[2], features=(7, 8, 9), sketch=sketch(ZEROS, "1" * 16))
        pages = (plain, single, double, page(4, FAR[3], exact=True))
        async with open_store(place.uri, matching=CONFIRMED) as store:
            for each in pages:
                assert await outcome(store, each) == (Decision.NEW, None)
                await store.confirm(each.id)
            await store.exchange("a topic", "a", b"1")
            await store.exchange("a topic", "b", b"2")
        async with open_store(place.uri, matching=CONFIRMED) as store:
            assert sorted(await store.exchange("a topic", "a", b"3")) == [b"2", b"3"]
            for each in pages:
                again = replace(each, id=10)
                assert await outcome(store, again) == (Decision.DUPLICATE, each.id)
            other = replace(double, id=11, sketch=sketch(ZEROS, ZEROS))
            assert await outcome(store, other) == (Decision.NEW, None)
            other = replace(single, id=12, fingerprint=FAR[4], features=(0, 5, 0))
            assert await outcome(store, other) == (Decision.DUPLICATE, 2)
        for matching in (None, BY_BOTH, replace(CONFIRMED, sketch_bits=2)):
            with pytest.raises(StoreMismatchError):
                await open_store(place.uri, matching=matching).open()

    with fresh() as place:
        if not place.survives:
            pytest.skip("nothing survives there")
        asyncio.run(scenario(place))


# The notice board


@on_store(MATCHING)
async def test_members_read_what_all_have_posted(store):
    assert await store.exchange("x", "a", b"1") == [b"1"]
    assert sorted(await store.exchange("x", "b", b"2")) == [b"1", b"2"]
    assert sorted(await store.exchange("x", "a", b"1")) == [b"1", b"2"]
    assert sorted(await store.exchange("x", "a", b"\xff\0")) == [b"2", b"\xff\0"]
    assert await store.exchange("y", "b", b"") == [b""]
    assert (await store.stats()).pages == 0


@on_store(MATCHING)
async def test_a_board_has_bounds(store):
    for number in range(200):
        values = await store.exchange("x", str(number), str(number).encode())
        assert str(number).encode() in values
        assert len(values) <= 64


# Against the model


class Site:
    """Pages of clusters: variants of one page that share some features, a prefix of another."""

    def __init__(self, seed: int, matching: Matching) -> None:
        self.rng = random.Random(seed)
        self.matching = matching
        self.centres = [self._centre() for _ in range(8)]

    def page(self) -> Page:
        rng = self.rng
        centre, other = rng.sample(self.centres, 2)
        # Most pages stay what they are about.
        home = self.centres.index(centre) if rng.random() < 0.9 else rng.randrange(8)
        flips = sum({1 << rng.randrange(64) for _ in range(rng.randrange(7))})
        exact = rng.random() < 0.1
        return replace(
            centre,
            id=8 * rng.randrange(6) + home,
            fingerprint=(other if rng.random() < 0.2 else centre).fingerprint ^ flips,
            exact=exact,
            scope=rng.choice(("", "", "a.example")),
            title=rng.choices((0, 1, 2), (3, 5, 2))[0],
            content=rng.randrange(2),
            features=() if exact else self._features(centre, other),
            sketch=self._sketch(centre) if not exact and rng.random() < 0.9 else None,
        )

    def _centre(self) -> Page:
        rng, size = self.rng, self.matching.sketch_bytes
        view = rng.randbytes(size)
        views = (view, rng.choice((view, rng.randbytes(size))))
        return page(
            0,
            rng.getrandbits(64),
            features=tuple(rng.getrandbits(64) for _ in range(self.matching.features)),
            sketch=Sketch(views=views, furniture=(bytes(size),) * 2, most_differing=0.0),
        )

    def _features(self, centre: Page, other: Page) -> tuple[int, ...]:
        rng = self.rng
        return tuple(
            rng.choices((mine, theirs, rng.getrandbits(64)), (4, 1, 10))[0]
            for mine, theirs in zip(centre.features, other.features, strict=True)
        )

    def _sketch(self, centre: Page) -> Sketch | None:
        rng, size = self.rng, self.matching.sketch_bytes
        if not size:
            return None
        changed = rng.sample(range(size), rng.randrange(size // 3))
        furniture = bytes(rng.choice((0, 0, 255)) for _ in range(size))
        views = []
        for view in centre.sketch.views:
            ours = bytearray(view)
            for place in changed:
                ours[place] ^= rng.randrange(256)
            views.append(bytes(ours))
        return Sketch(views=tuple(views), furniture=(furniture,) * 2, most_differing=0.3)


@pytest.mark.parametrize("fresh", fresh_places())
@pytest.mark.parametrize(
    "matching",
    [
        Matching(by_distance=False, features=4),
        Matching(features=4, shared_features=2),
        Matching(sketch_bits=8, sketch_bytes=16),
        Matching(by_distance=False, features=4, sketch_bits=1, sketch_bytes=8),
        Matching(features=4, sketch_bits=2, sketch_bytes=16),
        Matching(features=6, shared_features=2, sketch_bits=4, sketch_bytes=16),
    ],
    ids=str,
)
def test_a_long_crawl_agrees_with_the_model(matching, fresh):
    async def scenario(place: Place, seed: int) -> None:
        site = Site(seed, matching)
        model = ModelStore(3, matching)
        seen = set()
        for _ in range(3):
            async with open_store(place.uri, matching=matching, expected_pages=1000) as store:
                for _ in range(250):
                    arrival = site.page()
                    ours, theirs = await store.check_and_add(arrival), model.check_and_add(arrival)
                    assert ours == theirs
                    assert (ours.match and ours.match.count) == (
                        theirs.match and theirs.match.count
                    )
                    seen.add(ours.decision)
                    known = site.rng.randrange(48)
                    if site.rng.random() < 0.6:
                        await store.confirm(known)
                        model.confirm(known)
                    elif site.rng.random() < 0.3:
                        assert await store.forget(known) == model.forget(known)
                stats = await store.stats()
                assert (stats.pages, stats.pending, stats.dropped) == model.counts()
            if not place.survives:
                break
            model.reopen(restores=not place.shared)
        assert seen == {Decision.NEW, Decision.DUPLICATE, Decision.SEEN}

    for seed in range(1 if fresh is PLACES["redis-cluster"] else 3):
        with fresh() as place:
            asyncio.run(scenario(place, seed))
