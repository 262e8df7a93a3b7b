"""What the documents show is what happens."""

import doctest
from pathlib import Path

from scrapy_neardup.joins import setjoin

DOCUMENT = Path(__file__).parents[2] / "docs" / "joins.md"


def test_examples():
    for failures, tried in (
        doctest.testfile(str(DOCUMENT), module_relative=False),
        doctest.testmod(setjoin),
    ):
        assert tried
        assert not failures
