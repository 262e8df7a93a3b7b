from dataclasses import replace

import pytest

from scrapy_neardup.verdict import Decision, Match, Reason, Verdict


def verdict(decision, reason, match=None, **more):
    return Verdict(decision=decision, reason=reason, page_id=1, match=match, **more)


MATCH = Match(page_id=2, distance=3, url="http://example.com/")
NEAR = verdict(Decision.DUPLICATE, Reason.NEAR, MATCH, fingerprint=5, tokens=80)


@pytest.mark.parametrize(("found", "sentence"), [
    (NEAR, "repeats http://example.com/ (distance 3)"),
    (verdict(Decision.DUPLICATE, Reason.EQUAL, Match(page_id=2, distance=0)),
     "repeats page 0000000000000002 (equal content)"),
    (verdict(Decision.SEEN, Reason.SAME_PAGE, Match(page_id=1, distance=1)),
     "the same page as before (distance 1)"),
    (verdict(Decision.UNJUDGED, Reason.TIMEOUT, detail="5 s"), "not judged: timeout (5 s)"),
    (replace(NEAR, match=replace(MATCH, found="distance")),
     "repeats http://example.com/ (distance 3)"),
    (replace(NEAR, match=replace(MATCH, found="features")),
     "repeats http://example.com/ (distance 3, found by shared features)"),
    (replace(NEAR, match=replace(MATCH, found="address")),
     "repeats http://example.com/ (distance 3, found by its address)"),
    (verdict(Decision.NEW, Reason.UNMATCHED), "new: unmatched"),
])  # fmt: skip
def test_every_verdict_explains_itself(found, sentence):
    assert found.explain() == sentence
    assert found.is_duplicate == (found.decision is Decision.DUPLICATE)
