"""URL rules in crawls: what is skipped, what never is, what is requested after all."""

import itertools

import pytest
import scrapy
from audits import verdicts
from crawl_spiders import Visit
from redis_servers import shared_server
from scrapy.exceptions import IgnoreRequest
from scrapy_neardup.crawl.dust.skipping import MAX_WAITING
from scrapy_neardup.crawl.dust.skips import MAX_IN_A_ROW, Skips
from scrapy_neardup.dust.host import Host
from scrapy_neardup.dust.urlrule import PARAMETER, SEGMENT, Rule
from site_server import Answer, page, text

from scrapy_neardup import signals
from scrapy_neardup.crawl.downloadermiddleware import NearDuplicateDownloaderMiddleware
from scrapy_neardup.crawl.experiments.refetch import DUE

SID = Rule(PARAMETER, "sid")
PRINT = Rule(SEGMENT, "print", None, 0)
MANY = 2 * SID.checks
SKIP = {"NEARDUP_URLS": "skip", "NEARDUP_URLS_EXPLORE": 0}
names = (f"rules{number}" for number in itertools.count())


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
    """Hears of skipped requests, by the signal and by its errback."""

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


def told(outcome):
    """Return which paths a callback saw, and which were skipped."""
    seen = [note for note in outcome.notes if isinstance(note, str)]
    return seen, [note[0] for note in outcome.notes if not isinstance(note, str)]


def test_what_a_rule_knows_is_not_requested(crawl, site, tmp_path):
    paths = show(site, *variants(range(MANY)))
    audit = tmp_path / "audit.jsonl"
    outcome = crawl(Listener, *paths, settings=SKIP | {"NEARDUP_AUDIT": str(audit)})
    seen, skipped = told(outcome)
    assert seen == [path for path in paths if "?" not in path]
    counted = outcome.counted(ours="neardup/urls/")
    assert len(skipped) == counted["skipped"] == MANY - SID.needed
    assert counted["requested-again"] == SID.checks - SID.needed
    assert paths[-1] in site.requests  # the last one is always made
    assert outcome.requested == 1 + MANY + SID.checks
    assert any("?sid=… has no effect" in line for line in outcome.logged("INFO"))
    lines = [line for line in verdicts(audit) if line.get("event") == "skipped"]
    assert [line["page"] for line in lines] == [site.url + path for path in skipped]
    assert lines[0]["rules"] == [str(SID)]


class Fragments(Listener):
    """Finds one variant under two fragments."""

    def page(self, response):
        yield from super().page(response)
        if response.url.endswith("/p/last"):
            yield self.request(response, "/p/1?sid=9#a", 0)
            yield self.request(response, "/p/1?sid=9#b", 0)


def test_urls_that_differ_in_their_fragment_are_one(crawl, site):
    paths = show(site, *variants(range(MANY)), "/p/last")
    site.routes["/p/1?sid=9"] = site.routes["/p/1"]
    outcome = crawl(Fragments, *paths, settings=SKIP)
    assert outcome.counted(ours="neardup/urls/")["skipped"] == MANY - SID.needed + 1


def test_a_report_skips_nothing_and_says_what_it_would(crawl, site):
    paths = show(site, *variants(range(MANY)))
    outcome = crawl(Listener, *paths)
    assert outcome.requested == 1 + len(paths)
    assert not told(outcome)[1]
    counted = outcome.counted(ours="neardup/urls/")
    assert counted.pop("patterns-spent") == 1  # /p/N?sid=
    assert counted == {"saveable": MANY - SID.needed, "rules-begun": 1}
    [line] = [line for line in outcome.logged("INFO") if line.startswith("URL rules")]
    assert f"{MANY - SID.needed:,} requests" in line


def test_nothing_is_learnt_where_it_is_off(crawl, site):
    outcome = crawl(Listener, *show(site, *variants(range(20))), settings={"NEARDUP_URLS": "off"})
    assert not outcome.counted(ours="neardup/urls/")


def test_a_contradiction_ends_the_rule_and_brings_back_what_it_skipped(crawl, site):
    paths = variants(range(20))
    last = "/p/3?sid=7"  # found to be new when the crawl would have ended
    other = {path: f"own {path}" for path in paths[-4:] if "?" in path}
    show(site, *paths, last, text_of=other)
    outcome = crawl(Listener, *paths, last, settings=SKIP, errors=False)
    seen, _ = told(outcome)
    assert set(other) <= set(seen)
    assert outcome.counted()["urls/rules-ended"] == 1
    assert any("ends, as two pages contradict it" in line for line in outcome.logged("WARNING"))
    assert outcome.requested == 1 + len(paths) + 1


