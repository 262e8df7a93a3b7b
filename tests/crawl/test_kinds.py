"""Sites with known truth: they are what they say, and what crawls of them deliver."""

from itertools import product

import harness  # noqa: F401  (its path has what the kinds need)
import pytest
from crawling import Crawl, Record
from kinds import KINDS
from kinds.crawls import Crawlers, How, outcome, redis_server
from kinds.expected import falls_short, lost
from kinds.site import Asked, KnownPage, KnownSite, SiteKind, walk

MOST = 1_000


def quick(name, seed=0):
    return KnownSite(KINDS[name], seed, quick=True)


def parts(page: KnownPage):
    main = page.main if isinstance(page.main, str) else page.main(1)
    return page.title, main, page.status


@pytest.fixture(scope="module")
def crawlers():
    with Crawlers() as running:
        yield running


@pytest.mark.parametrize("name", list(KINDS))
def test_a_site_is_the_same_again_and_its_contents_differ(name):
    site, again = quick(name), quick(name)
    whole = walk(site, most=MOST)
    assert whole.ended != KINDS[name].endless
    assert len(whole.contents) > 7
    shown = {}
    for url in site.pages:
        answer, same = site.answer(url), again.answer(url)
        page = answer.page
        assert answer == same or callable(page.main) or callable(page.beside)
        assert answer.html == same.html
        if page.content and page.status == 200:
            shown.setdefault(parts(page), set()).add(page.content)
    assert all(len(contents) == 1 for contents in shown.values())
    assert len(KINDS[name].says) > 30


@pytest.mark.parametrize("name", ["replies", "two-hosts", "tracked-by-redirects"])
def test_without_the_plugin_a_crawl_meets_what_a_walk_meets(name, crawlers):
    found = crawlers.crawl(quick(name), How(settings=(("NEARDUP_ENABLED", False),)))
    whole = walk(quick(name))
    assert found.finished
    assert found.requests == found.without == whole.requests
    assert found.delivered == found.contents == len(whole.contents)
    assert (found.never, found.wrong, found.errors, found.skipped) == (0, 0, 0, 0)
    assert found.twice > 20 or name == "tracked-by-redirects"  # whose copies have no URLs
    assert found.needless >= found.twice


def test_the_outcome_of_a_crawl_that_is_known():
    def fill(site):
        site.page("/", "home", links=["/a", "/a?x=1", "/b", "/c", "/d", "/nothing"])
        for url in ("/a", "/b", "/c", "/d"):
            site.page(url, url[1:])
        site.page("/a?x=1", "a")
        site.page("/nothing", "")

    site = KnownSite(SiteKind("known", "", fill))
    asked = Asked(site)
    records = []
    for path in ("/", "/a", "/a?x=1", "/b", "/nothing", "/a"):
        is_dropped = path in {"/a?x=1", "/b"}
        url = f"http://site.example{path}"
        _, _, (_, shown) = asked(url)
        of = "http://site.example/" if is_dropped else None
        records.append(Record(url, 200, of=of, has_item=not is_dropped, shown=shown))
    crawl = Crawl(
        "known", records[:-1], {"finish_reason": "finished", "neardup/experiments/links": 2}
    )
    crawl.skipped.append("http://site.example/c")
    found = outcome(site, walk(site), asked, [crawl], before=None, how=How())
    assert (found.contents, found.delivered, found.never) == (5, 2, 3)
    assert (found.wrong, found.unmade, found.found, found.twice) == (1, 1, 1, 0)
    assert (found.without, found.requests, found.needless) == (7, 6, 3)
    assert (found.skipped, found.experiments, found.recall) == (1, 2, 1.0)
    after = Crawl("known", records[:2], crawl.stats)
    again = outcome(site, walk(site), asked, [after], before=found, how=How())
    assert (again.contents, again.delivered, again.never, again.twice) == (3, 0, 3, 2)
    assert (again.unsaid, again.missaid) == (1, 0)


WAYS = {"drop": How(), "skip": How(urls="skip"), "depth first": How(urls="skip", order="depth")}
EACH_TIME = {
    "skip": {
        "departures", "timetables", "manual-in-versions", "code-browser", "mail", "soft-404s",
        "rotating-products", "crawled-again", "login", "rare-sid-late", "empty-then-full",
    },
    "drop": {"small-changes-alone", "changing-in-one-section"},
    "depth first": {"printable"},
}  # fmt: skip
"""Kinds that are crawled each time; the others in `make stress`."""


def cases():
    for name, way in product(KINDS, WAYS):
        marks = [] if name in EACH_TIME[way] else [pytest.mark.stress]
        yield pytest.param(name, way, marks=marks, id=f"{name}, {way}")


def check(found, how, *judges):
    missed = [each for judge in judges for each in judge(found, how)]
    assert not missed, f"{missed}: {found.row()}"


@pytest.mark.parametrize(("name", "way"), list(cases()))
def test_a_crawl_loses_nothing_and_asks_for_little_in_vain(name, way, crawlers):
    check(crawlers.crawl(quick(name), WAYS[way]), WAYS[way], lost, falls_short)


RARER = ("login", "timetables", "rare-middle", "two-levels-of-known-texts")
ELSEWHERE = ["printable", *(pytest.param(name, marks=pytest.mark.stress) for name in RARER)]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_nothing_is_lost_over_pauses(name, crawlers):
    how = How(urls="skip", pauses=2)
    check(crawlers.crawl(quick(name), how), how, lost)


@pytest.fixture(scope="module")
def two_crawlers():
    with redis_server("") as uri, Crawlers(2) as running:
        yield running, uri


@pytest.mark.parametrize("name", ["families-among-labels", *ELSEWHERE])
def test_nothing_is_lost_by_two_crawlers_on_one_redis(name, two_crawlers):
    running, uri = two_crawlers
    how = How(urls="skip", store=uri)
    check(running.crawl(quick(name), how), how, lost)
