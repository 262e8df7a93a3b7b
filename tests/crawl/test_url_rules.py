"""Claims about URLs in crawls: what they withhold, and what not."""

from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import Mock

import pytest
import scrapy
from audits import events, verdicts
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
from claimed_site import ClaimedSite, at
from crawl_spiders import Visit
from linked_sites import Walk, linked
from scrapy.crawler import Crawler
from scrapy.loader import ItemLoader
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter, fingerprint
from site_server import Answer, page, text

from scrapy_neardup.claims.claim import ENOUGH, NEEDED
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.experiments.skipping import _may_be_withheld
from scrapy_neardup.crawl.experiments.urlclaims import LESSON, UrlClaims
from scrapy_neardup.crawl.experiments.withheld import Withholding


def test_a_request_that_tests_one_of_two_claims_is_withheld_under_neither(crawl, site, audit):
    paths = []
    for number in range(110):
        bare, both = f"/p/{number}", [f"/p/{number}?sid={number}", f"/p/{number}/?sid=a{number}"]
        paths += [bare, both[0]] if number < 40 else [bare, f"{bare}/", *both]
    show(site, *paths, text_of={path: path.partition("?")[0].rstrip("/") for path in paths})
    crawl(Listener, *paths, settings=SKIP | {"NEARDUP_AUDIT": str(audit)})
    made = {line["page"] for line in verdicts(audit) if "verdict" in line}
    skipped = {line["page"]: line["rules"] for line in events(audit, "skipped")}
    stated = {line["claim"]: line["withheld"] for line in events(audit, "claim")}
    assert len(stated) > 2
    assert stated == {
        claim: sum(claim in rules for page, rules in skipped.items() if page not in made)
        for claim in stated
    }


def test_what_claims_know_is_withheld_and_tested(crawl, site, audit):
    paths = show(site, *variants(range(MANY)))
    outcome = crawl(Listener, *paths, settings=SKIP | {"NEARDUP_AUDIT": str(audit)})
    seen, skipped, _ = told(outcome)
    assert set(seen) == {path for path in paths if "?" not in path}
    stats = counted(outcome)
    # Nothing is withheld before there is evidence, and some of the rest is made, to test it.
    assert len(skipped) == stats["skipped"] > (MANY - NEEDED) / 2
    assert stats["skipped"] + stats["explored"] == MANY - NEEDED
    made = sum("?" in path for path in site.requests)
    assert made == MANY - stats["skipped"] + stats["requested-again"]
    assert made >= ENOUGH  # before the crawl ends
    assert outcome.requested == 1 + MANY + made
    assert any(f"{SID} (" in line for line in outcome.logged("INFO"))
    [summed] = [line for line in outcome.logged("INFO") if "weren't made" in line]
    withheld = stats["skipped"] - stats["requested-again"]
    assert f"; {withheld} requests weren't made; 60 tested it, so that at most 5.0% of" in summed
    lines = events(audit, "skipped")
    assert [line["page"] for line in lines] == [site.url + path for path in skipped]
    assert lines[0]["rules"] == [f"{SID} on /p/N"]
    [claim] = events(audit, "claim")
    found = [claim[key] for key in ("place", "streak", "ended", "withheld")]
    assert found == ["/p/N", made, 0, withheld]


class Headed:
    """Takes requests with another language for other requests, as in Scrapy's documentation."""

    def fingerprint(self, request):
        return fingerprint(request, include_headers=["X-Language"])


class Fragments:
    """Takes requests with another language or fragment for other requests."""

    def fingerprint(self, request):
        return fingerprint(request, include_headers=["X-Language"], keep_fragments=True)


class Demanding(Headed):
    def fingerprint(self, request):
        return super().fingerprint(request) + request.meta["key"]


class Translated(Visit):
    """Requests each page in English, and its variants with the session 2 in German."""

    custom_settings: ClassVar = {"REQUEST_FINGERPRINTER_CLASS": Headed}

    def request(self, response, path, priority):
        headers = {"X-Language": "de"} if path.endswith("=2") else {}
        return super().request(response, path, priority).replace(headers=headers)


def in_its_language(handler):
    language = handler.headers.get("X-Language", "en")
    return Answer(page(text(language + handler.path.partition("?")[0], words=80)))


