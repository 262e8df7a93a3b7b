"""Units of texts, and weights of shingles, against their definitions."""

import numpy as np
import pytest

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.units import Units, stemmer
from scrapy_neardup.fingerprints.weights import WeightTable

TEXT = "The cats sat. On THE mat\nsat 日本 the Cat!"


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


def test_weights_by_idf():
    documents = [token_hashes(f"all of {'most' * (n < 9)} {'some' * (n < 3)} w{n} x{n}")
                 for n in range(12)]  # fmt: skip
    idf = WeightTable.idf([np.unique(each) for each in documents])
    weights = idf(token_hashes("all most some w1 nowhere"))
    expected = [0, np.log(12 / 9) / np.log(12), np.log(12 / 3) / np.log(12), 1, 1]
    assert weights == pytest.approx(expected)


def test_weights_that_cannot_be_used_are_refused():
    with pytest.raises(ConfigurationError, match="finite numbers, and none negative"):
        WeightTable(np.arange(2, dtype=np.uint64), np.array([1, np.inf]))
    assert WeightTable(np.empty(0, np.uint64), np.empty(0))(np.arange(2)).tolist() == [1, 1]
