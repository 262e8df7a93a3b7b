"""The links of dropped pages: what they lead to is asked, remembered, and made if it is new."""

import re
from typing import ClassVar
from unittest.mock import Mock

import pytest
import scrapy
from crawl_spiders import Visit
from linked_sites import Hears, Walk, editions
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.statscollectors import MemoryStatsCollector
from site_server import EMPTY, Answer, page, text

from scrapy_neardup.claims.claim import ENOUGH, LENT, NEEDED
from scrapy_neardup.crawl.experiments import withheld
from scrapy_neardup.crawl.experiments.links import EVERY, SAMPLE, Links, _key
from scrapy_neardup.crawl.experiments.ownrequests import HANDFUL, OwnRequests
from scrapy_neardup.crawl.experiments.urlclaims import LESSON
from scrapy_neardup.crawl.pagestate import Case


def counted(outcome):
    return outcome.counted(ours="neardup/links/")


def test_what_dropped_pages_alone_lead_to_is_found(walk):
    outcome = walk(editions(12, unique=True), "/1/", "/2/")
    assert {f"/2/{each}" for each in range(12)} <= set(outcome.notes)
    items = [item["path"] for item in outcome.items]
    assert "/2/" in outcome.notes  # its callback ran
    assert "/2/" not in items  # and its items were withheld
    stats = counted(outcome)
    assert (stats["asked"], stats["remembered"], stats["released"]) == (1, 12, 12 - SAMPLE)
    assert outcome.counted()["experiments/links"] == SAMPLE
    assert outcome.counted()["items/dropped"] == 1


def test_where_they_lead_to_nothing_new_a_few_are_asked_for(walk, site):
    outcome = walk(editions(40, unique=False), "/1/", "/2/")
    assert not [item for item in outcome.items if item["path"].startswith("/2/")]
    stats = counted(outcome)
    assert stats["remembered"] == 40
    assert "released" not in stats
    made = [path for path in site.requests if path.startswith("/2/") and path != "/2/"]
    assert len(made) == stats["checked"] + SAMPLE == 40  # of so few all are needed


def test_before_the_end_each_url_pattern_is_tested_until_two_links_lead_to_nothing_new(walk):
    lists = [f"/t/{each}" for each in range(60)]
    others = [f"/u/{each}" for each in range(12)]
    tree = {"/1/": ("start", "/a", *lists, *others), "/a": ("a",)}
    for each in lists:
        copies = [f"/copy{each}-{number}" for number in range(3)]
        tree |= {each: ("start", *copies)} | dict.fromkeys(copies, ("a",))
    for number, each in enumerate(others):
        copy, news = f"/{chr(97 + number) * 3}/x", f"/only/{number}"
        tree |= {each: ("start", copy, news) if number < 4 else ("start", copy), copy: ("a",)}
        tree[news] = (news,)
    assert {f"/only/{each}" for each in range(4)} <= {*walk(tree, "/1/").notes}


def test_the_log_says_how_many_links_were_not_followed(walk, site):
    outcome = walk(editions(ENOUGH + 30, unique=False), "/1/", "/2/")
    made = sum(path.startswith("/2/") for path in site.requests) - 1
    [told] = [line for line in outcome.logged("INFO") if "weren't followed" in line]
    assert f"/: {ENOUGH + 30 - made} links of dropped pages weren't followed; tests" in told


def test_links_that_no_request_was_spent_on_do_not_count_as_sampled():
    links = Links(Mock(), Mock(), Mock(spend=Mock(return_value=False)), None, None)
    case = Case(_key("h.test", "/"), "http://h.test/1", set(), set(), False, False, False)
    case.found = {url: scrapy.Request(url) for url in ("http://h.test/a/1", "http://h.test/b/1")}
    links.done(case)
    assert len(links._withheld) == 2
    assert not links._asked


def test_the_callback_of_a_dropped_page_whose_links_are_met_never_runs(walk):
    tree = {"/1/": ("start", "/a", "/b"), "/2/": ("start", "/b", "/a", "/2/#top")}
    outcome = walk(tree | {"/a": ("a",), "/b": ("b",)}, "/1/", "/2/")
    assert sorted(outcome.notes) == ["/1/", "/a", "/b"]
    assert not set(counted(outcome)) & {"asked", "remembered"}


def test_links_to_other_hosts_that_no_callback_follows_cost_few_callbacks(walk):
    pages = [f"/out/{number}" for number in range(100)]
    tree = {path: ("start", f"http://h{n}.example/?p{n}=1") for n, path in enumerate(pages)}
    outcome = walk(tree, *pages, spider=Reads)
    assert counted(outcome)["asked"] < 30


class Reads(Walk):
    """Follows what is written like an address of a page."""

    def page(self, response):
        self.note(response)
        for found in re.findall(r"2/\d+\.html", response.text):
            yield scrapy.Request(f"{self.site}/{found}", self.page)


