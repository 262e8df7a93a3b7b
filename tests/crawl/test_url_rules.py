"""Claims about URLs in crawls: what they withhold, and what not."""

import pytest
import scrapy
from audits import verdicts
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
from scrapy.crawler import Crawler

from scrapy_neardup.claims.claim import ENOUGH, NEEDED
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.experiments.requests import UrlClaims


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
    withheld = stats["skipped"] - stats["requested-again"]
    assert f"; {withheld} requests weren't made; 60 tested it, so that at most 5.0% of" in summed
    lines = [line for line in verdicts(audit) if line.get("event") == "skipped"]
    assert [line["page"] for line in lines] == [site.url + path for path in skipped]
    assert lines[0]["rules"] == [f"{SID} on /p/N"]
    [claim] = [line for line in verdicts(audit) if line.get("event") == "claim"]
    assert (claim["place"], claim["row"], claim["ended"]) == ("/p/N", made, 0)
    assert claim["withheld"] == withheld


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


def test_what_is_asked_for_explicitly_is_never_withheld(crawl, site):
    asked = [f"/p/1?sid={how}" for how in ("again", "skip", "keep", "posted")]
    show(site, *(paths := [*variants(range(MANY)), *asked]), "/p/0?sid=start")
    crawl(Insisting, *paths, settings=UNCHECKED)
    assert {"/p/0?sid=start", *asked} <= set(site.requests)


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


@pytest.mark.parametrize("url", ["http://[", "http://unknown.example/a?sid=1"])
def test_of_addresses_that_it_does_not_know_nothing_is_claimed(url):
    crawler = Crawler(Visit)
    claims = UrlClaims(crawler, read_settings(crawler.settings), None, None, None)
    claims.leads_on(url, "http://unknown.example/b", alone=False)
    assert not claims.is_known(url)
    assert not claims.is_variant(url)
