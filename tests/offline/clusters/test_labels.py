"""What labels say, against brute force: which page stands for a cluster, and mirrors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.offline.clusters import canonical, mirrors


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=30))
def test_the_canonical_page_of_any_clusters(pages):
    labels = np.array([label for label, _ in pages], dtype=np.int64)
    costs = [cost for _, cost in pages]
    chosen, first = canonical(labels, costs).tolist(), canonical(labels).tolist()
    for place, (label, _) in enumerate(pages):
        group = [k for k, other in enumerate(labels) if other == label]
        assert chosen[place] == min(group, key=lambda k: (costs[k], k))
        assert first[place] == group[0]


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
