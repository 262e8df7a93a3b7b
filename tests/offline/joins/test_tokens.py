"""Token sets: numbering, order, shingles, q-grams, numbered multisets."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.joins import encode, shingles, words

documents = st.lists(st.lists(st.sampled_from("abcde"), max_size=15), max_size=12)


def isomorphic(sets, expected):
    """Whether token sets are these sets of anything under some renaming of tokens."""
    assert len(sets) == len(expected)
    names = {}
    for number, wanted in enumerate(expected):
        assert len(sets.row(number)) == len(wanted)
    for token in range(len(sets.frequency)):
        where = frozenset(k for k in range(len(sets)) if token in sets.row(k))
        names.setdefault(where, []).append(token)
    places = Counter()
    for token in set().union(*expected):
        places[frozenset(k for k, wanted in enumerate(expected) if token in wanted)] += 1
    return places == {where: len(tokens) for where, tokens in names.items()}


def check_form(sets):
    assert sets.indptr.dtype == np.int64
    assert sets.tokens.dtype == np.int32
    assert (np.diff(sets.frequency) >= 0).all()
    for number in range(len(sets)):
        assert (np.diff(sets.row(number)) > 0).all()
    counted = np.bincount(sets.tokens, minlength=len(sets.frequency))
    assert counted.tolist() == sets.frequency.tolist()


@given(documents, st.integers(1, 6))
def test_shingles_are_runs_of_tokens(docs, size):
    sets = shingles(docs, size)
    check_form(sets)
    expected = [
        {tuple(d[k : k + size]) for k in range(max(len(d) - size, 0) + 1)} if d else set()
        for d in docs
    ]
    assert isomorphic(sets, expected)


@given(documents, st.integers(1, 3))
def test_multisets_are_numbered(docs, size):
    sets = shingles(docs, size, multiset=True)
    check_form(sets)
    expected = []
    for document in docs:
        starts = range(max(len(document) - size, 0) + 1) if document else ()
        counts = Counter(tuple(document[k : k + size]) for k in starts)
        expected.append({(token, n) for token, count in counts.items() for n in range(count)})
    assert isomorphic(sets, expected)


def test_long_shingles_do_not_overflow():
    # 1,024 tokens: in 64-bit integers only the last six digits of base 1,024 would remain.
    base = list(range(1023))
    changed = [*base]
    changed[500] = 1023
    sets = shingles([base, changed], 60)
    assert sets.sizes.tolist() == [964, 964]
    assert len(np.intersect1d(sets.row(0), sets.row(1))) == 964 - 60


def test_rarest_tokens_come_first():
    sets = encode([["common", "rare"], ["common"], ["common", "two"], ["two"]])
    assert sets.frequency.tolist() == [1, 2, 3]
    assert [sets.row(k).tolist() for k in range(4)] == [[0, 2], [2], [1, 2], [1]]


def test_words_are_those_of_fingerprints():
    assert words("The Cat's 2nd  hat") == [b"the", b"cat", b"s", b"2nd", b"hat"]


def test_bad_arguments():
    with pytest.raises(ConfigurationError, match="shingle size must be a whole number"):
        shingles([["a"]], 0)
    with pytest.raises(ConfigurationError, match="list of its characters"):
        encode(["text"])
    with pytest.raises(ConfigurationError, match="list of its characters"):
        encode([b"text"])
