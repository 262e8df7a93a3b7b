"""Claims about URLs in crawls: what they withhold, how they are tested, what ends them."""

import itertools
import logging

import pytest
import scrapy
from audits import verdicts
from crawl_spiders import Visit
from redis_servers import shared_server
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from site_server import page, text

from scrapy_neardup import signals
from scrapy_neardup.claims.claim import ENOUGH, NEEDED
from scrapy_neardup.claims.part import PARAMETER, Part
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.experiments.requests import UrlClaims

SID = str(Part(PARAMETER, "sid"))
MANY = 100
SKIP = {"NEARDUP_URLS": "skip", "CONCURRENT_REQUESTS": 1} | {
    "NEARDUP_EXPERIMENTS": 0,
    "NEARDUP_LINKS": "withhold",
}
"""One request at a time, and none that isn't of the claims about URLs."""
UNCHECKED = SKIP | {"NEARDUP_URLS_EXPLORE": 0}
names = (f"claims{number}" for number in itertools.count())


def variants(numbers, sid="?sid=1"):
    """Return paths: each page, and then its variant."""
    return [path for number in numbers for path in (f"/p/{number}", f"/p/{number}{sid}")]


def show(site, *paths, text_of=None):
    """Serve paths; what follows the question mark has no effect unless `text_of` says so."""
    for path in paths:
        group = (text_of or {}).get(path) or path.partition("?")[0]
        site.routes[path] = page(text(group, words=80))
    return paths


class Listener(Visit):
    """Hears of requests that aren't made, by the signal and by its errback."""

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        spider = super().from_crawler(crawler, *arguments, **keywords)
        crawler.signals.connect(spider.skipped, signals.request_skipped)
        return spider

    def skipped(self, request, rules, spider):
        assert spider is self
        self.notes.append([request.url.removeprefix(self.site), *rules])

    def request(self, response, path, priority):
        return super().request(response, path, priority).replace(errback=self.failed)

    def failed(self, failure):
        assert failure.check(IgnoreRequest)
        self.notes.append({"failed": failure.request.url.removeprefix(self.site)})


def told(outcome):
    """Return which paths a callback saw, which weren't requested, and which errbacks heard of."""
    seen = [note for note in outcome.notes if isinstance(note, str)]
    skipped = [note[0] for note in outcome.notes if isinstance(note, list)]
    return seen, skipped, [note["failed"] for note in outcome.notes if isinstance(note, dict)]


def counted(outcome):
    return outcome.counted(ours="neardup/urls/")


def test_what_claims_know_is_withheld_and_tested(crawl, site, tmp_path):
    paths = show(site, *variants(range(MANY)))
    audit = tmp_path / "audit.jsonl"
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
    assert "so that at most 5.0% of them show something new" in summed
    lines = [line for line in verdicts(audit) if line.get("event") == "skipped"]
    assert [line["page"] for line in lines] == [site.url + path for path in skipped]
    assert lines[0]["rules"] == [f"{SID} on /p/N"]
    [claim] = [line for line in verdicts(audit) if line.get("event") == "claim"]
    assert (claim["place"], claim["row"], claim["ended"]) == ("/p/N", made, 0)


def test_checks_are_dense_at_first(crawl, site):
    paths = show(site, *variants(range(NEEDED + 200)))
    settings = SKIP | {"NEARDUP_URLS_EXPLORE": 0.01}
    stats = counted(outcome := crawl(Listener, *paths, settings=settings))
    skipped = [int(path.split("/")[2].split("?")[0]) for path in told(outcome)[1]]
    checked = sorted(set(range(NEEDED, NEEDED + 200)) - set(skipped))
    assert len(checked) == stats["explored"]
    first, last = (sum(low <= each < low + 50 for each in checked) for low in (NEEDED, 170))
    assert first > last > 0


class Following(Visit):
    """Finds the pages one after the other, each on the one before."""

    def parse(self, response):
        yield scrapy.Request(response.urljoin(self.paths[0]), self.page)

    def page(self, response):
        self.note(response)
        number = self.paths.index(self.path_of(response))
        yield from (
            scrapy.Request(response.urljoin(path), self.page, priority="?" in path)
            for path in self.paths[number + 1 : number + 3]
        )


def test_a_request_that_is_withheld_when_it_is_found_is_not_scheduled(crawl, site):
    paths = show(site, *variants(range(MANY)))
    outcome = crawl(Following, *paths, settings=UNCHECKED)
    stats = counted(outcome)
    assert stats["skipped"] == MANY - NEEDED
    again = stats["requested-again"]
    assert again == ENOUGH - NEEDED
    assert outcome.stats["scheduler/enqueued"] == 1 + MANY + NEEDED + again


