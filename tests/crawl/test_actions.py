"""What is done about a near-duplicate, and told about it."""

import pickle
import re
from typing import ClassVar

import pytest
from audits import verdicts
from crawl_spiders import TOGETHER, Copies, Follow, RuleSpider, Starts, Visit
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from site_server import page, text

from scrapy_neardup import signals
from scrapy_neardup.crawl.callbacks import EVERY, TESTS
from scrapy_neardup.verdict import Decision, Reason, Verdict


@pytest.fixture
def linked(site):
    """Two near-duplicates that lead to two pages each."""
    for variant in (1, 2):
        links = (f"/l{variant}/1", f"/m{variant}/1", f"/l{variant}/1#again", "mailto:a@b.test")
        site.routes[f"/a/{variant}"] = page(text("a", variant), *links)
    return "/a/1", "/a/2"


BY_FIRST = ["/l1/1", "/m1/1"]
BY_BOTH = [*BY_FIRST, "/l2/1", "/m2/1"]


def test_drop(crawl, linked):
    outcome = crawl(Follow, *linked, settings={"NEARDUP_LINKS": "withhold"})
    assert outcome.notes == ["/a/1", *BY_FIRST]
    counted = outcome.counted()
    assert sum(counted.pop(f"distance/{n}", 0) for n in range(4)) == 1
    assert counted == {
        "pages/checked": 5, "pages/new": 3, "pages/duplicate": 1, "pages/dropped": 1,
        "rule/equal": 1, "links/withheld": 2, "unjudged/not-html": 1,
    }  # fmt: skip
    assert outcome.stats["response_received_count"] == 5
    assert "spider_exceptions/count" not in outcome.stats
    assert outcome.reason == "finished"


@pytest.mark.parametrize(("action", "led_to", "has_item", "stats"), [
    ("drop-links", BY_FIRST, True, {"requests/dropped": 3}),
    ("drop-items", BY_BOTH, False, {"items/dropped": 1}),
    ("deprioritize", BY_BOTH, True, {"requests/deprioritized": 3}),
    ("flag", BY_BOTH, True, {"links/withheld": 2}),  # a dry run
])  # fmt: skip
def test_other_actions(crawl, linked, *, action, led_to, has_item, stats):
    outcome = crawl(Follow, *linked, NEARDUP_ACTION=action, NEARDUP_PRIORITY_ADJUST="-1000000")
    notes = ["/a/1", "/a/2", *led_to]
    assert sorted(outcome.notes) == sorted(notes)
    if action == "deprioritize":
        assert outcome.notes == notes
    assert ({"path": "/a/2"} in outcome.items) == has_item
    withheld = ("requests/dropped", "items/dropped", "links/withheld", "pages/dropped",
                "requests/deprioritized")  # fmt: skip
    counted = outcome.counted()
    assert {name: counted[name] for name in withheld if name in counted} == stats


def test_an_address_that_many_dropped_pages_lead_to_is_withheld_once(crawl, site, audit):
    paths = {f"/a/{number}": page(text("a", number), "/l/1", "/l/1#x", f"/m/{number}")
             for number in range(1, 5)}  # fmt: skip
    site.routes |= paths
    outcome = crawl(Visit, *paths, settings={"NEARDUP_AUDIT": str(audit)})
    assert outcome.counted()["links/withheld"] == 1 + 3
    links = [line.get("links") for line in verdicts(audit) if line["verdict"] != "unjudged"]
    assert links == [None, 2, 1, 1]
    [first] = [line for line in outcome.logged("INFO") if line.startswith("Near-duplicate page")]
    assert first.endswith(f"at level DEBUG; 'scrapy-neardup report {audit}' shows them")


class Inspect(Visit):
    """Notes what a callback and a signal handler get to see of verdicts."""

    hears: ClassVar = {"near_duplicate": signals.near_duplicate}

    def near_duplicate(self, response, verdict, spider):
        assert spider is self
        assert verdict is response.meta["neardup"]
        self.note(response, "signal", verdict.match.url.removeprefix(self.site))

    def page(self, response):
        verdict = response.meta["neardup"]
        assert isinstance(verdict, Verdict)
        assert pickle.loads(pickle.dumps(verdict)) == verdict
        self.note(response, verdict.decision, verdict.reason)