def test_what_is_explored_is_fetched(crawl, site):
    paths = show(site, *variants(range(20)))
    outcome = crawl(Listener, *paths, settings=SKIP | {"NEARDUP_URLS_EXPLORE": 1})
    assert not told(outcome)[1]
    assert outcome.requested == 1 + len(paths)


def test_no_more_than_sixty_in_a_row_are_skipped(crawl, site):
    paths = show(site, *variants(range(SID.needed + 2 * MAX_IN_A_ROW + 2)))
    outcome = crawl(Listener, *paths, settings=SKIP | {"NEARDUP_URLS_EXPLORE": 1e-7})
    assert outcome.counted()["urls/explored"] == 2


def test_a_printed_page_waits_for_its_original_and_comes_at_the_end_if_there_is_none(crawl, site):
    pairs = [path for n in range(MANY) for path in (f"/p/{n}", f"/print/p/{n}")]
    show(site, "/p/late", "/p/none", *pairs)
    for path in ("/print/p/late", "/print/p/none", *pairs):
        site.routes[path] = site.routes[path.removeprefix("/print")]
    paths = [*pairs, "/print/p/late", "/print/p/none", "/p/late"]
    outcome = crawl(Visit, *paths, settings=SKIP | {"CONCURRENT_REQUESTS": 1})
    seen = outcome.notes
    assert seen.index("/p/late") < seen.index("/print/p/none")
    assert "/print/p/late" not in seen


class Printing(Visit):
    """Finds printed pages after their originals, and asks for them first."""

    def page(self, response):
        yield from super().page(response)
        if response.url.endswith("/p/start"):
            for path in ("/p/gone", *(f"/p/{number}" for number in range(PRINT.needed - 2))):
                yield scrapy.Request(response.urljoin(path), self.page)
                yield scrapy.Request(response.urljoin(f"/print{path}"), self.page, priority=1)


def test_before_there_is_a_rule_a_printed_page_waits_for_its_original(crawl, site):
    show(site, "/p/start", *(f"/p/{number}" for number in range(PRINT.needed - 2)))
    for path in list(site.routes):
        site.routes[f"/print{path}"] = site.routes[path]
    site.routes["/print/p/gone"] = page(text("left", words=80))
    outcome = crawl(Printing, "/p/start", settings=SKIP | {"CONCURRENT_REQUESTS": 1})
    for number in range(PRINT.needed - 2):
        asked = [site.requests.index(f"{by}/p/{number}") for by in ("", "/print")]
        assert asked == sorted(asked)
    assert site.requests.index("/p/gone") < site.requests.index("/print/p/gone")
    assert outcome.notes[-1] == "/print/p/gone"


class Forgetting(Visit):
    """Finds a page and its variant; then its host forgets all pages, and no rule is checked."""

    def closed(self, reason):
        self.patch.undo()

    def page(self, response):
        yield from super().page(response)
        if response.url.endswith("/p/both"):
            yield scrapy.Request(response.urljoin("/p/late"), self.page)
            yield scrapy.Request(response.urljoin("/p/late?sid=2"), self.page, priority=1)
        if response.url.endswith("/p/forget"):
            self.patch = pytest.MonkeyPatch()
            self.patch.setattr(Host, "sparing", lambda *_: None)
            self.patch.setattr(Skips, "unchecked", lambda _: [])


def test_what_waited_for_a_page_is_settled_when_that_comes(crawl, site):
    paths = [*variants(range(MANY)), "/p/both", "/p/forget"]
    show(site, *paths, "/p/late", "/p/late?sid=2")
    crawl(Forgetting, *paths, settings=SKIP | {"CONCURRENT_REQUESTS": 1})
    assert "/p/late" in site.requests
    assert "/p/late?sid=2" not in site.requests


class Insisting(Visit):
    """Asks in ways that no rule may refuse, one of them at the start."""

    async def start(self):
        yield scrapy.Request(f"{self.site}/start.json", self.parse)
        yield scrapy.Request(f"{self.site}/p/0?sid=start", self.page, priority=-(10**6))

    def request(self, response, path, priority):
        request = super().request(response, path, priority)
        if "sid=again" in path:
            return request.replace(dont_filter=True)
        if "sid=skip" in path:
            request.meta["neardup_skip"] = True
        return request