@pytest.mark.parametrize("link", [
    """<a href="javascript:go('/{}')">""", """<button onclick="location.href='/{}'">""",
    """<tr onclick="go(&quot;../{}&quot;, 1)">""", '<option value="{}">',
    '<form action="/{}?a=1">', '<p data-href="./{}">', """<script>pages.push('/{}')</script>""",
])  # fmt: skip
def test_links_that_are_no_a_are_asked_about_as_well(walk, site, link):
    own = [f"2/{number}.html" for number in range(9)]
    written = "".join(link.format(each) for each in own)
    site.routes["/2/"] = page(text("start", words=80) + f"<p>{written}</p>")
    tree = {"/1/": ("start",)} | {f"/{path}": (path,) for path in own}
    outcome = walk(tree, "/1/", "/2/", spider=Reads)
    assert {f"/{path}" for path in own} <= set(outcome.notes)
    assert counted(outcome)["asked"] == 1


def test_what_the_browser_loads_is_no_link(walk, site):
    loads = '<link href="/2/a.css"><script src="/2/a.html"></script><meta content="/2/b.html">'
    site.routes["/2/"] = page(text("start", words=80) + loads)
    assert walk({"/1/": ("start",)}, "/1/", "/2/").notes == ["/1/"]


class Choosing(Walk):
    """Leaves links to another format aside."""

    def page(self, response):
        for each in super().page(response):
            if isinstance(each, dict) or "?format=" not in each.url:
                yield each


def test_pages_whose_links_the_callback_leaves_aside_test_nothing(walk):
    number = ENOUGH + 4
    tree = {f"/docs/{each}": (f"page {each}",) for each in range(number)}
    tree |= {f"/docs/{each}/print": (f"page {each}", f"/docs/{each}?format=pdf")
             for each in range(number)}  # fmt: skip
    versions = range(8)
    own = {version: [f"/v/{version}/{each}" for each in range(9)] for version in versions}
    tree |= {f"/docs/v{version}": ("start", *own[version]) for version in versions}
    paths = sorted(tree)
    tree |= {path: (path,) for below in own.values() for path in below}
    outcome = walk(tree, *paths, spider=Choosing)
    assert tree.keys() - set(paths) <= set(outcome.notes)
    assert counted(outcome)["asked"] <= NEEDED + number // EVERY + len(own)


@pytest.mark.parametrize(("settings", "runs"), [
    ({"NEARDUP_LINKS": "withhold"}, False), ({"NEARDUP_LINKS": "follow"}, True),
    ({"NEARDUP_LINKS": "withhold", "NEARDUP_EXPERIMENTS": 0}, False),
    ({"NEARDUP_EXPERIMENTS": 0}, True),
])  # fmt: skip
def test_links_are_withheld_or_followed_unasked(walk, settings, runs):
    outcome = walk(editions(6, unique=True), "/1/", "/2/", **settings)
    found = [path in outcome.notes for path in ("/2/", *(f"/2/{each}" for each in range(6)))]
    assert found == [runs] * 7
    assert not [item for item in outcome.items if item["path"] == "/2/"]
    assert not set(counted(outcome)) & {"asked", "remembered"}


@pytest.mark.parametrize("link", ["not-followed", "/met/{}"])
def test_pages_that_are_requested_again_are_tests_if_they_lead_nowhere(walk, link):
    """Many links are met in the meantime."""
    number = ENOUGH + 2 * EVERY
    tree = {f"/list/{each}": ("list", link.format(each)) for each in range(number)}
    met = {f"/met/{each}": ("met",) for each in range(number)}
    outcome = walk(tree | met | {"/all": ("all", *met)}, "/met/0", *tree, "/all", spider=Hears)
    again = counted(outcome)["requested-again"] + outcome.counted()["experiments/links"]
    assert ENOUGH <= again <= ENOUGH + EVERY


def test_those_that_lead_somewhere_are_not_outvoted_when_the_budget_is_spent(walk):
    number = 2 * ENOUGH + EVERY
    rare = {f"/rare/{each}": (f"{each}",) for each in range(30, number, 17)}
    tree = {
        f"/list/{each}": ("list", f"/rare/{each}" if f"/rare/{each}" in rare else "not-followed")
        for each in range(number)
    }
    outcome = walk(tree | rare, *tree, spider=Hears)
    assert rare.keys() <= {item["path"] for item in outcome.items}


def test_what_a_failing_callback_has_yielded_is_asked_for_all_the_same(walk):
    outcome = walk(editions(6, unique=True), "/1/", "/2/", fails=["/2/"])
    assert {f"/2/{each}" for each in range(6)} <= set(outcome.notes)


