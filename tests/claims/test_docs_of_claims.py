"""The numbers in docs/urls.md are those of the code."""

from pathlib import Path

from scrapy_neardup.claims.claim import ENOUGH, NEEDED

PAGE = (Path(__file__).parents[2] / "docs" / "urls.md").read_text()


def test_the_numbers_are_those_of_the_code():
    assert f"are {NEEDED} different requests in a row" in PAGE
    assert f"missing from {ENOUGH} tests of each claim" in " ".join(PAGE.split())
