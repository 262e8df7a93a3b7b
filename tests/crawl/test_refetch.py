"""Requests that are made twice: which, how, what is learnt from them, and what they cost."""

import asyncio
import itertools
import random
import time
from collections import Counter
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from audits import events
from crawl_spiders import ONE_BY_ONE, Starts, Visit
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from site_server import Answer, page, pages, show, text

from scrapy_neardup.cli.report import write_report
from scrapy_neardup.crawl.experiments.ownrequests import HANDFUL, OwnRequests
from scrapy_neardup.crawl.experiments.refetch import DUE, LATER, RESERVED, SHARE, Due, Refetches
from scrapy_neardup.errors import StoreError


def again(site):
    """Return the paths that were requested more than once."""
    counts = Counter(site.requests)
    assert max(counts.values()) <= 2, counts.most_common(3)
    return {path for path, count in counts.items() if count == 2}


def due(paths):
    return {paths[number - 1] for number in DUE}


def asked(outcome):
    return outcome.counted().get("experiments/refetched", 0)


def test_three_pages_of_a_place_are_requested_twice_and_no_callback_sees_it(crawl, site):
    paths = pages(site)
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE)
    assert again(site) == due(paths)
    assert outcome.notes == [item["path"] for item in outcome.items] == [*paths]
    assert asked(outcome) == len(DUE)
    assert outcome.pages("checked") == [1 + len(paths)]
    assert outcome.stats["downloader/request_count"] == outcome.requested + len(DUE)
    assert outcome.reason == "finished"
    for path in due(paths):
        first, second = (at for at, each in enumerate(site.requests) if each == path)
        assert second - first > LATER


def test_a_place_is_a_folder_whatever_its_numbers(crawl, site):
    months = [f"/2024/{month}/{name}" for month in range(1, 13) for name in "ab"]
    other = pages(site, "p", 5)
    show(site, *months)
    crawl(Visit, *months, *other, *show(site, "/end/1", "/fin/1", "/last/1"), settings=ONE_BY_ONE)
    assert again(site) == due(months) | {other[number - 1] for number in DUE if number <= 5}


def test_what_is_dropped_is_requested_twice_as_well(crawl, site):
    paths = [f"/same/{number}" for number in range(14)]
    one, other = (page(text(each, words=80)) for each in ("one", "other"))
    site.routes |= dict.fromkeys(paths[::2], one) | dict.fromkeys(paths[1::2], other)
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE)
    assert outcome.pages("dropped") == [len(paths) - 2]
    assert again(site) == due(paths)


def test_pages_that_are_equal_show_by_that_that_nothing_changes(crawl, site):
    paths = [f"/same/{number}" for number in range(14)]
    show(site, other := paths[7])
    crawl(Visit, *paths, settings=ONE_BY_ONE)
    assert again(site) == {other, paths[8]}  # the fifth and the ninth, or later ones


def test_a_cache_neither_answers_nor_is_written(crawl, site, tmp_path):
    paths, numbers = pages(site), itertools.count()

    counted = paths[DUE[0] - 1]
    shown = text("clock", words=80)
    site.routes[counted] = lambda _: page(f"{shown}<p>{next(numbers)} visits</p>")
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE | cache)
    assert again(site) == due(paths)
    assert outcome.stats["httpcache/store"] == 1 + len(paths)
    site.requests.clear()
    # From a cache comes what a page was at another time: that shows nothing.
    outcome = crawl(Reads, *paths, settings=ONE_BY_ONE | cache)
    assert not site.requests
    assert not asked(outcome)
    assert " 0 visits" in " ".join(dict(outcome.notes)[counted].split())


class Reads(Visit):
    """Notes what pages say."""

    def page(self, response):
        self.note(response, " ".join(response.css("body ::text").getall()))


