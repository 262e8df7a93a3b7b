import pickle
from dataclasses import replace

import pytest

from scrapy_neardup.verdict import Decision, Match, Reason, Verdict


def verdict(decision, reason, match=None, **more):
    return Verdict(decision=decision, reason=reason, page_id=1, match=match, **more)


MATCH = Match(page_id=2, distance=3, url="http://example.com/")
NEAR = verdict(Decision.DUPLICATE, Reason.NEAR, MATCH, fingerprint=5, tokens=80)


def test_values_are_frozen_and_picklable():
    assert pickle.loads(pickle.dumps(NEAR)) == NEAR
    with pytest.raises(AttributeError):
        NEAR.tokens = 1


@pytest.mark.parametrize(("found", "sentence"), [
    (NEAR, "at distance 3 of http://example.com/"),
    (verdict(Decision.DUPLICATE, Reason.EQUAL, Match(page_id=2, distance=0)),
     "its content equals that of page 0000000000000002"),
    (verdict(Decision.SEEN, Reason.SAME_PAGE, Match(page_id=1, distance=1)),
     "the same page as before (distance 1)"),
    (verdict(Decision.UNJUDGED, Reason.TIMEOUT, detail="5 s"), "not judged: timeout (5 s)"),
    (replace(NEAR, match=replace(MATCH, found="distance")),
     "at distance 3 of http://example.com/, found by that distance"),
    (replace(NEAR, match=replace(MATCH, found="features")),
     "at distance 3 of http://example.com/, found by shared features"),
    (replace(NEAR, match=replace(MATCH, found="address"), detail="as a month"),
     "at distance 3 of http://example.com/, found at the same path (as a month)"),
    (verdict(Decision.NEW, Reason.UNMATCHED), "new: unmatched"),
])  # fmt: skip
def test_every_verdict_explains_itself(found, sentence):
    assert found.explain() == sentence
    assert found.is_duplicate == (found.decision is Decision.DUPLICATE)
