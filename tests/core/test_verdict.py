import pickle
from dataclasses import replace

import pytest

from scrapy_neardup.verdict import Decision, Match, Reason, Verdict

NEAR = Verdict(
    decision=Decision.DUPLICATE,
    reason=Reason.NEAR,
    page_id=1,
    match=Match(page_id=2, distance=3, url="http://example.com/"),
    fingerprint=5,
    tokens=80,
)


def test_values_are_frozen_and_picklable():
    assert pickle.loads(pickle.dumps(NEAR)) == NEAR
    with pytest.raises(AttributeError):
        NEAR.tokens = 1


@pytest.mark.parametrize(("verdict", "sentence"), [
    (NEAR, "at distance 3 of http://example.com/"),
    (
        Verdict(
            decision=Decision.DUPLICATE,
            reason=Reason.EQUAL,
            page_id=1,
            match=Match(page_id=2, distance=0),
        ),
        "its content equals that of page 0000000000000002",
    ),
    (
        Verdict(
            decision=Decision.SEEN,
            reason=Reason.SAME_PAGE,
            page_id=1,
            match=Match(page_id=1, distance=1),
        ),
        "the same page as before (distance 1)",
    ),
    (
        Verdict(decision=Decision.UNJUDGED, reason=Reason.TIMEOUT, page_id=1, detail="5 s"),
        "not judged: timeout (5 s)",
    ),
    (
        replace(NEAR, match=replace(NEAR.match, found="distance")),
        "at distance 3 of http://example.com/, found by that distance",
    ),
    (
        replace(NEAR, match=replace(NEAR.match, found="features")),
        "at distance 3 of http://example.com/, found by shared features",
    ),
    (
        replace(NEAR, match=replace(NEAR.match, found="address"), detail="as a month"),
        "at distance 3 of http://example.com/, found at the same path (as a month)",
    ),
    (Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1), "new: unmatched"),
])  # fmt: skip
def test_every_verdict_explains_itself(verdict, sentence):
    assert verdict.explain() == sentence
    assert verdict.is_duplicate == (verdict.decision is Decision.DUPLICATE)
