"""What labels say, against brute force: which page stands for a cluster, and mirrors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.clusters import canonical, mirrors

LABELS = np.array([0, 1, 0, 0, 1, 5])
URLS = ["/index.html", "/a", "/", "/?", "/b", "/lonely"]
LENGTHS = [10, 7, 12, 12, 9, 1]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("first", [0, 1, 0, 0, 1, 5]),
        ("shortest-url", [2, 1, 2, 2, 1, 5]),
        ("longest-text", [2, 4, 2, 2, 4, 5]),
    ],
)
def test_rules(rule, expected):
    assert canonical(LABELS, rule, urls=URLS, lengths=LENGTHS).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=30))
def test_longest_text_of_any_clusters(pages):
    labels = np.array([label for label, _ in pages], dtype=np.int64)
    lengths = [length for _, length in pages]
    chosen = canonical(labels, "longest-text", lengths=lengths).tolist()
    for (label, _), page in zip(pages, chosen, strict=True):
        group = [k for k, other in enumerate(labels) if other == label]
        assert page == max(group, key=lambda k: (lengths[k], -k))


def test_what_a_rule_needs():
    with pytest.raises(ConfigurationError, match="must be one of 'first', 'shortest-url'"):
        canonical(LABELS, "best")
    with pytest.raises(ConfigurationError, match="'shortest-url' needs urls"):
        canonical(LABELS, "shortest-url", lengths=LENGTHS)
    with pytest.raises(ConfigurationError, match="'longest-text' needs lengths"):
        canonical(LABELS, "longest-text", urls=URLS)


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