def test_what_is_asked_for_explicitly_is_never_skipped(crawl, site):
    paths = [*variants(range(MANY)), "/p/1?sid=again", "/p/2?sid=skip"]
    show(site, *paths, "/p/0?sid=start")
    crawl(Insisting, *paths, settings=SKIP)
    assert {"/p/0?sid=start", "/p/1?sid=again", "/p/2?sid=skip"} <= set(site.requests)


class Failing(Visit):
    def page(self, response):
        if response.url.endswith("/p/bad"):
            raise ValueError("as it happens")
        yield from super().page(response)


@pytest.mark.parametrize("begins", [True, False])
def test_what_was_skipped_for_a_page_that_failed_is_requested(crawl, site, begins):
    """Whether it failed before there was a rule, or under one."""
    bad, variant = variants(["bad"])
    paths = [bad, *variants(range(MANY))] if begins else [*variants(range(MANY)), bad]
    show(site, *paths, variant)
    settings = SKIP | {"CONCURRENT_REQUESTS": 1}
    assert variant in crawl(Failing, *paths, variant, settings=settings, errors=True).notes


def test_what_was_skipped_for_a_page_that_never_came_is_requested(crawl, site):
    paths = show(site, *variants(range(MANY)), *variants(["gone"]))
    site.routes["/p/gone"] = Answer("gone", status=404)
    outcome = crawl(Visit, *paths, settings=SKIP | {"CONCURRENT_REQUESTS": 1})
    assert "/p/gone?sid=1" in outcome.notes


class Crowding(Visit):
    """Finds many variants of a page while it is scheduled."""

    def page(self, response):
        yield from super().page(response)
        if response.url.endswith("/p/crowd"):
            for path in ("/p/gone", *crowd):
                yield scrapy.Request(response.urljoin(path), self.page)
            judging = self.crawler.get_downloader_middleware(NearDuplicateDownloaderMiddleware)
            lists = judging.session.url_rules._pending.values()
            assert max(map(len, lists)) == 1 + MAX_WAITING


crowd = [f"/p/gone?sid={number}" for number in range(2 * MAX_WAITING)]


def test_of_many_that_wait_for_one_page_few_are_listed_and_none_is_lost(crawl, site):
    paths = show(site, *variants(range(MANY)), "/p/crowd")
    show(site, *crowd, text_of={path: path for path in crowd})
    site.routes["/p/gone"] = Answer("gone", status=404)
    crawl(Crowding, *paths, settings=SKIP | {"CONCURRENT_REQUESTS": 1})
    assert set(crowd) <= set(site.requests)


def test_a_page_that_failed_is_all_that_is_forgotten(crawl, site):
    paths = show(site, *variants(range(MANY)))
    site.routes["/p/gone"] = Answer("gone", status=404)
    again = show(site, *(f"/p/{number}?sid=2" for number in range(MANY)))
    settings = SKIP | {"CONCURRENT_REQUESTS": 1}
    outcome = crawl(Visit, *paths, "/p/gone", *again, settings=settings)
    counted = outcome.counted(ours="neardup/urls/")
    assert counted["skipped"] == 2 * MANY - SID.needed
    assert counted["requested-again"] == SID.checks - SID.needed


class Twice(Visit):
    """Finds a variant again once it is scheduled."""

    def page(self, response):
        yield from super().page(response)
        if response.url.endswith("/p/again"):
            yield scrapy.Request(response.urljoin("/p/late?sid=1"), self.page)


def test_a_scheduled_request_that_is_found_again_is_requested_after_all(crawl, site):
    paths = [*variants(range(SID.needed)), "/p/late", "/p/again", "/p/late?sid=1"]
    show(site, *paths, text_of={"/p/late?sid=1": "own"})
    outcome = crawl(Twice, *paths, settings=SKIP | {"CONCURRENT_REQUESTS": 1})
    assert outcome.notes[-1] == "/p/late?sid=1"


class Following(Visit):
    """Finds the variants one after the other, on the pages themselves."""

    def parse(self, response):
        yield scrapy.Request(response.urljoin(self.paths[0]), self.page)

    def page(self, response):
        self.note(response)
        number = self.paths.index(self.path_of(response))
        yield from (
            scrapy.Request(response.urljoin(path), self.page, priority="?" in path)
            for path in self.paths[number + 1 : number + 3]
        )