def test_the_verdict_is_in_the_meta_and_in_the_signal(crawl):
    outcome = crawl(Inspect, "/a/1", "/a/2", "/data.json", settings={"NEARDUP_ACTION": "flag"})
    assert outcome.notes == [
        ["/a/1", Decision.NEW, Reason.UNMATCHED],
        ["/a/2", "signal", "/a/1"],
        ["/a/2", Decision.DUPLICATE, Reason.NEAR],
        ["/data.json", Decision.UNJUDGED, Reason.NOT_HTML],
    ]


class Inherit(Visit):
    """Copies `response.meta` to every child, POST and failing requests among them."""

    def page(self, response):
        for href in response.css("a::attr(href)").getall():
            method = "POST" if "post" in href else "GET"
            meta = response.meta | {"dont_retry": True}
            yield response.follow(href, self.child, method, errback=self.failed, meta=meta)

    def child(self, response):
        verdict = response.meta.get("neardup")
        self.note(response, verdict and verdict.decision)

    def failed(self, failure):
        self.notes.append(["failed", failure.request.meta.get("neardup")])


def test_children_that_copy_the_meta_do_not_inherit_the_verdict(crawl, site):
    site.routes["/a/1"] = page(text("a"), "/b/1", "/post/1", "http://127.0.0.1:1/")
    notes = sorted(crawl(Inherit, "/a/1").notes, key=str)
    assert notes == [["/b/1", Decision.NEW], ["/post/1", None], ["failed", None]]


class StartHere(Copies, Starts):
    pass


def test_start_requests_are_judged_and_never_dropped(crawl, site):
    site.routes["/a/1"] = page(text("a"), "/a/3", "/b/2")
    paths = "/a/1", "/a/2", "/b/1"
    outcome = crawl(StartHere, *paths)
    assert outcome.notes == ["/a/1", "/a/2", "/b/1"]  # and neither /a/3 nor /b/2
    assert outcome.pages("kept-start", "dropped") == [1, 2]

    outcome = crawl(StartHere, *paths, settings={"NEARDUP_KEEP_START": "False"})
    assert outcome.notes == ["/a/1", "/b/1"]
    assert outcome.pages("dropped") == [3]

    site.routes["/a/3"] = page(text("a"), "/a/4")
    outcome = crawl(StartHere, "/a/1", settings={"NEARDUP_START_DEPTH": 1})
    assert sorted(outcome.notes) == ["/a/1", "/a/3", "/b/2"]  # not /a/4, two levels below


def test_the_first_drop_is_logged_at_info_and_the_rest_at_debug(crawl, site):
    outcome = crawl(Visit, "/a/1", "/a/2", "/a/3", "/a/4")
    ours = "scrapy_neardup.crawl.reporting"
    [first] = outcome.logged("INFO", ours)
    rest = outcome.logged("DEBUG", ours)
    assert first.endswith("at level DEBUG; NEARDUP_AUDIT = 'audit.jsonl' would list them")
    for number, line in zip((2, 3, 4), (first.partition(";")[0], *rest), strict=True):
        assert re.fullmatch(
            rf"Near-duplicate page \(drop\): {site.url}/a/{number} repeats {site.url}/a/1"
            r" \(distance \d, resemblance \d\.\d+\)",
            line,
        )


BOTH = ["/print/1", "/print/2", "/a/1", "/a/2"]


@pytest.mark.parametrize(("paths", "prefer", "delivered"), [
    (BOTH, "first", ["/print/1", "/print/2"]),
    (BOTH, "canonical", BOTH),
    (["/a/1", "/print/1"], "canonical", ["/a/1"]),  # one that names another comes later
])  # fmt: skip
def test_it_is_compared_with_that_one_first(crawl, site, *, paths, prefer, delivered):
    for number in (1, 2):
        link = f'<link rel="canonical" href="/a/{number}">'
        site.routes[f"/print/{number}"] = page(text(f"{number}"), title="An article", head=link)
        site.routes[f"/a/{number}"] = page(text(f"{number}", 1), title="An article", head=link)
    outcome = crawl(Visit, *paths, settings={"NEARDUP_PREFER": prefer})
    assert sorted(outcome.notes) == sorted(delivered)