@pytest.mark.parametrize("given", [
    {"sends": {"method": "POST", "body": "a=1"}},
    {"NEARDUP_EXPERIMENTS": 0},
    # Nothing is learnt from second responses.
    {"NEARDUP_LEARN": []}, {"NEARDUP_LEARN": ["boilerplate", "titles"]},
])  # fmt: skip
def test_forms_are_requested_once_and_so_is_all_if_nothing_can_be_learnt(crawl, site, given):
    paths = pages(site)
    outcome = crawl(Visit, *paths, **ONE_BY_ONE, **given)
    assert outcome.notes == [*paths]
    assert not again(site)
    assert asked(outcome) == 0


def test_rules_for_robots_are_asked(crawl, site):
    paths, plain = pages(site), {"Content-Type": "text/plain"}
    site.routes["/robots.txt"] = Answer("User-agent: *\nDisallow: /p/1\n", headers=plain)
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE | {"ROBOTSTXT_OBEY": True})
    allowed = [path for path in paths if not path.startswith("/p/1")]
    assert outcome.notes == allowed
    assert again(site) == {allowed[number - 1] for number in DUE if number <= len(allowed) - LATER}
    assert outcome.stats["robotstxt/request_count"] == 1


@pytest.mark.parametrize(("error", "level"), [
    (IgnoreRequest("no"), "DEBUG"), (StoreError("no"), "DEBUG"), (RuntimeError("no"), "INFO"),
])  # fmt: skip
async def test_an_experiment_that_fails_is_told_without_a_password(caplog, error, level):
    async def download(_request):
        raise error

    crawler = SimpleNamespace(stats=None, engine=SimpleNamespace(download_async=download))
    with caplog.at_level("DEBUG"):
        await OwnRequests(crawler, 0).make(Request("http://ann:secret@h.test/"), None)
    [record] = [each for each in caplog.records if "ownrequests" in each.name]
    assert record.levelname == level
    assert record.getMessage().startswith("http://h.test/ can't be requested as an experiment: ")


@pytest.mark.parametrize("is_alone", [False, True])
async def test_a_crawl_hears_what_others_have_found_before_it_ends(is_alone):
    async def hear():
        return found

    found, released = [1, 2], []
    detector = SimpleNamespace(store=SimpleNamespace(is_private=is_alone), hear=hear)
    own = OwnRequests(SimpleNamespace(stats=None), 0.02)
    refetches = Refetches(own, None, None, detector, released.extend)
    page = SimpleNamespace(verdict=SimpleNamespace(decision="new"), page_id=1)
    await refetches.judged(page, Request("http://a.test/"), None, None)
    assert refetches.idle() is not is_alone
    await asyncio.sleep(0)
    assert released == ([] if is_alone else found)
    assert not refetches.idle()
    await own.close()


async def test_the_engine_looks_whether_the_crawl_ends_once_an_experiment_does():
    scheduled = Mock()
    slot = SimpleNamespace(nextcall=SimpleNamespace(schedule=scheduled))
    own = OwnRequests(SimpleNamespace(stats=None, engine=SimpleNamespace(_slot=slot)), 0.02)
    await own.begin(asyncio.sleep(0))
    await asyncio.sleep(0)
    scheduled.assert_called_once_with()


def test_what_is_due_waits_until_there_is_a_budget_and_the_first_of_other_places_come_first():
    due, texts = Due(), itertools.count()

    def at(place):
        known = SimpleNamespace(rows=next(texts), named_rows=0, embedded=0)
        return SimpleNamespace(address=SimpleNamespace(place=place), tokens=99, known=known)

    includes = lambda place, left, **known: due.includes(at(place), left, **known)
    assert not any(includes(1, 0) for _ in range(2 * max(DUE)))
    assert includes(1, 1)
    assert not includes(1, RESERVED)
    assert [includes(2, 1) for _ in range(3)] == [False, True, False]
    due.differs(at(2))  # so a second pair there comes before the first of other places
    assert [includes(2, 1) for _ in range(3)] == [False, True, False]
    assert [includes(1, RESERVED + 1) for _ in range(4)] == [True, True, False, False]
    assert not includes(2, RESERVED, is_known=True)  # but not once what changes is known
    assert not any(includes(3, RESERVED, is_known=True) for _ in range(9))
    assert [includes(3, 9, is_known=True) for _ in range(9)] == [True] + [False] * 8


