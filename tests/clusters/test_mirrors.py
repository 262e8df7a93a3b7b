"""Groups of pages that repeat each other, against brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.clusters import mirrors

pages = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abcd")), max_size=30)


def by_hand(made):
    groups = list(dict.fromkeys(group for _, group in made))
    found = {}
    for place, a in enumerate(groups):
        for b in groups[place + 1 :]:
            labels = {side: [label for label, group in made if group == side] for side in (a, b)}
            both = set(labels[a]) & set(labels[b])
            if both:
                counts = [sum(label in both for label in labels[side]) for side in (a, b)]
                shares = [
                    count / len(labels[side]) for count, side in zip(counts, (a, b), strict=True)
                ]
                found[a, b] = (*counts, *shares)
    return found


@given(pages)
def test_as_by_hand(made):
    labels = np.array([label for label, _ in made], np.int64)
    found = mirrors(labels, [group for _, group in made])
    assert {(each.a, each.b): tuple(each[2:]) for each in found} == by_hand(made)
    shares = [max(each.share_a, each.share_b) for each in found]
    assert shares == sorted(shares, reverse=True)
