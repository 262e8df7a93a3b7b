"""A page that contradicts a claim is compared with the known page as that is now."""

import itertools
from random import Random
from time import sleep

import pytest
from audits import verdicts
from claim_crawls import UNCHECKED, Insisting, Listener, counted, show, variants
from crawl_spiders import Visit
from site_server import Answer, page, text

from scrapy_neardup.claims.claim import ENOUGH, NEEDED
from scrapy_neardup.crawl.experiments.ownrequests import PATIENCE

ASKS = UNCHECKED | {"NEARDUP_EXPERIMENTS": 0.02}
FIRST, LAST = "/p/3", "/p/3?sid=7"
"""A page, and a variant that is requested although a claim in force covers it."""
KNOWN, OTHER = (page(text(each, words=80)) for each in (FIRST, "other"))


def in_turn(*answers):
    """Return a route with these answers, the last one for ever."""
    turn = itertools.chain(answers, itertools.repeat(answers[-1]))
    return lambda _request: next(turn)


def chosen(request):
    """Show what a cookie says."""
    return Answer(OTHER if "choice=other" in request.headers.get("Cookie", "") else KNOWN)


def ended(crawl, site, first, routes=(), **settings):
    """Return whether claims end where `LAST` shows another page than `FIRST`, a route, at first.

    And how many requests were made to see what both show then. `routes` are of other pages.
    """
    paths = show(site, *variants(range(40)))
    show(site, "/p/0?sid=start")
    site.routes |= {FIRST: first, **dict(routes)}
    site.routes.setdefault(LAST, OTHER)
    outcome = crawl(Insisting, *paths, LAST, settings=ASKS | settings)
    assert LAST in outcome.notes  # it is delivered in any case
    stats = counted(outcome)
    assert stats["rules-begun"] >= 2  # in the folder, and anywhere
    asked = outcome.counted().get("experiments/claims", 0)
    assert site.requests.count(FIRST) == site.requests.count(LAST) == 1 + asked / 2
    return stats.get("rules-ended", 0) > 0, asked


@pytest.mark.parametrize(("settings", "found"), [
    ({}, (False, 2)), ({"NEARDUP_EXPERIMENTS": 0}, (True, 0)),  # without experiments
])  # fmt: skip
def test_a_page_that_has_changed_since_contradicts_nothing(crawl, site, settings, found):
    assert ended(crawl, site, in_turn(KNOWN, OTHER), **settings) == found


def test_an_answer_that_takes_long_is_waited_for(crawl, site):
    def late(_request):
        is_first = site.requests.count(FIRST) == 1
        sleep(0 if is_first else 1.2 * PATIENCE)
        return Answer(KNOWN if is_first else OTHER)

    assert ended(crawl, site, late) == (False, 2)


def test_pages_that_have_changed_together_speak_for_it(crawl, site):
    """So before a crawl ends no more of them are requested than if they hadn't changed."""
    paths = variants(range(2 * ENOUGH))
    found = len(paths) // 2 + NEEDED  # before the tests

    def daily(request):
        path = request.path.partition("?")[0]
        day = len(site.requests) > found
        return page(text(path, words=80) + text(f"{path} on day {day}", words=30))

    site.routes |= dict.fromkeys(paths, daily)
    outcome = crawl(Listener, *paths, settings=ASKS)
    assert counted(outcome)["requested-again"] == ENOUGH
    assert "rules-ended" not in counted(outcome)


@pytest.mark.parametrize("now", [
    KNOWN, Answer(OTHER, status=404), Answer(status=302, headers={"Location": LAST}), Answer("{}"),
])  # fmt: skip
def test_a_page_that_is_another_one_now_contradicts_it(crawl, site, now):
    assert ended(crawl, site, in_turn(KNOWN, now)) == (True, 2)


@pytest.mark.parametrize(
    ("path", "shown"), [(LAST, OTHER), ("/p/38", page(text("/p/38", words=80)))]
)
def test_what_a_cookie_has_chosen_is_no_change(crawl, site, path, shown):
    """Neither that of the page itself, nor one that was sent with the request for it."""
    choosing = Answer(shown, headers={"Set-Cookie": "choice=other"})
    assert ended(crawl, site, chosen, {path: choosing}) == (True, 2)


