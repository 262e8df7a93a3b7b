"""Which page stands for a cluster, against brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.offline.clusters import canonical


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=30))
def test_the_canonical_page_of_any_clusters(pages):
    labels = np.array([label for label, _ in pages], dtype=np.int64)
    costs = [cost for _, cost in pages]
    chosen, first = canonical(labels, costs).tolist(), canonical(labels).tolist()
    for place, (label, _) in enumerate(pages):
        group = [k for k, other in enumerate(labels) if other == label]
        assert chosen[place] == min(group, key=lambda k: (costs[k], k))
        assert first[place] == group[0]