def test_a_page_that_cannot_be_judged_counts_as_new(walk, site):
    own = {f"/2/{each}": EMPTY for each in range(6)}
    site.routes |= own
    outcome = walk(editions(6, unique=True), "/1/", "/2/")
    assert own.keys() <= set(site.requests)
    assert counted(outcome)["remembered"] == 6


def test_a_claim_that_the_last_pages_contradict_hides_no_link(walk):
    """With ``report``, the default, claims learn from many pages at once."""
    tree = {}
    for number in range(LESSON // 2):
        tree |= {f"/p/{number}": (f"{number}",), f"/p/{number}?sid={number}": (f"{number}",)}
    last = {"/a": ("start", "/copy"), "/b": ("start", "/copy", "/c", "/p/1?sid=new"), "/c": ("0",)}
    last |= {"/copy": ("1",), "/p/1?sid=new": ("own",), "/p/2?sid=new": ("own too",)}
    outcome = walk(tree | last, *tree, "/a", "/b", "/p/2?sid=new", NEARDUP_URLS="report")
    assert outcome.counted(ours="neardup/urls/")["rules-begun"]
    assert "/p/1?sid=new" in outcome.notes


def lists(number):
    """Return many lists that repeat one, each with a link to a copy that nobody has met."""
    tree = {"/list/0": ("list", "/real")}
    tree |= {f"/list/{each}": ("list", f"/copy/{each}") for each in range(1, number)}
    return tree | {f"/copy/{each}": ("real",) for each in range(1, number)} | {"/real": ("real",)}


def test_once_it_is_confirmed_one_page_of_twenty_is_asked(walk):
    number = NEEDED + ENOUGH + 5 * EVERY
    paths = [f"/list/{each}" for each in range(number)]
    outcome = walk(lists(number), "/real", *paths, NEARDUP_EXPERIMENTS=1)
    asked = counted(outcome)["asked"]
    assert ENOUGH <= asked < ENOUGH + 5  # of each page one link, and the rest before the end
    [told] = [line for line in outcome.logged("INFO") if "weren't tested" in line]
    left = f"/list/: {number - 1 - asked} dropped pages weren't tested; "
    assert f"{left}tests in a row that found nothing new: " in told
    assert any("lead to nothing new: from now on" in line for line in outcome.logged("INFO"))
    assert not [path for path in outcome.notes if path.startswith("/copy/")]


def exceptions(number):
    """Return lists that lead to copies at first, and later to pages of their own."""
    tree = lists(number)
    return tree | {f"/copy/{each}": (f"own {each}",) for each in range(NEEDED + 2, number)}


def test_pages_that_were_not_asked_are_requested_again_once_one_leads_to_news(walk):
    number = NEEDED + 2 * EVERY
    paths = [f"/list/{each}" for each in range(number)]
    outcome = walk(exceptions(number), "/real", *paths, spider=Hears, NEARDUP_EXPERIMENTS=1)
    assert any("lead to nothing new: from now on" in line for line in outcome.logged("INFO"))
    delivered = [item["path"] for item in outcome.items]
    assert {f"/copy/{each}" for each in range(NEEDED + 2, number)} <= set(delivered)
    assert counted(outcome)["requested-again"] > 0
    assert [path for path in delivered if path.startswith("/list/")] == ["/list/0"]
    failed = [note["failed"] for note in outcome.notes if isinstance(note, dict)]
    assert len(failed) == len(set(failed)) > 0  # no errback hears of a page twice


def test_new_pages_whose_addresses_have_a_part_without_effect_end_a_claim(walk):
    few, number = NEEDED + ENOUGH, NEEDED + ENOUGH + 3 * EVERY
    known = [f"/p/{each}{sid}" for each in range(NEEDED + LENT) for sid in ("", "?sid=1")]
    tree = {path: (path.partition("?")[0],) for path in known} | lists(few)
    own = {f"/own/{each}?sid=1": (f"own {each}",) for each in range(few, number)}
    tree |= {f"/list/{each}": ("list", f"/own/{each}?sid=1") for each in range(few, number)}
    found = walk(tree | own, *tree, NEARDUP_URLS="skip", NEARDUP_EXPERIMENTS=1).notes
    assert own.keys() <= set(found)


def test_a_link_with_parameters_that_no_sample_had_is_asked_whatever_is_known(walk):
    number = NEEDED + 5
    tree = lists(number)
    tree |= {f"/list/{number}": ("list", "/week?of=1"), "/week?of=1": ("one", "/week?of=2")}
    tree["/week?of=2"] = ("two",)
    paths = [f"/list/{each}" for each in range(number + 1)]
    outcome = walk(tree, "/real", *paths, NEARDUP_EXPERIMENTS=1)
    assert any("lead to nothing new: from now on" in line for line in outcome.logged("INFO"))
    assert {"/week?of=1", "/week?of=2"} <= set(outcome.notes)


def test_experiments_have_a_budget_and_the_end_of_the_crawl_asks_for_what_lacks(walk, site):
    paths = [f"/list/{each}" for each in range(40)]
    outcome = walk(lists(40), "/real", *paths)
    assert outcome.counted()["experiments/links"] <= HANDFUL
    made = {path for path in site.requests if path.startswith("/copy/")}
    assert len(made) == 39 < ENOUGH  # of so few all are needed


def test_a_copy_with_new_links_counts_once_one_of_these_leads_to_a_copy(walk, site):
    number = 2 * ENOUGH
    tree = lists(number)
    for each in range(1, number):
        tree[f"/copy/{each}"] = ("real", f"/deep/{each}")
        tree[f"/deep/{each}"] = ("real", f"/deeper/{each}")
        tree[f"/deeper/{each}"] = ("real",)
    outcome = walk(tree, "/real", *(f"/list/{each}" for each in range(number)))
    made = {path for path in site.requests if path.startswith(("/copy/", "/deep"))}
    assert len([path for path in made if path.startswith("/deep/")]) >= LENT
    assert ENOUGH <= len(made) <= ENOUGH + HANDFUL
    assert not made & {item["path"] for item in outcome.items}


class Posting(Walk):
    """Asks for what a page stands for by a form as well, all of them at one address."""

    def page(self, response):
        yield from super().page(response)
        own = self.path_of(response).encode()
        yield scrapy.Request(self.site + "/form", self.page, method="POST", body=own)


def test_forms_of_a_page_that_is_asked_are_sent(walk, site):
    tree = {f"/list/{each}": ("list", f"/mail/{each}") for each in range(9)}
    tree |= {f"/mail/{each}": ("mail",) for each in range(9)}
    outcome = walk(tree | {"/form": ("form",)}, *(f"/list/{each}" for each in range(9)),
                   spider=Posting)  # fmt: skip
    assert site.requests.count("/form") >= 9
    assert outcome.counted()["pages/dropped"] == 16


class Pausing(Walk):
    """Ends the crawl with the page that is dropped."""

    def page(self, response):
        yield from super().page(response)
        if response.url.endswith("/2/"):
            raise CloseSpider("a pause")


class Idles(Walk):
    """Notes how often the crawl has nothing to do."""

    hears: ClassVar = {"idle": scrapy.signals.spider_idle}

    def idle(self):
        self.notes.append("idle")


def test_links_that_no_page_answers_are_made_in_few_steps(walk, site):
    gone = [f"/gone/{number}" for number in range(1000)]
    site.routes = dict.fromkeys(gone, Answer("", status=404))
    outcome = walk({"/1/": ("start",), "/2/": ("start", *gone)}, "/1/", "/2/", spider=Idles)
    assert set(gone) <= set(site.requests)
    assert outcome.notes.count("idle") < 10


def test_what_is_remembered_goes_on_after_a_pause(walk, tmp_path):
    tree = editions(30, unique=False)
    tree["/2/29"] = ("a page of its own",)
    first = walk(tree, "/1/", "/2/", spider=Pausing, JOBDIR=str(tmp_path))
    assert first.reason == "a pause"
    assert counted(first)["remembered"] == 30
    assert (tmp_path / "neardup.claims").exists()
    outcome = walk(tree, JOBDIR=str(tmp_path))
    assert "/2/29" in outcome.notes
    assert counted(outcome)["checked"]


@pytest.mark.parametrize("first", [withheld.FIRST, 1_000])
def test_a_filter_forgets_no_url_and_still_knows_new_ones_when_it_is_large(monkeypatch, first):
    monkeypatch.setattr(withheld, "FIRST", first)
    met = withheld.MetFilter()
    for number in range(20_000):
        for _ in range(2):  # most are found several times
            met.add(f"http://e.com/{number}")
    assert not any(met.is_new(f"http://e.com/{number}") for number in range(20_000))
    assert sum(met.is_new(f"http://e.com/new/{number}") for number in range(20_000)) > 19_700


@pytest.mark.parametrize("counter", ["downloader/request_count", "scheduler/dequeued"])
def test_a_budget_is_a_share_of_the_requests_whoever_counts_them_or_a_handful(counter):
    crawler = Crawler(Visit)
    crawler.stats = stats = MemoryStatsCollector(crawler)
    budget = OwnRequests(crawler, 0.02)
    assert sum(budget.spend("one", most=0.5) for _ in range(100)) == HANDFUL / 2
    assert sum(budget.spend("other", most=1) for _ in range(100)) == HANDFUL / 2
    stats.set_value(counter, 10_000)
    assert sum(budget.spend("other", most=1) for _ in range(1_000)) == 200 - HANDFUL
    assert stats.get_value("neardup/experiments/one") == HANDFUL / 2
    assert not OwnRequests(crawler, 0).spend("one", most=1)
