"""The suffix filter's bound never exceeds the truth, wherever its window lies."""

from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.joins.reference import symmetric_difference_bound

token_lists = st.sets(st.integers(0, 30), max_size=20).map(sorted)


@given(token_lists, token_lists, st.integers(0, 25), st.integers(0, 6))
def test_the_bound_rules_out_no_pair_within_it(x, y, most, max_depth):
    difference = len(set(x) ^ set(y))
    bound = symmetric_difference_bound(x, y, most, max_depth)
    if difference <= most:
        assert bound <= difference
    assert abs(len(x) - len(y)) <= max(bound, most + 1)


def test_deep_enough_it_is_the_difference():
    x, y = list(range(0, 40, 2)), list(range(0, 40, 3))
    difference = len(set(x) ^ set(y))
    assert symmetric_difference_bound(x, y, 100, 10) == difference
    assert symmetric_difference_bound(x, y, difference - 1, 10) >= difference


def test_a_window_over_the_edge_rules_out_nothing():
    # The middle token of y lies behind all of x: found by clamping the window to x, "not in
    # the window" would lose the pair.
    assert symmetric_difference_bound([1, 2], [1, 2, 3, 4, 5], 3, 2) <= 3
    assert symmetric_difference_bound([4, 5], [1, 2, 3, 4, 5], 3, 2) <= 3
    assert symmetric_difference_bound([1, 2, 3, 4, 5], [9], 6, 2) <= 6