def test_a_scheduled_request_is_withheld_before_its_download_and_its_errback_hears(crawl, site):
    paths = show(site, *variants(range(MANY)))
    outcome = crawl(Listener, *paths, settings=UNCHECKED)
    _, skipped, failed = told(outcome)
    assert outcome.stats["scheduler/enqueued"] == 1 + len(paths) + ENOUGH - NEEDED
    assert failed[NEEDED:][: len(skipped)] == skipped  # the first ones were dropped


def test_urls_that_differ_in_their_fragment_are_one(crawl, site):
    paths = show(site, *variants(range(MANY)), "/p/last")
    show(site, "/p/1?sid=9")
    outcome = crawl(Fragments, *paths, settings=UNCHECKED)
    assert counted(outcome)["skipped"] == MANY - NEEDED + 1


class Fragments(Visit):
    """Finds one variant under two fragments."""

    def page(self, response):
        yield from super().page(response)
        if response.url.endswith("/p/last"):
            yield self.request(response, "/p/1?sid=9#a", 0)
            yield self.request(response, "/p/1?sid=9#b", 0)


def test_a_report_withholds_nothing_and_says_what_it_would(crawl, site, tmp_path):
    paths = show(site, *variants(range(MANY)))
    audit = tmp_path / "audit.jsonl"
    outcome = crawl(Listener, *paths, settings={"NEARDUP_AUDIT": str(audit)})
    assert set(site.requests) >= set(paths)
    assert not told(outcome)[1]
    assert counted(outcome) == {"saveable": MANY - NEEDED, "rules-begun": 2}
    [line] = [line for line in outcome.logged("INFO") if "wouldn't have made most of" in line]
    assert f"most of {MANY - NEEDED} requests" in line
    [claim] = [line for line in verdicts(audit) if line.get("event") == "claim"]
    assert (claim["covered"], claim["withheld"]) == (MANY - NEEDED, 0)


def test_nothing_is_learnt_where_it_is_off(crawl, site):
    outcome = crawl(Listener, *show(site, *variants(range(40))), settings={"NEARDUP_URLS": "off"})
    assert not counted(outcome)


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
    said = f"it isn't so that {SID} on /p/N; the {len(skipped)} requests that it has withheld are"
    assert said in line


class Insisting(Listener):
    """Asks in ways that no claim may refuse, one of them at the start."""

    async def start(self):
        yield scrapy.Request(f"{self.site}/start.json", self.parse, dont_filter=True)
        yield scrapy.Request(f"{self.site}/p/0?sid=start", self.page, priority=-(10**6))

    def request(self, response, path, priority):
        request = super().request(response, path, priority)
        if path.endswith(("sid=again", "sid=7")):
            return request.replace(dont_filter=True)
        for key in ("skip", "keep"):
            if path.endswith(f"sid={key}"):
                request.meta[f"neardup_{key}"] = True
        if path.endswith("sid=posted"):
            return request.replace(method="POST", body=b"x")
        return request


def test_what_is_asked_for_explicitly_is_never_withheld(crawl, site):
    asked = [f"/p/1?sid={how}" for how in ("again", "skip", "keep", "posted")]
    show(site, *(paths := [*variants(range(MANY)), *asked]), "/p/0?sid=start")
    crawl(Insisting, *paths, settings=UNCHECKED)
    assert {"/p/0?sid=start", *asked} <= set(site.requests)


def test_all_are_made_where_all_are_explored(crawl, site):
    paths = show(site, *variants(range(40)))
    outcome = crawl(Listener, *paths, settings=SKIP | {"NEARDUP_URLS_EXPLORE": 1})
    assert not told(outcome)[1]
    assert outcome.requested == 1 + len(paths)


@pytest.mark.parametrize("number", [NEEDED + 5, 2 * ENOUGH])
def test_before_it_ends_by_itself_a_crawl_tests_what_it_has_withheld(crawl, site, number):
    paths = show(site, *variants(range(number)))
    outcome = crawl(Listener, *paths, settings=UNCHECKED)
    assert sum("?" in path for path in site.requests) == min(number, ENOUGH)
    assert counted(outcome)["requested-again"] == min(number, ENOUGH) - NEEDED