class Two(Visit):
    """Reads paths with ``?of`` with another callback."""

    def request(self, response, path, priority):
        callback = self.other if "?of" in path else self.page
        return super().request(response, path, priority).replace(callback=callback)

    def other(self, response):
        self.note(response, "other")
        self.fail_for(response)


OF = ["/a/4?of", "other"]


@pytest.mark.parametrize(("paths", "fails", "delivered"), [
    (("/a/1", "/a/2", "/a/3?of", "/a/4?of", "/a/5"), (), ["/a/1", ["/a/3?of", "other"]]),
    (("/a/4?of", "/a/3?of", "/a/1", "/a/2"), (), [OF, "/a/1"]),
    (("/a/1", "/a/3?of", "/a/4?of", "/a/5?of"), ("/a/3?of",),
     ["/a/1", ["/a/3?of", "other"], OF]),
])  # fmt: skip
def test_a_callback_sees_each_page_once_whatever_others_have_seen(crawl, paths, fails, delivered):
    outcome = crawl(Two, *paths, fails=fails, errors=bool(fails))
    assert outcome.notes == delivered
    assert outcome.counted()["pages/kept-callback"] == len(delivered) - 1


class Flagged(Visit):
    """Yields items of paths with ``?item`` alone, as a keyword argument says."""

    def request(self, response, path, priority):
        request = super().request(response, path, priority)
        return request.replace(cb_kwargs={"is_item": "?item" in path, "path": path})

    def page(self, response, is_item, path):
        yield from ({"path": path},) if is_item else ()


def test_calls_of_one_callback_are_told_apart_by_flags_alone(crawl):
    outcome = crawl(Flagged, "/a/1", "/a/2", "/a/3?item", "/a/4?item", "/a/5")
    assert [item["path"] for item in outcome.items] == ["/a/3?item"]
    assert outcome.pages("dropped", "kept-callback") == [3, 1]


def test_what_callbacks_have_seen_is_known_after_a_pause(crawl, tmp_path):
    job = {"JOBDIR": str(tmp_path)}
    crawl(Two, "/a/1", "/b/1?of", settings=job)
    outcome = crawl(Two, "/b/2?of", "/a/2", *OF[:1], settings=job)
    assert outcome.notes == [OF]


def test_a_second_crawl_delivers_to_each_callback_what_the_first_did(crawl, tmp_path):
    store = {"NEARDUP_STORE": f"sqlite:{tmp_path / 'pages.db'}"}
    for _ in range(2):
        assert crawl(Two, "/a/1", "/a/2", *OF[:1], settings=store).notes == ["/a/1", OF]


class Some(Visit):
    """Yields items of paths with ``?item`` alone; nothing tells its requests apart."""

    def page(self, response):
        path = self.path_of(response)
        yield from ({"path": path},) if path.endswith("?item") else ()


TWICE = [path for number in range(40) for path in (f"/{number}/51", f"/{number}/52?item")]
ITEM = "/x/1?item"
SLOW = {"CONCURRENT_REQUESTS": 1}


@pytest.mark.parametrize(("paths", "lost", "settings", "counts"), [
    # Other pages have shown before that the callback yields items.
    ((ITEM, *TWICE), 0, SLOW, {"kept-test": 1, "kept-callback": 39}),
    # Nothing has; the 20th is a test.
    (TWICE, 0, SLOW, {"kept-test": 1, "kept-callback": 39, "dropped": EVERY - 1}),
    (TWICE, 0, {"NEARDUP_URLS": "skip"}, {}),
    (TWICE, 0, SLOW | {"NEARDUP_ACTION": "drop-items"}, {"kept-callback": 39}),
    (TWICE, 0, TOGETHER, {}),
    (TWICE[: EVERY + 2], 11, {}, {"dropped": 11}),
    # A page that has yielded an item is repeated.
    ((*TWICE[1::2], *TWICE[::2]), 0, {}, {"dropped": 40}),
    ((ITEM, "/a/1", "/a/2?item", "/a/3?item", "/a/4"), 1, {}, {"kept-test": 1, "dropped": 2}),
])  # fmt: skip
def test_items_of_copies_of_pages_without_are_found(crawl, paths, lost, settings, counts):
    outcome = crawl(Some, *paths, settings=settings)
    there = {path for path in paths if path.endswith("?item")}
    learnt = [line for line in outcome.logged("INFO") if "yields an item" in line]
    assert len(learnt) in ({1} if counts.get("kept-callback") else {0, 1})  # once, if several do
    items = [item["path"] for item in outcome.items]
    assert len(items) == len(set(items)) == len(there) - lost
    assert dict(zip(counts, outcome.pages(*counts), strict=True)) == counts


