"""`deprioritize` lowers by what resemblance says, and what is kept may be lowered too."""

import pytest
import scrapy
from crawl_spiders import Visit
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings
from site_server import page, text

from scrapy_neardup.crawl.actions import KEEP, KEEP_START, Actions
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.settings.catalogue import DEPRIORITIZE, DROP, FLAG
from scrapy_neardup.verdict import Decided, Decision, Match, Reason, Verdict

shares = st.floats(0, 1)


def actions(action=DEPRIORITIZE, lower=1.0, **more):
    given = {"ACTION": action, "PRIORITY_ADJUST": -1000, "DEPRIORITIZE_FROM": lower} | more
    settings = Settings({f"NEARDUP_{name}": value for name, value in given.items()})
    return Actions(read_settings(settings))


def duplicate(resemblance, rule="alike"):
    decided = Decided(is_same=True, rule=rule, resemblance=resemblance)
    match = Match(page_id=2, distance=3, decided=decided)
    return Verdict(decision=Decision.DUPLICATE, reason=Reason.NEAR, page_id=1, match=match)


def new(closest):
    decided = Decided(is_same=False, rule="unlike", resemblance=closest)
    nearest = Match(page_id=2, distance=3, decided=decided)
    return Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1, nearest=nearest)


def test_a_near_duplicate_is_lowered_from_nothing_at_the_threshold_to_all_at_equal_text():
    lowered = [actions().priority(DEPRIORITIZE, duplicate(each)) for each in (0.9, 0.95, 1)]
    assert lowered == [0, -500, -1000]
    wider = actions(lower=0.8)
    assert [wider.priority(DEPRIORITIZE, duplicate(each)) for each in (0.9, 1)] == [-500, -1000]
    assert [wider.priority(KEEP, new(each)) for each in (0.7, 0.8, 0.85)] == [0, 0, -250]
    assert actions(MIN_RESEMBLANCE=1).priority(DEPRIORITIZE, duplicate(1)) == -1000


@given(shares, shares, shares)
def test_whatever_resembles_more_is_lowered_as_much_or_more(one, other, lower):
    scored = actions(lower=lower)
    less, more = sorted((one, other))
    for action, verdict in ((DEPRIORITIZE, duplicate), (KEEP, new)):
        lowered = [scored.priority(action, verdict(each)) for each in (less, more)]
        assert 0 >= lowered[0] >= lowered[1] >= -1000


@pytest.mark.parametrize(
    "verdict", [duplicate(None, "equal"), duplicate(0.4, "same-core"), duplicate(None, "within-k")]
)
def test_where_content_is_equal_or_nothing_is_confirmed_all_of_it_counts(verdict):
    assert actions().priority(DEPRIORITIZE, verdict) == -1000


def test_what_else_is_kept_and_what_is_flagged_keeps_its_priority():
    assert actions().priority(KEEP, new(0.95)) == 0
    assert actions(lower=0.7).priority(KEEP, new(None)) == 0
    assert actions(lower=0.7).priority(KEEP_START, duplicate(1)) == 0
    assert actions(FLAG, lower=0.7).priority(FLAG, duplicate(1)) == 0
    assert actions(FLAG, lower=0.7).priority(KEEP, new(0.95)) == 0
    assert actions(DROP, lower=0.7).priority(KEEP, new(0.95)) == -833


class Leads(Visit):
    """Each page leads to a document, which notes the priority of its request."""

    def page(self, response):
        yield scrapy.Request(response.url.replace("/p?", "/leaf.json?"), self.leaf)

    def leaf(self, response):
        self.note(response, response.request.priority)


@pytest.mark.parametrize("action", [DEPRIORITIZE, DROP])
def test_a_crawl_lowers_what_resembles_a_page_and_is_kept(crawl, site, action):
    words, other = (text(each).replace("<p>", " ").split() for each in "ab")
    pages = {f"/p?n={name}": page(" ".join(words[own:] + other[:own]), title=f"Title {name}")
             for name, own in zip("abcd", (0, 150, 300, 1500), strict=True)}  # fmt: skip
    site.routes |= pages
    settings = {"NEARDUP_ACTION": action, "NEARDUP_PRIORITY_ADJUST": -1000}
    plain = crawl(Leads, *pages, settings=settings)
    assert dict(plain.notes) == {f"/leaf.json?n={name}": 0 for name in "abcd"}
    scored = crawl(Leads, *pages, settings=settings | {"NEARDUP_DEPRIORITIZE_FROM": 0.6})
    priorities = [dict(scored.notes)[f"/leaf.json?n={name}"] for name in "abcd"]
    # Each shares 1,350 words of 1,500 with the one before, a resemblance of .82.
    assert priorities[0] == priorities[3] == 0
    assert all(-700 < priority < -400 for priority in priorities[1:3])
    assert scored.counted()["requests/deprioritized"] == 2
    assert scored.pages("new") == [4]