def test_a_request_that_is_skipped_when_it_is_found_is_not_scheduled(crawl, site):
    outcome = crawl(Following, *show(site, *variants(range(MANY))), settings=SKIP)
    assert outcome.stats["scheduler/enqueued"] == 1 + MANY + SID.checks


@pytest.mark.parametrize("goes_on", ["a run that is resumed", "a crawler of the same store"])
def test_another_one_goes_on_with_the_rules(crawl, site, tmp_path, goes_on):
    first, second = variants(range(MANY)), variants(range(100, 120))
    show(site, *first, *second)
    settings = SKIP | {"JOBDIR": str(tmp_path)}
    if "store" in goes_on:
        settings = SKIP | {"NEARDUP_STORE": shared_server().uri, "NEARDUP_NAMESPACE": next(names)}
    crawl(Visit, *first, settings=settings)
    assert crawl(Visit, *second, settings=settings).counted()["urls/skipped"] == 20


def test_what_was_skipped_before_a_pause_is_requested_if_its_rule_ends(crawl, site, tmp_path):
    paths, contradiction = variants(range(20)), "/p/3?sid=7"
    show(site, *paths, contradiction, text_of={paths[-1]: "other"})
    settings = SKIP | {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
    first = crawl(Listener, *paths, settings=settings | {"CLOSESPIDER_PAGECOUNT": 24})
    assert first.reason == "closespider_pagecount"
    skipped = told(first)[1]
    assert skipped
    site.routes[contradiction] = page(text("own", words=80))
    assert crawl(Listener, contradiction, settings=settings).counted()["urls/rules-ended"] == 1
    assert set(skipped) <= set(site.requests)


class Local(Listener):
    """Yields requests that no disk can hold."""

    def request(self, response, path, priority):
        request = super().request(response, path, priority)
        request.meta["local"] = lambda: path
        return request


def test_a_skipped_request_that_cannot_be_pickled_is_left_out(crawl, site, tmp_path):
    paths = show(site, *variants(range(MANY)))
    more = show(site, "/p/new", "/p/0?sid=2")
    settings = SKIP | {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
    assert crawl(Local, *paths, settings=settings).counted()["urls/skipped"]
    assert crawl(Listener, *more, settings=settings).counted()["urls/skipped"] == 1


def test_what_was_skipped_in_a_row_counts_over_a_pause(crawl, site, tmp_path):
    before, after = 40, MAX_IN_A_ROW - 10
    paths = show(site, *variants(range(SID.needed + before + after)))
    settings = SKIP | {"NEARDUP_URLS_EXPLORE": 1e-7, "CONCURRENT_REQUESTS": 1}
    settings |= {"JOBDIR": str(tmp_path)}
    pages = {"CLOSESPIDER_PAGECOUNT": 1 + 2 * SID.needed + before + len(DUE)}
    first = crawl(Listener, *paths, settings=settings | pages)
    assert before - 2 <= len(told(first)[1]) <= before + 2
    assert crawl(Listener, settings=settings).counted()["urls/explored"] == 1


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


def test_a_pattern_without_news_gets_a_lower_priority_and_an_end(crawl, site):
    paths = months(site, 120)
    settings = SKIP | {"NEARDUP_PATTERN_BUDGET": 10, "NEARDUP_ACTION": "flag"}
    outcome = crawl(Following, *paths, settings=settings | {"CONCURRENT_REQUESTS": 1})
    counted = outcome.counted(ours="neardup/urls/")
    assert counted["patterns-spent"] == 1
    assert counted["out-of-budget"] > 30
    assert len({path for path in site.requests if path.startswith("/thread/")}) == 120
    assert any("/month/N, further ones bring next" in line for line in outcome.logged("INFO"))


def test_a_spent_pattern_stays_so_over_a_pause(crawl, site, tmp_path):
    paths = months(site, 100)
    settings = {"NEARDUP_PATTERN_BUDGET": 5, "NEARDUP_ACTION": "flag", "CONCURRENT_REQUESTS": 1}
    settings |= {"JOBDIR": str(tmp_path)}
    assert crawl(Following, *paths[:140], settings=settings).counted()["urls/patterns-spent"] == 1
    counted = crawl(Following, *paths[140:], settings=settings).counted(ours="neardup/urls/")
    assert "patterns-spent" not in counted
    assert counted["out-of-budget"] > 20
