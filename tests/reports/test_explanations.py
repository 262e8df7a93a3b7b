"""Every rule and reason that a report may show has its words."""

from scrapy_neardup.decision.comparison import Rule
from scrapy_neardup.reports import reportpage
from scrapy_neardup.verdict import Reason

JUDGED = {Reason.UNMATCHED, Reason.CHANGED, Reason.NEAR, Reason.EQUAL, Reason.SAME_PAGE}


def test_every_rule_has_a_sentence():
    assert set(reportpage.RULES) == set(Rule)
    assert all(text.endswith(".") for text in reportpage.RULES.values())


def test_every_reason_why_a_page_is_not_judged_has_words():
    assert set(reportpage.UNJUDGED_PAGES) == set(Reason) - JUDGED