class OwnRequest(scrapy.Request):
    """Can't be replaced, because it doesn't name `number` in `attributes`."""

    def __init__(self, url, number, **more):
        super().__init__(url, **more)
        self.number = number


@pytest.mark.parametrize(("fingerprinter", "headers", "is_its_url"), [
    (RequestFingerprinter(), {"X-Language": "de"}, True),
    (Headed(), {}, True), (Headed(), {"X-Language": "de"}, False), (Fragments(), {}, False),
    (Demanding(), {}, False),  # it can't read a request of the URL alone
])  # fmt: skip
def test_what_is_more_than_its_url_says_the_fingerprinter(fingerprinter, headers, is_its_url):
    experiment = Withholding(SimpleNamespace(request_fingerprinter=fingerprinter))
    request = scrapy.Request("http://h.test/#a", headers=headers, meta={"key": b""})
    assert experiment._is_its_url(request) == is_its_url
    assert not experiment._is_its_url(request.replace(method="POST"))
    assert not experiment._is_its_url(request.replace(body="more"))
    own = OwnRequest("http://h.test/", 7, headers=headers)
    assert experiment._is_its_url(own) == (type(fingerprinter) is RequestFingerprinter)


def test_a_request_that_is_more_than_its_url_is_made(crawl, site):
    paths = [*variants(range(MANY)), *(f"/p/{number}?sid=2" for number in range(MANY))]
    site.routes |= dict.fromkeys(paths, in_its_language)
    outcome = crawl(Translated, *paths, settings=SKIP | {"NEARDUP_EXPERIMENTS": 0.02})
    seen = [path for path in outcome.notes if "=1" not in path]
    assert seen == [path for path in paths if "=1" not in path]
    assert counted(outcome)["skipped"]


class Twice(Walk):
    """Walks over the site in English, then in German."""

    custom_settings: ClassVar = Translated.custom_settings

    def parse(self, response):
        for place, language in enumerate(("en", "de")):
            headers = {"X-Language": language}
            yield response.follow("/", self.page, headers=headers, priority=-100 * place)

    def page(self, response):
        for request in super().page(response):
            is_request = isinstance(request, scrapy.Request)
            headers = response.request.headers
            priority = response.request.priority
            yield request.replace(headers=headers, priority=priority) if is_request else request


def test_links_of_a_dropped_page_whose_request_is_more_than_its_url_are_followed(crawl, site):
    folders = [f"/{number}/" for number in range(9)]
    leaves = [f"{folder}{number}" for folder in folders for number in range(3)]
    site.routes["/"] = linked("start", *folders)
    for folder in folders:
        site.routes[folder] = linked(folder, *(leaf for leaf in leaves if leaf.startswith(folder)))
    site.routes |= dict.fromkeys(leaves, in_its_language)
    outcome = crawl(Twice, settings={"CONCURRENT_REQUESTS": 1})
    seen = [item["path"] for item in outcome.items]
    assert sorted(seen) == sorted(["/", *folders, *leaves, *leaves])


class Various(Walk):
    """Finds requests for one URL on a dropped page that differ in more than that."""

    custom_settings: ClassVar = {"REQUEST_FINGERPRINTER_CLASS": Fragments}

    def page(self, response):
        yield from super().page(response)
        for number in range(5) if response.url.endswith("/2/") else ():
            headers = {"X-Language": str(number)}
            for url in (f"{self.site}/data#{number}", f"{self.site}/data"):
                yield scrapy.Request(url, self.note, headers=headers if "#" not in url else None)


class Submits(Walk):
    """Sends a form to an address that a dropped page has a link to."""

    def page(self, response):
        if response.url.endswith("/1/"):
            yield scrapy.Request(f"{self.site}/2/0", self.sent, method="POST", priority=1000)
        yield from super().page(response)

    def sent(self, response):
        pass


@pytest.mark.parametrize(("spider", "path", "number"), [(Various, "/data", 10),
                                                        (Submits, "/2/0", 2)])  # fmt: skip
def test_requests_for_one_url_that_are_more_than_that_are_told_apart(
    walk, site, spider, path, number
):
    site.routes["/data"] = in_its_language
    tree = {"/1/": ("start", "/1/0"), "/1/0": ("0",), "/2/": ("start", "/2/0"), "/2/0": ("own",)}
    walk(tree, "/1/", "/2/", spider=spider)
    assert site.requests.count(path) >= number  # some are made twice


