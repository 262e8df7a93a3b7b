"""Units of texts, and weights of shingles, against their definitions."""

import numpy as np
import pytest

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.units import unit_hashes, units_of
from scrapy_neardup.fingerprints.weights import WeightTable

TEXT = "The cats sat. On THE mat\nsat 日本 the Cat!"


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("word", "the/cats/sat/on/the/mat/sat/日/本/the/cat"),
        ("line", "the cats sat on the mat/sat 日 本 the cat"),
        ("sentence", "the cats sat/on the mat/sat 日 本 the cat"),
        ("char", "o/n/ /m/a/t"),
    ],
)
def test_units(unit, found):
    text = "On mat" if unit == "char" else TEXT
    units = units_of(text, unit)
    assert [each.decode() for each in units] == found.split("/")
    hashes = unit_hashes(text, unit)
    assert len({*zip(hashes.tolist(), units, strict=True)}) == len({*units})


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
