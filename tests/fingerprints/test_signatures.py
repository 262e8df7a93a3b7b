"""Units of texts, and the survey's signatures, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.hashing import digest
from scrapy_neardup.fingerprints.signatures import (
    SIGNATURES,
    WeightTable,
    buckets,
    i_match,
    mod_p,
    winnow,
)
from scrapy_neardup.fingerprints.units import Units, stemmer

TEXT = "The cats sat. On THE mat\nsat 日本 the Cat!"
HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=40).map(lambda x: np.array(x, np.uint64))


@pytest.mark.parametrize(
    ("units", "found"),
    [
        (Units(), "the/cats/sat/on/the/mat/sat/日/本/the/cat"),
        (Units(stop_words=["The", "on"]), "cats/sat/mat/sat/日/本/cat"),
        (Units(stem=stemmer("english")), "the/cat/sat/on/the/mat/sat/日/本/the/cat"),
        (Units("line"), "the cats sat on the mat/sat 日 本 the cat"),
        (Units("sentence"), "the cats sat/on the mat/sat 日 本 the cat"),
        (Units("phrase", ["the", "on"], stemmer("english")), "cat sat/mat/sat 日 本/cat"),
        (Units("char", ["the", "cats", "cat", "sat"]), "o/n/ /m/a/t/ /日/ /本"),
    ],
)
def test_units(units, found):
    assert [each.decode() for each in units(TEXT)] == found.split("/")
    hashes = units.hashes(TEXT)
    assert len({*zip(hashes.tolist(), units(TEXT), strict=True)}) == len({*units(TEXT)})


@pytest.mark.parametrize("name", ["klingon", "no.such.module", "math.pi"])
def test_what_cannot_stem_is_named(name):
    with pytest.raises(ConfigurationError, match=f"--stem.*{name}"):
        stemmer(name)


def test_a_function_may_stem():
    assert Units(stem=stemmer("posixpath.basename"))("a b") == [b"a", b"b"]
    with pytest.raises(ConfigurationError, match="needs --stop-words"):
        Units("phrase")


@given(HASHES, st.integers(1, 9))
def test_signatures_are_as_defined(hashes, number):
    values = hashes.tolist()
    assert mod_p(hashes, number).tolist() == sorted(x for x in {*values} if x % number == 0)
    runs = range(max(len(values) - number + 1, min(len(values), 1)))
    assert winnow(hashes, number).tolist() == sorted(
        {min(values[at : at + number]) for at in runs}
    )
    lists = {x % number: [y for y in values if y % number == x % number] for x in values}
    assert buckets(hashes, number).tolist() == sorted(
        digest(str(place), np.array(words, "<u8").tobytes()) for place, words in lists.items()
    )


def test_i_match_covers_the_words_of_medium_idf():
    documents = [token_hashes(f"all of {'most' * (n < 9)} {'some' * (n < 3)} w{n} x{n}")
                 for n in range(12)]  # fmt: skip
    idf = WeightTable.idf([np.unique(each) for each in documents])
    weights = idf(token_hashes("all most some w1 nowhere"))
    expected = [0, np.log(12 / 9) / np.log(12), np.log(12 / 3) / np.log(12), 1, 1]
    assert weights == pytest.approx(expected)
    assert i_match(documents[0], idf).tolist() == i_match(token_hashes("some"), idf).tolist() != []
    assert i_match(documents[5], idf).tolist() == []  # "most" is too common
    many = token_hashes(" ".join(f"w{n}" for n in range(40)))
    half = WeightTable(many, np.full(40, 0.5), other=1)
    signed, other = (i_match(each, half, 11).tolist() for each in (many, many[1:]))
    assert len(signed) == 11
    assert 1 <= len({*signed} & {*other}) <= 7  # the parts without that word: three on average
    assert not {*i_match(many, half)} & {*other}


def test_weights_that_cannot_be_used_are_refused():
    with pytest.raises(ConfigurationError, match="finite numbers, and none negative"):
        WeightTable(np.arange(2, dtype=np.uint64), np.array([1, np.inf]))
    assert WeightTable(np.empty(0, np.uint64), np.empty(0))(np.arange(2)).tolist() == [1, 1]


def test_thresholds_are_those_of_equal_parts():
    for name, equal, of in (("buckets", 12, 16), ("lexicons", 1, 11)):
        assert SIGNATURES[name].threshold == pytest.approx(equal / (2 * of - equal))