@pytest.mark.parametrize(("more", "tests"), [((ITEM,), TESTS + 5), ((), TESTS)])
def test_copies_without_items_are_tested_seldom(crawl, more, tests):
    copies = [f"/{number}/{variant}" for number in range(100) for variant in (151, 152)]
    assert crawl(Some, *more, *copies).pages("kept-test", "dropped") == [tests, 100 - tests]


def test_where_items_were_found_is_known_after_a_pause(crawl, tmp_path):
    job = {"JOBDIR": str(tmp_path)}
    crawl(Some, ITEM, "/1/51", "/1/52?item", settings=job)
    outcome = crawl(Some, "/2/51", "/2/52?item", settings=job)
    assert (outcome.items, outcome.pages("kept-callback")) == ([{"path": "/2/52?item"}], [1])


def test_that_a_callback_yields_items_is_known_after_a_pause(crawl, tmp_path):
    job = {"JOBDIR": str(tmp_path)}
    crawl(Some, ITEM, settings=job)
    outcome = crawl(Some, *TWICE[:10], settings=SLOW | job)
    assert outcome.pages("kept-test", "dropped") == [1, 0]
    assert len(outcome.items) == 5


class TwoWithItems(Two):
    """Yields items of paths with ``?of`` alone."""

    def page(self, response):
        self.note(response)

    def other(self, response):
        yield {"path": self.path_of(response)}


def test_a_copy_that_another_callback_gets_is_no_test(crawl):
    paths = "/2/51?of", "/1/51", "/1/52?of", "/2/52?of"
    assert crawl(TwoWithItems, *paths).pages("kept-callback", "dropped") == [1, 1]


def test_items_of_copies_of_pages_of_an_earlier_crawl_are_found(crawl, tmp_path):
    settings = SLOW | {"NEARDUP_STORE": f"sqlite:{tmp_path / 'pages.db'}"}
    first = ITEM, *TWICE[:4]
    assert len(crawl(Some, *first, settings=settings).items) == 3
    again = ITEM, TWICE[1], TWICE[0], *TWICE[2:4]  # the copy comes first, and is dropped for now
    outcome = crawl(Some, *again, settings=settings)
    assert len(outcome.items) == 3
    assert outcome.counted()["items/requested-again"] == 1


class ByRules(RuleSpider):
    """Follows links to lists, and reads items, in two formats."""

    rules = (
        Rule(LinkExtractor("/list/"), follow=True),
        Rule(LinkExtractor("/item/"), callback="item"),
        Rule(LinkExtractor("/old/"), callback="item"),
    )

    def item(self, response, **_):
        self.notes.append(response.url.rpartition("/")[2])


def test_rules_are_told_apart_by_their_callbacks(crawl, site):
    lists = [f"/list/{number}" for number in range(5)]
    items = [f"/{folder}/{number}" for number in range(5) for folder in ("item", "old")]
    site.routes |= {path: page(text(path[-1], words=90)) for path in (*lists, *items)}
    site.routes["/"] = page(text("start"), *lists, *items)
    outcome = crawl(ByRules, CONCURRENT_REQUESTS=1)
    assert sorted(outcome.notes) == [*"01234"]
    assert outcome.pages("dropped", "kept-callback") == [5, 5]


def test_pages_of_a_rule_without_a_callback_are_no_tests(crawl, site):
    paths = [f"/list/{number}" for number in range(2 * EVERY)]
    site.routes |= {path: page(text("list")) for path in paths} | {"/": page(text("a"), *paths)}
    assert crawl(ByRules).pages("kept-test", "dropped") == [0, 2 * EVERY - 1]