def test_where_responses_differed_a_second_pair_may_spend_what_is_reserved(crawl, site):
    changing, numbers = pages(site, "changing", max(DUE[:2])), itertools.count()
    shown = text("counted", words=80)
    site.routes[changing[DUE[0] - 1]] = lambda _: page(f"{shown}<p>{next(numbers)} visits</p>")
    budget = int(SHARE * HANDFUL) - RESERVED
    others = [pages(site, 2 * chr(97 + number), DUE[1]) for number in range(budget)]
    first, rest = [each[: DUE[0]] for each in (changing, *others[1:])], others[1][DUE[0] :]
    paths = [*sum(first, ()), *changing[DUE[0] :], *rest]
    crawl(Visit, *paths, settings=ONE_BY_ONE)
    assert again(site) == {each[DUE[0] - 1] for each in first} | {changing[DUE[1] - 1]}


def counted(site, folders, copies, counter):
    """Show pages in folders, each with a counter, under several addresses; return their paths."""
    numbers = itertools.count()
    paths = [f"/{at}{at}/{n}{copy}" for at in folders for copy in copies for n in range(9)]
    for path in paths:
        shown = text(path.partition("?")[0], words=60)
        site.routes[path] = lambda _, it=shown: page(it + counter.format(next(numbers)))
    return paths


@pytest.mark.parametrize("counter", ["<div>{} visits", "<img src='/{}.png'>"])
def test_a_copy_that_differs_where_others_change_by_themselves_is_asked(crawl, site, counter):
    others = [path for folder in "ab" for path in pages(site, 2 * folder, max(DUE))]
    paths = counted(site, "mnopqr", ["?s=1", "?s=2", "?s=3"], counter)
    outcome = crawl(Visit, *others, *paths, settings=ONE_BY_ONE | {"NEARDUP_URLS": "off"})
    assert asked(outcome) == SHARE * HANDFUL  # too few for all folders
    made = outcome.counted()["experiments/doubts"]
    assert 2 <= made <= 6
    # Each folder keeps the copies up to the answer.
    assert outcome.pages("dropped")[0] >= len(paths) * 2 / 3 - 6 * (2 + LATER)


def test_data_that_repeat_the_address_make_no_records_of_copies(crawl, site):
    paths = [f"/p/{n}{sid}" for n in range(20) for sid in ("", *(f"?sid={n}{m}x" for m in "abc"))]
    for path in paths:
        shown = text(path.partition("?")[0], words=150)
        data = f'<script type="application/json">{{"at": "{path}"}}</script>'
        site.routes[path] = page(f"<p data-at='[\"{path}\"]'>{shown}{data}")
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE)
    assert outcome.pages("dropped") == [60]
    assert "learnt/records" not in outcome.counted()


def test_half_of_the_budget_is_spent_at_most(crawl, site):
    """Of a short crawl it is a handful."""
    paths = [path for folder in range(26) for path in pages(site, chr(97 + folder) * 2, 6)]
    settings = ONE_BY_ONE | {"NEARDUP_URLS": "off"}
    outcome = crawl(Visit, *paths[:60], settings=settings)
    assert asked(outcome) == len(again(site)) == SHARE * HANDFUL
    site.requests.clear()
    outcome = crawl(Visit, *paths, settings=settings | {"NEARDUP_EXPERIMENTS": 0.2})
    assert asked(outcome) == len(again(site))
    share = SHARE * 0.2 * outcome.stats["downloader/request_count"]
    assert SHARE * HANDFUL < share - 1 <= asked(outcome) <= share + 1