def test_variants_of_a_page_whose_callback_failed_are_requested(crawl, site):
    paths = show(site, *variants(range(MANY)))
    bare, others = paths[4 * NEEDED :: 2], paths[4 * NEEDED + 1 :: 2]
    order = *paths[: 4 * NEEDED], *bare, *others
    outcome = crawl(Listener, *order, fails=tuple(bare), errors=True, settings=UNCHECKED)
    seen, skipped, _ = told(outcome)
    assert {*others} <= {*seen}
    assert skipped
    assert not {*others} & {*skipped}


class Printing(Visit):
    """Reads each page, and its variants of another name with another callback."""

    def request(self, response, path, priority):
        callback = self.printed if "=print" in path else self.page
        return super().request(response, path, priority).replace(callback=callback)

    def printed(self, response):
        self.note(response)


@pytest.mark.parametrize(("number", "printed"), [(MANY, 60), (3 * MANY, 1)])
def test_what_only_another_callback_has_seen_is_requested(crawl, site, number, printed):
    prints = [f"/p/{each}?sid=print{each}" for each in range(printed)]
    others = [path for each in range(number) for path in variants([each], f"?sid={each}")]
    paths = show(site, *others[:-50], *prints, *others[-50:])
    outcome = crawl(Printing, *paths, settings=SKIP)
    assert set(prints) < set(outcome.notes)
    assert len(outcome.notes) == number + printed
    assert (number - NEEDED) / 2 < counted(outcome)["skipped"] < number  # none of the prints


class Following(Visit):
    """Finds the pages one after the other, each on the one before."""

    def parse(self, response):
        yield scrapy.Request(response.urljoin(self.paths[0]), self.page)

    def page(self, response):
        yield from super().page(response)
        number = self.paths.index(self.path_of(response))
        yield from (
            scrapy.Request(response.urljoin(path), self.page, priority="?" in path)
            for path in self.paths[number + 1 : number + 3]
        )


def test_a_request_that_is_withheld_when_it_is_found_is_not_scheduled(crawl, site):
    paths = show(site, *variants(range(MANY)))
    outcome = crawl(Following, *paths, settings=UNCHECKED)
    stats = counted(outcome)
    assert (stats["skipped"], stats["requested-again"]) == (MANY - NEEDED, ENOUGH)
    assert outcome.stats["scheduler/enqueued"] == 1 + MANY + NEEDED + ENOUGH


def test_a_scheduled_request_is_withheld_before_its_download_and_its_errback_hears(crawl, site):
    paths = show(site, *variants(range(MANY)))
    outcome = crawl(Listener, *paths, settings=UNCHECKED)
    _, skipped, failed = told(outcome)
    assert outcome.stats["scheduler/enqueued"] == 1 + len(paths) + ENOUGH
    assert failed[NEEDED:][: len(skipped)] == skipped  # the first ones were dropped


def test_a_report_withholds_nothing_and_says_what_it_would(crawl, site, audit):
    paths = show(site, *variants(range(MANY)))
    outcome = crawl(Listener, *paths, settings={"NEARDUP_AUDIT": str(audit)})
    assert set(site.requests) >= set(paths)
    assert not told(outcome)[1]
    assert counted(outcome) == {"saveable": MANY - NEEDED, "rules-begun": 2}
    [line] = [line for line in outcome.logged("INFO") if "would have left out most of" in line]
    assert f"most of {MANY - NEEDED} requests" in line
    [claim] = events(audit, "claim")
    assert (claim["covered"], claim["withheld"]) == (MANY - NEEDED, 0)


def test_nothing_is_learnt_where_it_is_off(crawl, site):
    outcome = crawl(Listener, *show(site, *variants(range(40))), settings={"NEARDUP_URLS": "off"})
    assert not counted(outcome)


