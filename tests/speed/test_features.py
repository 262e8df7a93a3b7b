"""Compiled and pure make the same features of a page, and sketches of many documents."""

import unicodedata
from array import array

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from twins import both

from scrapy_neardup import _speed
from scrapy_neardup.fingerprints import hashing, independent, one_permutation_sketch  # noqa: F401
from scrapy_neardup.fingerprints.batch import NO_MINIMUM, minima_of_each, shingles_of_each
from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.judge.evidence import short_paths
from scrapy_neardup.text import Form
from scrapy_neardup.text.tokens import CHARACTERS, classify

pytestmark = pytest.mark.skipif(
    _speed.load("features") is None or _speed.load("tokens") is None, reason="pure Python"
)

_TWINS = "hashes_of least_under majority minima_of minima_of_each parted shingles_of_each sketched"


def random_hashes(seed, size, mask=(1 << 64) - 1):
    return np.random.default_rng(seed).integers(0, 1 << 64, size, np.uint64) & np.uint64(mask)


seeds, sizes = st.integers(0, 1 << 32), st.integers(1, 600)
few_bits = st.sampled_from([(1 << 64) - 1, 7 << 61, 0xFF, 0xF0000000000000FF])
lengths = st.lists(st.integers(0, 9) | st.integers(0, 700), max_size=6)


def test_all_twins_are_there():
    assert {f"features.{name}" for name in _TWINS.split()} <= set(_speed.TWINS)


@given(seeds, sizes, few_bits)
def test_majority(seed, size, mask):
    both("features.majority", random_hashes(seed, size, mask))


@pytest.mark.parametrize("size", [40_001, 0])
def test_many_and_none(size):
    both("features.majority", np.append(random_hashes(1, size), np.uint64(1)))


@given(seeds, st.integers(4, 90), st.integers(1, 4))
def test_shingles(seed, count, size):
    both("features.hashes_of", random_hashes(seed, count), size)


@given(seeds, st.one_of(st.integers(1, 40), sizes), st.sampled_from([16, 128, 512]))
def test_minima(seed, size, bins):
    both("features.minima_of", np.unique(random_hashes(seed, size)), bins)


@given(seeds, sizes, st.sampled_from([64, 256, 1792]), st.integers(0, 7))
def test_sketches_of_both_kinds(seed, count, size, excluded):
    paths = np.random.default_rng(seed).integers(0, 8, count).astype(np.uint8)
    both("features.sketched", random_hashes(seed, count), paths, excluded, size, 64)


def documents(seed, counts, mask=(1 << 64) - 1):
    return random_hashes(seed, sum(counts), mask), np.array(counts, np.int64)


@given(seeds, lengths, st.sampled_from([1, 4, 1 << 40]))
def test_shingles_of_many_documents(seed, counts, size):
    hashes, numbers = both("features.shingles_of_each", *documents(seed, counts), size)
    assert len(hashes) == numbers.sum()


@given(seeds, lengths, few_bits, st.sampled_from([16, 128, 1024]))
def test_minima_of_many_documents(seed, counts, mask, bins):
    both("features.minima_of_each", *documents(seed, counts, mask), bins)


@given(seeds, sizes, few_bits, st.sampled_from([1, 31, 32, 84]))
def test_minima_under_many_permutations(seed, size, mask, count):
    numbers = random_hashes(seed, count), random_hashes(seed + 1, count)
    both("features.least_under", random_hashes(seed, size, mask), *numbers)


@given(seeds, lengths)
def test_a_document_among_others_is_as_one_alone(seed, counts):
    tokens, counts = documents(seed, counts)
    found = minima_of_each(*shingles_of_each(tokens, counts, 3), 64)
    parts = np.split(tokens, np.cumsum(counts)[:-1]) if len(counts) else []
    for least, part in zip(found, parts, strict=True):
        own = np.unique(shingle_hashes(part, 3))
        assert (least == (one_permutation_sketch(own, 64) if len(own) else NO_MINIMUM)).all()


def test_a_shingle_that_comes_twice_counts_once():
    hashes, count = documents(1, [50])
    once = minima_of_each(hashes, count, 32)
    assert np.array_equal(minima_of_each(np.tile(hashes, 2), 2 * count, 32), once)


