"""Units of texts, against their definitions."""

import pytest

from scrapy_neardup.fingerprints.units import unit_hashes, units_of

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