def test_a_cached_page_is_of_another_time(crawl, site, tmp_path):
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    assert ended(crawl, site, in_turn(KNOWN, OTHER), **cache) == (False, 2)
    site.requests.clear()
    site.routes[FIRST] = in_turn(OTHER)
    paths = variants(range(40))
    outcome = crawl(Insisting, *paths, LAST, settings=ASKS | cache)
    assert not site.requests.count(FIRST)
    assert counted(outcome)["rules-ended"]


def visited(path):
    """Return a route whose page has other words at its end in each response."""
    group, random = path.partition("?")[0], Random(path)

    def answer(_request):
        others = " ".join(f"n{random.randrange(10**6)}" for _ in range(30))
        return page(text(group, words=80) + f"<div>seen by {others}</div>")

    return answer


@pytest.mark.parametrize("order", [(FIRST, LAST), (LAST, FIRST)])
def test_what_changes_by_itself_contradicts_nothing_where_none_was_asked(crawl, site, order):
    """Neither does it if the page without the part is requested last."""
    elsewhere = [f"/q/{number}" for number in range(12)]
    paths = show(site, *variants(range(4, 40)))
    show(site, "/p/0?sid=start")
    site.routes |= {path: visited(path) for path in (*elsewhere, *order)}
    outcome = crawl(Insisting, *elsewhere, *paths, *order, settings=ASKS)
    assert outcome.counted()["experiments/refetched"]
    assert order[1] in site.requests
    assert outcome.counted()["experiments/claims"] == 2
    assert "rules-ended" not in counted(outcome)


def clock(path):
    """Return a route with a page of one word and a clock."""
    word, random = path.partition("?")[0][-1], Random(path)

    def answer(_request):
        seconds, visitors = (random.randrange(10**6) for _ in range(2))
        footer = f"<footer>{seconds} seconds, {visitors} visitors</footer>"
        return page(f"<nav>index events modules authors</nav><h1>{word}</h1>{footer}", title=word)

    return answer


def test_almost_nothing_but_a_clock_contradicts_nothing(crawl, site):
    """What differs may be the page a second later."""
    run = variants("abcdefghijklm")
    site.routes |= {path: clock(path) for path in run}
    long = show(site, *variants(range(NEEDED)))
    settings = ASKS | {"NEARDUP_URLS_EXPLORE": 1}
    outcome = crawl(Visit, *run[:6], *long, *run[6:], settings=settings)
    assert counted(outcome)["rules-begun"] == 2
    assert "rules-ended" not in counted(outcome)
    assert set(run) <= set(outcome.notes)
    assert "experiments/claims" not in outcome.counted()


def test_a_page_of_boilerplate_and_a_clock_contradicts_nothing(crawl, site, audit):
    def listed(group):
        random = Random(group)
        shared = text("what all pages of the folder show", words=60)
        own = text(group, words=40) if group else ""
        return lambda _: page(f"{shared}{own}<div>{random.randrange(10**6)} visitors</div>")

    folder = {f"/d/{number}": listed(f"/d/{number}") for number in range(12)}
    known, last = "/d/all", "/d/all?sid=7"
    site.routes |= folder | dict.fromkeys((known, last), listed(""))
    paths = show(site, *variants(range(30)))
    show(site, "/p/0?sid=start")
    outcome = crawl(Insisting, *folder, known, *paths, last, **ASKS, NEARDUP_AUDIT=str(audit))
    assert counted(outcome)["rules-begun"] >= 2
    [line] = [line for line in verdicts(audit) if line.get("page") == f"{site.url}{last}"]
    assert (line["verdict"], line["nearest"]["rule"]) == ("new", "changing")
    assert "rules-ended" not in counted(outcome)


def test_a_budget_ends_a_pattern_of_such_pages(crawl, site):
    months = [f"/month/{number}" for number in range(160)]
    site.routes |= {path: clock(path) for path in months}
    outcome = crawl(Visit, *months, settings=ASKS | {"NEARDUP_PATTERN_BUDGET": 10})
    assert outcome.counted()["learnt/changing"]
    assert len(set(months) & set(site.requests)) < 120
