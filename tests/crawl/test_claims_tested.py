"""Claims about URLs in crawls: how they are tested, and what makes withheld requests."""

import itertools
from operator import itemgetter

import pytest
import scrapy
from claim_crawls import (
    MANY,
    SID,
    SKIP,
    UNCHECKED,
    Insisting,
    Listener,
    counted,
    show,
    told,
    variants,
)
from crawl_spiders import Visit
from hypothesis import given
from hypothesis import strategies as st
from site_server import Answer

from scrapy_neardup.claims.claim import ENOUGH, LENT, NEEDED
from scrapy_neardup.crawl.experiments.skipping import FEW, STRETCHES, untested
from scrapy_neardup.crawl.experiments.withheld import draw


def test_a_contradiction_ends_a_claim_and_makes_its_requests_in_the_order_of_finding(crawl, site):
    paths, last = variants(range(40)), "/p/3?sid=7"
    other = {path: f"own {path}" for path in [*paths[-10:], last] if "?" in path}
    show(site, *paths, last, text_of=other)
    insisting = [*paths, last]
    outcome = crawl(Insisting, *insisting, settings=UNCHECKED)
    seen, skipped, _ = told(outcome)
    assert set(other) <= set(seen)
    assert skipped == [path for path in paths[2 * NEEDED :] if "?" in path]
    again = site.requests[site.requests.index(last) + 1 :]
    assert [path for path in again if "start" not in path] == skipped
    stats = counted(outcome)
    assert stats["rules-ended"] == 2  # in the folder, and anywhere
    assert stats["requested-again"] == len(skipped)
    [line] = outcome.logged("WARNING")
    made = f"withheld requests that are made now: {len(skipped)} ("
    assert f"no longer used, because a page contradicts it: {SID} on /p/N; {made}" in line


@pytest.mark.parametrize("number", [NEEDED + 5, 2 * ENOUGH])
def test_before_it_ends_by_itself_a_crawl_tests_what_it_has_withheld(crawl, site, number):
    paths = show(site, *variants(range(number)))
    outcome = crawl(Listener, *paths, settings=UNCHECKED)
    assert sum("?" in path for path in site.requests) == min(number, NEEDED + ENOUGH)
    assert counted(outcome)["requested-again"] == min(number - NEEDED, ENOUGH)


def test_the_last_of_what_a_place_has_withheld_is_tested(crawl, site):
    """Although the place needs no tests of its own, as the claim holds on the whole host."""
    there, end = (
        [path.replace("/p/", place) for path in variants(range(LENT + FEW))]
        for place in ("/q/", "/r/")
    )
    paths = [*variants(range(NEEDED + 300)), *there, *end]
    show(site, *paths, text_of={there[-1]: "an exception"})
    outcome = crawl(Listener, *paths, settings=UNCHECKED)
    assert there[-1] in told(outcome)[1]  # at first
    assert there[-1] in told(outcome)[0]


DOCUMENT = Answer(b"%PDF-1.4", headers={"Content-Type": "application/pdf"})


@pytest.mark.parametrize(("of_one", "other", "ended"), [
    ("/p/{}", DOCUMENT, True), ("/p/7?sid={}", DOCUMENT, True),
    ("/p/{}", Answer(status=404), True), ("/p/{}", Answer(status=503), False),
])  # fmt: skip
def test_what_is_delivered_among_pages_that_are_the_same_contradicts_the_claim(
    crawl, site, *, of_one, other, ended
):
    """Although it isn't judged."""
    paths = [of_one.format(number) for number in range(1000, 1300)]
    others = paths[200:230]
    show(site, *paths, text_of=dict.fromkeys(paths, "the same"))
    site.routes |= dict.fromkeys(others, other)
    outcome = crawl(Listener, *paths, settings=SKIP, HTTPERROR_ALLOWED_CODES=[404, 503])
    seen, skipped, _ = told(outcome)
    assert set(others) & set(skipped)
    assert (set(others) <= set(seen)) == ended


class Late(Visit):
    """A page asks for itself again and again while its variant is withheld, and fails then."""

    def page(self, response):
        if self.path_of(response) in self.fails:
            yield scrapy.Request(response.urljoin("/p/999?sid=1"), self.page, priority=1)
            yield scrapy.Request(response.urljoin("/p/0"), self.page, dont_filter=True)
        yield from super().page(response)


