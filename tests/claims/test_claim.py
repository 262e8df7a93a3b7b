"""The life of a claim: how it begins and ends, its checks, its bound."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.claims.claim import (
    AGAIN,
    DENSE,
    ENOUGH,
    LENT,
    MAX_EXAMPLE,
    NEEDED,
    THINNING,
    Claim,
    bound,
)

PAIR = ("http://e.com/a?s=1", "http://e.com/a")
OTHER = ("http://e.com/b?s=1", "http://e.com/b")


def supported(times, claim=None):
    claim = claim or Claim()
    begins = [claim.support(PAIR) for _ in range(times)]
    return claim, begins


def test_it_begins_with_enough_requests_in_a_row():
    claim, begins = supported(NEEDED - 1)
    assert not any(begins)
    assert not claim.contradict(OTHER)
    claim, begins = supported(NEEDED, claim)
    assert begins == [False] * (NEEDED - 1) + [True]
    assert claim.is_in_force
    assert (claim.streak, claim.supports, claim.checks) == (NEEDED, 2 * NEEDED - 1, 0)
    assert (claim.example, claim.counter) == (PAIR, OTHER)
    assert not claim.support(PAIR)
    assert claim.checks == 1


@pytest.mark.parametrize("times", [1, 2])
def test_each_time_that_it_has_ended_it_needs_ten_times_the_evidence(times):
    claim = Claim()
    for _ in range(times):
        while not claim.support(PAIR):
            pass
        assert claim.contradict(OTHER)
        assert not claim.is_in_force
        assert (claim.streak, claim.covered, claim.since_test) == (0, 0, 0)
    _, begins = supported(NEEDED * AGAIN**times, claim)
    assert begins.index(True) == NEEDED * AGAIN**times - 1


def test_it_needs_less_where_a_more_general_one_is_in_force_unless_it_has_ended():
    claim = Claim()
    begins = [claim.support(PAIR, is_lent=True) for _ in range(LENT)]
    assert begins == [False] * (LENT - 1) + [True]
    claim.contradict(OTHER)
    assert not any(claim.support(PAIR, is_lent=True) for _ in range(NEEDED * AGAIN - 1))
    assert claim.support(PAIR, is_lent=True)


@given(st.lists(st.sampled_from([True, True, True, False]) | st.just(True), max_size=400))
def test_it_is_in_force_exactly_from_enough_evidence_to_the_next_contradiction(evidence):
    claim, row, ended, is_in_force = Claim(), 0, 0, False
    for speaks_for in evidence:
        if speaks_for:
            row += 1
            begins = not is_in_force and row >= NEEDED * AGAIN**ended
            assert claim.support(PAIR) == begins
            is_in_force |= begins
        else:
            assert claim.contradict(OTHER) == is_in_force
            ended += is_in_force
            row, is_in_force = 0, False
        assert (claim.streak, claim.ended, claim.is_in_force) == (row, ended, is_in_force)


def made(draws, explore):
    claim, _ = supported(NEEDED)
    found = []
    for draw in draws:
        found.append(claim.is_due(draw, explore))
        claim.cover(is_made=found[-1])
    assert claim.covered == len(found)
    assert claim.withheld == found.count(False)
    return found


def spread(number):
    """Return numbers from 0 to 1, evenly spread."""
    return [each * 0.618034 % 1 for each in range(1, number + 1)]


def test_it_is_tested_densely_at_first_and_then_less_and_less():
    found = made(spread(6_000), 0.02)
    assert 1 / (DENSE + 2) < sum(found[:THINNING]) / THINNING < 0.6
    assert sum(found[100:200]) < sum(found[:100])
    assert sum(found[-3000:]) / 3000 == pytest.approx(0.02, rel=0.3)
    assert all(made(spread(50), 1))
    assert not any(made(spread(50), 0))


@given(
    st.lists(st.floats(0, 1, exclude_max=True), max_size=300), st.sampled_from([0.01, 0.05, 0.5])
)
def test_however_requests_are_drawn_they_are_tested_by_and_by(draws, explore):
    gap = 0
    for number, is_made in enumerate(made(draws, explore)):
        share = max(explore, 1 / (DENSE + number // THINNING))
        gap = 0 if is_made else gap + 1
        assert gap <= 3 / share + 1


LIVES = {
    "support": lambda claim: claim.support(PAIR),
    "contradict": lambda claim: claim.contradict(OTHER),
    "cover": lambda claim: claim.cover(is_made=claim.is_due(0.5, 0.1)),
}
events = st.lists(st.sampled_from([*LIVES]), max_size=60)


def lived(what):
    claim, _ = supported(NEEDED - 1)
    for each in what:
        LIVES[each](claim)
    return claim


@given(events)
def test_it_is_restored_as_it_was(what):
    claim = lived(what)
    again = Claim.load(json.loads(json.dumps(claim.dump())))
    assert again.dump() == claim.dump()
    assert again.is_in_force == claim.is_in_force


@given(events, events)
def test_of_two_crawlers_the_one_that_saw_it_end_more_often_is_right(one, other):
    mine, theirs = lived(one), lived(other)
    before, ended = mine.is_in_force, mine.ended
    assert mine.merge(theirs) == (mine.is_in_force != before)
    assert mine.ended == max(ended, theirs.ended)
    if theirs.ended == ended:
        assert mine.is_in_force == (before or theirs.is_in_force)
    else:
        assert mine.is_in_force == (before and ended > theirs.ended)
    assert not mine.merge(theirs)


@pytest.mark.parametrize("hears", [False, True])
def test_what_ends_a_claim_here_or_elsewhere_leaves_no_test_to_count(hears):
    claim, _ = supported(3 * NEEDED)
    claim.cover(is_made=False)
    claim.examined = claim.streak
    assert claim.merge(Claim(ended=1)) if hears else claim.contradict(OTHER)
    found = claim.streak, claim.checks, claim.covered, claim.since_test, claim.examined
    assert found == (0,) * 5
    assert claim.withheld == 1
    supported(NEEDED * AGAIN, claim)
    assert (claim.is_in_force, claim.checks) == (True, 0)


WRONG = ["withheld", -1, 1 << 40, 1.5, [], ["a"], {"a": 1}]
DUMP = Claim().dump()
OTHERS = [[*DUMP[:at], wrong, *DUMP[at + 1 :]] for at in range(11) for wrong in WRONG]


@pytest.mark.parametrize("dump", [*OTHERS, DUMP[:-1], [*DUMP, 0], [True] * 11])
def test_a_dump_with_something_else_or_of_another_length_is_refused(dump):
    with pytest.raises((ValueError, TypeError)):
        Claim.load(dump)


def test_examples_are_short():
    claim = Claim()
    claim.support(("x" * 10_000, "y" * 10_000))
    assert [len(url) for url in claim.example] == [MAX_EXAMPLE] * 2


def test_the_bound_is_the_rule_of_three_and_the_docs_have_the_numbers():
    assert list(map(bound, (0, 2, 3, ENOUGH))) == [1, 1, 1, 0.05]
    page = " ".join((Path(__file__).parents[2] / "docs" / "urls.md").read_text().split())
    assert f"{NEEDED} different requests in a row" in page
    assert f"until each claim has had {ENOUGH} tests" in page
