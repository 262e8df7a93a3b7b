"""What is removed, against brute force."""

import tracemalloc

import numpy as np
import pytest
from datasets import documents, removed_of, write_parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.weights import features
from scrapy_neardup.offline.dedupe import DedupeOptions, dedupe
from scrapy_neardup.offline.dedupe.choosing import MOST, common, decide
from scrapy_neardup.offline.files.sortedruns import BucketRuns
from scrapy_neardup.offline.joins import resemblance
from scrapy_neardup.offline.readers.namedcolumns import Columns


def by_hand(sets, ranks, buckets, least):
    """Which document each is removed for: of the kept ones that share a bucket, the most alike."""
    kept, removed = [], {}
    for document in sorted(range(len(sets)), key=lambda each: (ranks[each], each)):
        candidates = [each for each in kept if buckets[each] & buckets[document]]
        found = [(resemblance(sets[document], sets[each]), each) for each in candidates]
        best = max((share for share, _ in found), default=-1)
        if best >= least:
            removed[document] = next(each for share, each in found if share == best)
        else:
            kept.append(document)
    return removed


sets_of_numbers = st.lists(
    st.tuples(
        st.frozensets(st.integers(0, 12), min_size=1, max_size=8),
        st.frozensets(st.integers(0, 5), min_size=1, max_size=3),
        st.integers(0, 3),
    ),
    max_size=14,
)


@given(sets_of_numbers, st.sampled_from([0.0, 0.5, 0.8, 1.0]))
def test_as_by_hand(made, least):
    sets, buckets, ranks = ([each[place] for each in made] for place in range(3))
    order = np.array(sorted(range(len(sets)), key=lambda each: (ranks[each], each)), np.int64)
    entries = [(bucket, each) for each, own in enumerate(buckets) for bucket in own]
    numbers = np.array(entries, np.int64).reshape(-1, 2)
    shingles = [np.array(sorted(sets[each]), np.uint64) for each in order]
    found = decide(numbers[:, 0].astype(np.uint64), numbers[:, 1], order, shingles, least)
    expected = by_hand(sets, ranks, buckets, least)
    assert dict(zip(found.documents.tolist(), found.kept.tolist(), strict=True)) == expected
    for document, kept, share in zip(*found, strict=True):
        assert share / MOST == pytest.approx(resemblance(sets[document], sets[kept]), abs=1e-4)


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_what_is_removed_resembles_what_is_kept(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("set")
    rows = documents(150, seed)
    write_parquet(folder / "x.parquet", rows)
    options = DedupeOptions(columns=Columns(id="id"))
    summary = dedupe([f"{folder}/x.parquet"], str(folder / "out"), options)
    sets = {
        row["id"]: set(features(token_hashes(row["text"]), shingle_size=4)[0].tolist())
        for row in rows
    }
    removed = removed_of(folder / "out")
    kept = set(sets) - set(removed)
    assert summary.kept == len(kept)
    for name, line in removed.items():
        assert line["of"] in kept
        exact = resemblance(sets[name], sets[line["of"]])
        assert line["resemblance"] == pytest.approx(exact, abs=1e-4)
        assert exact >= 0.9
        assert (line["reason"] == "equal") <= (exact == 1)
    # Features bring pairs at .95 together with a probability of .9999.
    alike = [
        (one, other)
        for one in kept
        for other in kept
        if one < other and resemblance(sets[one], sets[other]) >= 0.97
    ]
    assert not alike


def test_what_is_common_is_found_in_bounded_memory(tmp_path):
    memory, count = 1 << 24, 1_200_000
    shared = np.random.default_rng(1).integers(0, 1 << 64, count // 2, np.uint64)
    buckets = BucketRuns(str(tmp_path), memory)
    buckets.add(np.repeat(shared, 2)[:, None], np.arange(count))

    tracemalloc.start()
    assert sum(len(part) for part in common(buckets)) == count  # holds a part, as `components`
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < memory