def test_a_second_response_that_fails_is_passed_over(crawl, site):
    paths = pages(site)
    for number, status in zip(DUE, (503, 302, 404), strict=True):
        path = paths[number - 1]
        then = Answer("", status=status, headers={"Location": "/elsewhere"})
        answers = iter([site.routes[path], then])
        site.routes[path] = lambda _, answers=answers: next(answers)
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE)
    assert outcome.notes == [*paths]
    assert again(site) == due(paths)  # it isn't tried again
    assert "/elsewhere" not in site.requests
    assert not outcome.logged("WARNING")
    assert "learnt/changing" not in outcome.counted()


def test_the_crawl_goes_on_while_a_second_response_is_waited_for(crawl, site):
    """It closes without it, too."""
    paths = pages(site, count=6)
    shown, waits = site.routes[paths[1]], iter([0.0, 1.0])
    site.routes[paths[1]] = lambda _: time.sleep(next(waits)) or shown
    settings = ONE_BY_ONE | {"CLOSESPIDER_ITEMCOUNT": len(paths), "DOWNLOAD_TIMEOUT": 5}
    outcome = crawl(Visit, *paths, settings=settings)
    assert outcome.notes == [*paths]
    assert site.requests.count(paths[1]) == 2
    assert not outcome.logged("WARNING")


seeds = itertools.count()


def rotating(number):
    """Return a route: an article with a block of others in its middle, and a clock."""
    chance = random.Random(f"{number} {next(seeds)}")
    own = [text(f"article {number} {part}", words=100) for part in range(2)]
    hours = itertools.count(chance.randrange(10**6))

    def answer(_request):
        others = chance.sample(range(40), 6)
        cards = "".join(
            f'<div class=card><a href="/a/{each}">{text(f"card {each}", words=12)}</a></div>'
            for each in others
        )
        shown = f"<p>{own[0]}</p><div class=others>{cards}</div><p>{own[1]}</p>"
        clock = f"<p class=clock>It is {next(hours)} o'clock {chance.random():.5f} here</p>"
        title = text(f"title {number}", words=3)
        return page(f"<main><h1>{title}</h1>{shown}{clock}</main>", title=title)

    return answer


def test_of_a_redirected_page_the_last_request_is_made_twice(crawl, site):
    paths = pages(site)
    for path in paths:
        site.routes[f"/old{path}"] = Answer("", status=301, headers={"Location": path})
    outcome = crawl(Starts, *(f"/old{path}" for path in paths), settings=ONE_BY_ONE)
    assert outcome.notes == [*paths]
    assert again(site) == due(paths)


def test_the_audit_says_what_changes_and_where(crawl, site, audit, tmp_path):
    paths = {f"/a/{number}": rotating(number) for number in range(12)}
    site.routes |= paths
    crawl(Visit, *paths, settings=ONE_BY_ONE | {"NEARDUP_AUDIT": str(audit)})
    found = events(audit, "refetched")
    assert [line["page"] for line in found] == [f"{site.url}/a/{number - 1}" for number in DUE]
    host = site.url.removeprefix("http://")
    assert {line["place"] for line in found} == {f"{host}/a"}
    assert all({"div.others", "p.clock"} & set(line["selectors"]) for line in found)
    assert any(set(line["selectors"]) == {"div.others", "p.clock"} for line in found)
    assert [bool(line["changing"]) for line in found] == [False, True, True]
    digest = "\n".join(write_report([str(audit)], str(tmp_path / "report.html")).digest())
    assert "div.others" in digest.partition("NEARDUP_IGNORE = ")[2]


class Turns(Visit):
    """Reads a list whose parts stand at one address: each response is the next one."""

    def page(self, response):
        self.note(response)
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.page, dont_filter=True)


@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_page_that_the_crawl_requests_again_is_requested_by_no_experiment(crawl, site, before):
    left = iter(range(30))
    paths = show(site, *(f"/list/{number}" for number in range(before)), "/list/first")
    site.routes["/list/first"] = page(text("first", words=80), "/list/next")
    site.routes["/list/next"] = lambda _: next(
        (page(f"<p>{text(number, words=80)}</p>", "/list/next") for number in left), page("")
    )
    outcome = crawl(Turns, *paths, settings=ONE_BY_ONE)
    assert outcome.notes.count("/list/next") == 31