@pytest.mark.parametrize(("spider", "variant"), [(Visit, ["/p/999?sid=1"]), (Late, [])])
def test_what_is_withheld_because_of_a_page_that_fails_is_requested(crawl, site, spider, variant):
    """So is what its own callback yields, at once and not by the tests at the crawl's end."""
    paths = [*variants(range(40)), "/p/999", *variant, *variants(range(40, MANY))]
    show(site, *paths, "/p/999?sid=1")
    outcome = crawl(spider, *paths, settings=UNCHECKED, fails=["/p/999"], errors=True)
    assert "/p/999?sid=1" in outcome.notes
    assert site.requests.index("/p/999?sid=1") < site.requests.index(f"/p/{MANY - 1}")


class Keeps(Listener):
    """Asks for a page that no claim may refuse, by a copy of a request that one may."""

    def request(self, response, path, priority):
        request = super().request(response, path, priority)
        meta = request.meta | {"neardup_keep": True} if path.endswith("=kept") else None
        return request if meta is None else request.replace(meta=meta)

    def page(self, response):
        yield from super().page(response)
        for number in range(1000, 1000 + MANY) if response.url.endswith("=kept") else ():
            yield (request := self.request(response, f"/p/{number}", 0))
            meta = request.meta | {"neardup_keep": True}
            yield request.replace(url=f"{request.url}?sid=2", meta=meta, priority=-(10**6))


def test_a_copy_of_a_request_that_may_be_withheld_may_not(crawl, site):
    paths = [*variants(range(40)), "/p/0?sid=kept"]
    show(site, *paths, *variants(range(1000, 1000 + MANY)))
    copies = show(site, *(f"/p/{number}?sid=2" for number in range(1000, 1000 + MANY)))
    assert {*copies} <= {*told(crawl(Keeps, *paths, settings=UNCHECKED))[0]}


def test_what_is_withheld_because_of_a_page_is_not_requested_if_a_copy_of_the_page_fails(
    crawl, site
):
    paths = [*variants(range(40)), "/p/30?sid=kept", *variants(range(40, MANY))]
    show(site, *paths)
    fails = ["/p/30?sid=kept"]
    outcome = crawl(Keeps, *paths, settings=UNCHECKED, fails=fails, errors=True)
    assert fails[0] in told(outcome)[0]
    until_end = site.requests[: site.requests.index(f"/p/{MANY - 1}")]
    assert not {path for path in until_end if path.endswith("?sid=1")} & {*told(outcome)[1]}


def test_exceptions_that_all_come_late_are_found(crawl, site):
    """Although none of them is among the requests that are made while the crawl runs."""
    numbers, explore = range(240, 249), 0.2

    def draws(sid):
        return [draw(f"{site.url}/p/{number}{sid}") for number in (numbers.start - 1, *numbers)]

    sids = ((sid, draws(sid)) for sid in map("?sid={}".format, itertools.count()))
    sid = next(sid for sid, (first, *rest) in sids if first < explore < min(rest))
    paths = variants(range(numbers.stop), sid)
    late = [path for path in paths[2 * numbers.start :] if "?" in path]
    show(site, *paths, text_of={path: f"own {path}" for path in late})
    outcome = crawl(Listener, *paths, settings=SKIP | {"NEARDUP_URLS_EXPLORE": explore})
    assert set(late) <= set(told(outcome)[1])  # withheld at first
    assert set(late) <= set(told(outcome)[0])


@given(st.lists(st.integers(0, 9), max_size=200).map(sorted), st.integers(0, 9))
def test_no_long_stretch_lacks_a_test(tests, even):
    urls = [(str(number), each) for number, each in enumerate(tests)]
    chosen = {*map(int, untested(urls, even))}
    longest = max(1, len(urls) // STRETCHES)
    assert not any(tests[number] < even for number in chosen)
    for each, stretch in itertools.groupby(enumerate(tests), itemgetter(1)):
        left = "".join("x" if number in chosen else "." for number, _ in stretch).split("x")
        assert each < even or max(map(len, left)) < 2 * longest