def test_a_crawl_that_is_ended_says_what_it_has_withheld(crawl, site):
    paths = show(site, *variants(range(MANY)))
    settings = UNCHECKED | {"CLOSESPIDER_PAGECOUNT": 2 * NEEDED + 30}
    outcome = crawl(Listener, *paths, settings=settings)
    assert outcome.reason == "closespider_pagecount"
    assert "requested-again" not in counted(outcome)
    [line] = [line for line in outcome.logged("INFO") if "weren't made" in line]
    skipped = counted(outcome)["skipped"]
    assert f"{skipped} requests weren't made; 20 tested it, so that at most 15.0%" in line


class Failing(Visit):
    def page(self, response):
        if response.url.endswith("/p/bad"):
            raise ValueError("as it happens")
        yield from super().page(response)


def test_what_is_withheld_for_the_sake_of_a_page_that_fails_is_requested(crawl, site):
    paths = [*variants(range(MANY)), "/p/bad", "/p/bad?sid=1"]
    show(site, *paths)
    outcome = crawl(Failing, *paths, settings=UNCHECKED, errors=True)
    assert "/p/bad?sid=1" in outcome.notes


class Late(Visit):
    """A page asks for itself again and again while its variant is withheld, and fails then."""

    def page(self, response):
        path = self.path_of(response)
        if path != "/p/bad":
            yield from super().page(response)
            return
        yield scrapy.Request(response.urljoin("/p/bad?sid=1"), self.page, priority=1)
        yield scrapy.Request(response.urljoin("/p/0"), self.page, dont_filter=True)
        raise ValueError("as it happens")


def test_so_is_what_its_own_callback_yields(crawl, site):
    paths = [*variants(range(MANY)), "/p/bad"]
    show(site, *paths, "/p/bad?sid=1")
    outcome = crawl(Late, *paths, settings=UNCHECKED, errors=True)
    assert "/p/bad?sid=1" in outcome.notes


def test_a_page_that_was_never_fetched_spares_nothing(crawl, site):
    paths = [*variants(range(MANY)), "/p/none?sid=1"]
    show(site, *paths)
    assert "/p/none?sid=1" in crawl(Visit, *paths, settings=UNCHECKED).notes


def test_sections_are_tested_apart(crawl, site):
    """A parameter that has no effect in one folder has one in another."""
    same, other = variants(range(60)), [path.replace("/p/", "/q/") for path in variants(range(60))]
    show(site, *same, *other, text_of={path: path for path in other})
    paths = [path for both in zip(same, other, strict=True) for path in both]
    outcome = crawl(Listener, *paths, settings=UNCHECKED)
    seen, skipped, _ = told(outcome)
    assert set(other) <= set(seen)
    assert all(path.startswith("/p/") for path in skipped)


@pytest.mark.parametrize("goes_on", ["a run that is resumed", "a crawler of the same store"])
def test_another_one_goes_on_with_the_claims(crawl, site, tmp_path, goes_on):
    first, second = variants(range(MANY)), variants(range(200, 220))
    show(site, *first, *second)
    settings = UNCHECKED | {"JOBDIR": str(tmp_path)}
    if "store" in goes_on:
        settings = UNCHECKED | {
            "NEARDUP_STORE": shared_server().uri, "NEARDUP_NAMESPACE": next(names)
        }  # fmt: skip
    crawl(Visit, *first, settings=settings)
    outcome = crawl(Visit, *second, settings=settings)
    assert counted(outcome)["skipped"] == 20
    assert (tmp_path / "neardup.claims").exists() == ("run" in goes_on)


def test_two_crawlers_at_once_end_a_claim_that_one_of_them_sees_contradicted(crawl, site):
    shared = {"NEARDUP_STORE": shared_server().uri, "NEARDUP_NAMESPACE": next(names)}
    first, second = variants(range(40)), variants(range(200, 240))
    last = "/p/201?sid=7"
    show(site, *first, *second, last, text_of={last: "own"})
    crawl(Visit, *first, settings=UNCHECKED | shared)
    outcome = crawl(Insisting, *second, last, settings=UNCHECKED | shared)
    assert counted(outcome)["rules-ended"] == 2
    third = show(site, *variants(range(300, 320)))
    assert "skipped" not in counted(crawl(Visit, *third, settings=UNCHECKED | shared))