_forms = st.sampled_from([*Form][:3])
_names = st.sampled_from([
    short_paths([path << 14] * 3, [kind] * 3, [False] * 3)[place]
    for path in range(4) for kind in (0, 1) for place in range(3)
])  # fmt: skip
_blocks = st.tuples(st.integers(0, 30), _forms, st.integers(0, 9), st.booleans())


def page_of(seed, blocks, mask=(1 << 64) - 1):
    """Tokens and columns of a page, as both twins take them."""
    counts, forms, paths, joined = zip(*blocks, strict=True) if blocks else [()] * 4
    tokens = random_hashes(seed, sum(counts), mask)
    paths = array("I", [path << 14 for path in paths])  # some have lower bits in common
    return tokens, np.array(counts, np.int64), bytes(forms), paths, bytes(joined)


@given(
    seeds,
    st.lists(_blocks, max_size=40),
    st.sampled_from([3 << 62, (1 << 64) - 1]),
    st.tuples(st.integers(1, 5), st.sampled_from([0, 32, 128, 1024]), st.frozensets(_names)),
)
def test_what_is_made_of_blocks(seed, blocks, mask, asked):
    # Few different tokens: shingles come twice, at several DOM paths.
    page = page_of(seed, blocks, mask)
    assume(len(page[0]))
    both("features.parted", *page, *asked)


_LIKELY = "ab  \n_.0+-=#\u2605\u0301\u0308\u200b\u200d\u00ad中文あก\u0e31😀\ud800ςΣİ\U00020000"
texts = st.text(st.sampled_from(_LIKELY) | st.characters(), max_size=60)


@pytest.fixture(scope="module", params=[False, True], ids=["words", "every character"])
def hashers(request):
    numbers, every = (3, 5, 7, len), request.param
    compiled = _speed.load("tokens").Hasher(*numbers, *hashing._TABLES[every], every=every)
    return hashing.Hasher(*numbers, every=every), compiled


@example(text="é-\u0301\u0308 -\u200d\u0301", long=1)
@given(text=texts, long=st.integers(0, 140))
def test_tokens(hashers, text, long):
    pure, compiled = hashers
    for whole in (text, text + "x" * long, "é" * (long // 2) + text):
        assert _speed.same(compiled.tokens(whole), pure.tokens(whole))


def test_only_characters_that_stay_as_they_are_in_any_text_are_taken_for_composed():
    asked = []
    compose = lambda text: asked.append(text) or text
    hasher = _speed.load("tokens").Hasher(3, 5, 7, len, CHARACTERS, classify, compose)
    joining = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # Hangul's, by its algorithm
    for character in map(chr, range(0x110000)):
        form, *parts = unicodedata.decomposition(character).split() or [""]
        joining |= {int(part, 16) for part in parts if not form.startswith("<")}
    for code in (*range(0x300, 0xD800), *range(0xE000, 0x12000)):
        asked.clear()
        hasher.tokens(chr(code))
        is_stable = unicodedata.normalize("NFC", chr(code)) == chr(code)
        if not is_stable or unicodedata.combining(chr(code)) or code in joining:
            assert asked, hex(code)
    asked.clear()
    hasher.tokens("Ελληνικά и русский, tiếng Việt, 漢字とカナ 한국어")
    assert not asked


@given(parts=st.lists(texts, max_size=5))
def test_tokens_of_each(hashers, parts):
    pure, compiled = hashers
    for each in (parts, [*parts, f"a {hashing._MARK}"]):
        assert _speed.same(compiled.tokens_of_each(each), pure.tokens_of_each(each))


class Smart(str):
    """A text as XPath returns it, and one that lies about its length."""

    __slots__ = ()

    def __len__(self):
        return 1 << 40


def test_texts_of_other_classes(hashers):
    """``NEARDUP_TEXT`` may return what it got of lxml, which is no plain `str`."""
    for hasher in hashers:
        for text in ("A b", "Ä b"):
            assert hasher.tokens(Smart(text)).tolist() == hasher.tokens(text).tolist()
    for nothing in (None, b"a"):
        with pytest.raises(TypeError):
            hashers[1].tokens(nothing)
