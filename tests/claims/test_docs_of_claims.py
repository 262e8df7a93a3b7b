"""The picture in docs/urls.md is the table of transitions."""

import re
from pathlib import Path

from scrapy_neardup.claims.claim import ENOUGH, NEEDED, TRANSITIONS

PAGE = (Path(__file__).parents[2] / "docs" / "urls.md").read_text()


def test_the_picture_of_a_claims_life_is_the_table():
    drawn = re.findall(r"^(open|in force) +── (.+?) ─+> (open|in force)$", PAGE, re.MULTILINE)
    assert sorted(drawn) == sorted(
        (str(state), str(event), str(after)) for (state, event), after in TRANSITIONS.items()
    )


def test_the_numbers_are_those_of_the_code():
    assert f"are {NEEDED} different requests in a row" in PAGE
    assert f"missing from {ENOUGH} tests of each claim" in " ".join(PAGE.split())
