"""The package against its definitions in plain Python, bit for bit, on any text."""

# ruff: noqa: RUF001  (letters that look alike are the point)
from collections import Counter

import numpy as np
import pytest
import reference_simhash as reference
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprints import features, simhash, simhash_features, token_hashes
from scrapy_neardup.fingerprints.hashing import PUBLIC_KEY
from scrapy_neardup.text import normalize

# Characters that are treated in some special way, often enough to meet each other.
SPECIAL = (
    "aAzZéÉßİıſΣσςΩЖжאبกิกຂကែけゲﾞー々〇漢字\U00020000\U0003ffff한국ᄀ"  # letters of all kinds
    "09٣²½Ⅷ①" " \t\n\u00a0\u2003.,-–—'’_·/" "\u0301\u0307\u0323\u093f\u20e3\u034f"
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202e\u2060\ufeff\ufe0f\U000e0100\U000e0041"
    "❤🫨€\x00\x1f\ud800\udfff\ue000\U000f0000\U0010ffff\u0378\u2fe0\U0001fbff\U0001e7ef"
)  # fmt: skip
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=SPECIAL, max_size=60),
    st.text(alphabet="ab ", max_size=300),
    st.lists(st.sampled_from(["the", "a", "cat", "sat", "mat"]), max_size=60).map(" ".join),
    st.text(alphabet="abcé漢 ", min_size=50, max_size=400),
)
KEYS = st.none() | st.binary(max_size=80).filter(PUBLIC_KEY.__ne__)  # stands for None


@given(TEXTS)
def test_tokens(text):
    assert normalize(text).decode().split() == reference.tokens(text)


@given(TEXTS, KEYS)
def test_token_hashes(text, key):
    expected = [reference.token_hash(token, key) for token in reference.tokens(text)]
    assert token_hashes(text, key=key).tolist() == expected


@given(st.text(alphabet="aé漢", min_size=1, max_size=100), KEYS)
def test_token_hashes_of_long_tokens(text, key):
    expected = [reference.token_hash(token, key) for token in reference.tokens(text)]
    assert token_hashes(text, key=key).tolist() == expected


@given(TEXTS, st.integers(1, 8))
def test_features(text, size):
    counts = reference.shingles(text, size)
    hashes, weights = features(token_hashes(text), shingle_size=size)
    assert weights is None
    assert sorted(hashes.tolist()) == sorted(counts)
    hashes, weights = features(token_hashes(text), shingle_size=size, weights="tf")
    assert dict(zip(hashes.tolist(), weights.tolist(), strict=True)) == counts


@given(TEXTS, st.integers(1, 8), st.sampled_from(["set", "tf", "sqrt", "log"]), KEYS)
def test_simhash(text, size, weights, key):
    if reference.tokens(text):
        expected = reference.simhash(text, size, weights, key)
        assert simhash(text, shingle_size=size, weights=weights, key=key) == expected


@given(
    st.dictionaries(
        st.integers(0, 2**64 - 1),
        st.floats(0, 1e6) | st.integers(1, 4) | st.sampled_from([2**-17, 3 * 2**-17, 0.1]),
        min_size=1,
        max_size=30,
    )
)
def test_simhash_of_any_weights(weights):
    hashes = np.array(list(weights), np.uint64)
    values = np.array(list(weights.values()), np.float64)
    if round(max(weights.values()) * 2**16):
        assert simhash_features(hashes, values) == reference.simhash_of(weights)


@pytest.mark.parametrize("weights", ["set", "tf", "sqrt", "log"])
@pytest.mark.parametrize("count", [254, 255, 256, 5_000, 16_320, 16_321, 40_000])
def test_many_features(count, weights):
    text = " ".join(f"w{i * i % 5003}" for i in range(count))
    tokens = [reference.token_hash(token) for token in text.split()]
    counts = Counter(tokens)
    hashes, values = features(np.array(tokens, np.uint64), shingle_size=1, weights=weights)
    assert sorted(hashes.tolist()) == sorted({reference.mix(token) for token in tokens})
    weigh = reference.WEIGHTS[weights]
    units = {reference.mix(t): round(weigh(n) * 2**16) for t, n in counts.items()}
    total = sum(units.values())
    expected = sum(
        (2 * sum(unit for feature, unit in units.items() if feature >> bit & 1) > total) << bit
        for bit in range(64)
    )
    assert simhash_features(hashes, values) == expected