def test_what_was_withheld_before_a_pause_is_requested_if_its_claim_ends(crawl, site, tmp_path):
    paths, contradiction = variants(range(40)), "/p/3?sid=7"
    show(site, *paths)
    settings = UNCHECKED | {"JOBDIR": str(tmp_path)}
    pages = {"CLOSESPIDER_PAGECOUNT": 2 * NEEDED + 15}
    first = crawl(Listener, *paths, settings=settings | pages)
    assert first.reason == "closespider_pagecount"
    skipped = told(first)[1]
    assert skipped
    show(site, contradiction, text_of={contradiction: "own"})
    outcome = crawl(Insisting, contradiction, settings=settings)
    assert counted(outcome)["rules-ended"] == 2
    assert set(skipped) <= set(site.requests)


class Local(Listener):
    """Yields requests that no disk can hold."""

    def request(self, response, path, priority):
        request = super().request(response, path, priority)
        request.meta["local"] = lambda: path
        return request


def test_a_withheld_request_that_cannot_be_pickled_is_left_out(crawl, site, tmp_path):
    paths = show(site, *variants(range(40)))
    more = show(site, "/p/new", "/p/0?sid=2")
    settings = UNCHECKED | {"JOBDIR": str(tmp_path)}
    pages = {"CLOSESPIDER_PAGECOUNT": 2 * NEEDED + 15}
    assert counted(crawl(Local, *paths, settings=settings | pages))["skipped"]
    assert counted(crawl(Listener, *more, settings=settings))["skipped"] == 1


def test_a_file_that_cannot_be_read_is_ignored_with_a_word(crawl, site, tmp_path):
    (tmp_path / "neardup.claims").write_bytes(b"cut off")
    paths = show(site, *variants(range(NEEDED + 5)))
    outcome = crawl(Listener, *paths, settings=UNCHECKED | {"JOBDIR": str(tmp_path)})
    assert any("neardup.claims can't be read" in line for line in outcome.logged("WARNING"))
    assert counted(outcome)["skipped"] == 5


def months(site, number):
    """Serve months that differ in little, and texts that differ in all."""
    paths = [f"/month/{each}" for each in range(number)]
    for each, path in enumerate(paths):
        own = " ".join(f"{word}{each}" for word in ("january", "friday"))
        site.routes[path] = page(text("the same", words=200) + f"<p>{own}</p>")
    threads = [f"/thread/{each}" for each in range(number)]
    for path in threads:
        site.routes[path] = page(text("the same", words=100) + text(path, words=100))
    return [path for both in zip(threads, paths, strict=True) for path in both]


BUDGET = SKIP | {"NEARDUP_PATTERN_BUDGET": 10, "NEARDUP_ACTION": "flag"}


@pytest.mark.parametrize("urls", ["report", "skip"])
def test_a_budget_ends_patterns_that_bring_nothing_new_and_tests_that(crawl, site, urls):
    paths = months(site, 160)
    outcome = crawl(Visit, *paths, settings=BUDGET | {"NEARDUP_URLS": urls})
    met = set(site.requests)
    assert {path for path in paths if path.startswith("/thread/")} <= met
    spent = [path for path in paths if path.startswith("/month/") and path not in met]
    assert len(spent) > 50
    assert counted(outcome)["explored"] > 5
    assert any("/month/N: pages bring next to nothing" in line for line in outcome.logged("INFO"))


def test_a_page_with_news_ends_that_and_brings_back_what_was_withheld(crawl, site):
    paths = [path for path in months(site, 120) if path.startswith("/month/")]
    for path in paths[-40:]:
        site.routes[path] = page(text(path, words=200))
    crawl(Visit, *paths, settings=BUDGET)
    assert set(paths) <= set(site.requests)


def test_a_budget_holds_over_a_pause(crawl, site, tmp_path):
    paths = months(site, 120)
    settings = BUDGET | {"NEARDUP_URLS_EXPLORE": 0, "JOBDIR": str(tmp_path)}
    pages = {"CLOSESPIDER_PAGECOUNT": 150}
    crawl(Visit, *paths[:200], settings=settings | pages)
    before = len(site.requests)
    outcome = crawl(Visit, *paths[200:], settings=settings | pages)
    assert counted(outcome)["skipped"]
    assert not [line for line in outcome.logged("INFO", logging.__name__) if "next to" in line]
    assert len(site.requests) > before


@pytest.mark.parametrize("url", ["http://[", "http://unknown.example/a?sid=1"])
def test_of_addresses_that_it_does_not_know_nothing_is_claimed(url):
    crawler = Crawler(Visit)
    claims = UrlClaims(crawler, read_settings(crawler.settings), None, None)
    claims.leads_on(url, "http://unknown.example/b", alone=False)
    assert not claims.is_known(url)
    assert not claims.is_variant(url)