def test_a_crawl_that_is_ended_has_learnt_from_its_last_pages(crawl, site):
    """In a report it learns from many at a time."""
    paths = show(site, *variants(range(LESSON // 2 - 1)))
    outcome = crawl(Listener, *paths, NEARDUP_URLS="report", CLOSESPIDER_PAGECOUNT=len(paths) - 1)
    assert outcome.reason == "closespider_pagecount"
    assert counted(outcome)["saveable"]


def test_what_is_asked_for_explicitly_is_never_withheld(crawl, site):
    asked = "/p/0?sid=start", "/p/1?sid=again"
    known = [path for number in range(40) for path in variants([number], f"?sid={number}")]
    show(site, *(paths := [*known, asked[1], "/p/1?sid=plain"]), asked[0])
    outcome = crawl(Insisting, *paths, settings=UNCHECKED)
    assert {*asked} <= {*site.requests}
    skipped = told(outcome)[1]
    assert "/p/1?sid=plain" in skipped
    assert not {*asked} & {*skipped}


BEGUN = {"begun": 1}


class Untold:
    """Has attributes that it doesn't know of, so nobody can say whether it is an item."""

    def __getattr__(self, name):
        raise KeyError(name)


@pytest.mark.parametrize(("given", "may_be"), [
    ({}, True), ({"meta": {"depth": 2}}, True),
    ({"meta": {"options": {"of": "another package"}}}, True),
    ({"meta": {"is_start_request": True, "depth": 2}}, True),  # a copy of a start request's meta
    ({"meta": {"is_start_request": True}}, False),
    ({"meta": {"is_start_request": True, "depth": 0}}, False),
    ({"meta": {"depth": 1}}, False), ({"url": "http://h.test/denied/1"}, False),
    ({"dont_filter": True}, False), ({"method": "POST"}, False), ({"body": b"x"}, False),
    *[({"meta": {key: True}}, False) for key in ("neardup_skip", "neardup_keep")],
    # An item that is begun
    ({"cb_kwargs": {"item": BEGUN}}, False), ({"cb_kwargs": {"item": ["of one", BEGUN]}}, False),
    ({"cb_kwargs": {"own": Untold()}}, False),
    *[({"meta": {"item": each}}, False) for each in (scrapy.Item(), BEGUN, ItemLoader(BEGUN))],
    *[({"meta": {"own": each}}, False) for each in (scrapy.Item(), ItemLoader(BEGUN))],
])  # fmt: skip
def test_which_requests_may_be_withheld(given, may_be):
    settings = Settings({"NEARDUP_START_DEPTH": 1, "NEARDUP_DENY": ["/denied/"]})
    request = scrapy.Request(**{"url": "http://h.test/"} | given)
    assert _may_be_withheld(request, read_settings(settings)) == may_be


def url_claims(**settings):
    """Return the claims of a crawl that has made no request."""
    crawler = Crawler(Visit, settings)
    return UrlClaims(crawler, read_settings(crawler.settings), None, Mock(), None)


async def test_a_page_from_which_nothing_can_be_learnt_does_not_take_others_along():
    claims, learnt = url_claims(**SKIP), []

    async def learn_from(judged):
        if judged.parts.url.endswith("2"):
            raise ValueError("a page like no other")
        learnt.append(judged.parts.url[-1])

    claims._learn_from = learn_from
    claims._lessons = [Mock(parts=at(f"/p/{number}")) for number in range(4)]
    await claims._learn()
    assert learnt == ["0", "1", "3"]
    failed = [called.args[0] for called in claims._reporter.failed.mock_calls]
    assert failed == [at("/p/2").url]


@pytest.mark.parametrize("alone", [True, False])
def test_a_dropped_page_that_leads_on_ends_the_claims_that_cover_it(alone):
    """Unless most of its other links are known."""
    claims = url_claims(**SKIP)
    known = ClaimedSite(claims._hosts.met(at("/").host))
    known.confirm("{}?sid={}")
    variant = at("/p/1?sid=x").url
    assert claims.is_known(variant)
    claims.leads_on(variant, at("/elsewhere").url, alone=alone)
    assert claims.is_known(variant) == alone


def test_a_budget_of_patterns_makes_no_link_known():
    """Claims about parameters withhold nothing then, so nothing tests them."""
    claims = url_claims(NEARDUP_PATTERN_BUDGET=5)
    ClaimedSite(claims._hosts.met(at("/").host)).confirm("{}?sid={}")
    assert not claims.is_known(at("/p/1?sid=x").url)


@pytest.mark.parametrize("url", ["http://[", "http://unknown.example/a?sid=1"])
def test_of_addresses_that_it_does_not_know_nothing_is_claimed(url):
    claims = url_claims()
    claims.leads_on(url, "http://unknown.example/b", alone=False)
    assert not claims.is_known(url)
    assert not claims.is_variant(url)
