"""The report's arithmetic, on journals small enough to count by hand."""

import pytest
from compare.report import report
from compare.tally import tally
from docsite.library import Module
from docsite.site import Site

ALIKE = {"a": set(), "b": set(), "c": {"d"}, "d": {"c"}}


@pytest.fixture
def site():
    return Site({name: Module(name, "", name, ()) for name in ALIKE})


def kept(*urls):
    return [{"kept": f"http://127.0.0.1:8000{url}"} for url in urls]


def dropped(url, of="/module/a/", distance=0):
    return {"dropped": f"http://127.0.0.1:8000{url}",
            "of": f"http://127.0.0.1:8000{of}", "distance": distance}  # fmt: skip


END = {"stats": {"neardup/links/withheld": 77, "downloader/response_bytes": 3_400_000,
                 "elapsed_time_seconds": 1.6,
                 "scheduler/enqueued": 30, "scheduler/dequeued": 9}}  # fmt: skip


def test_a_crawl_without_the_plugin(site):
    met = kept(
        "/", "/module/a/?sid=1", "/module/a/", "/print/a/", "/calendar/2001/01/",
        "/module/x/help/", "/module/x/help/help/", "/module/b/", "/module/c/", "/module/d/",
    )  # fmt: skip
    journal = [*met, END]
    run = tally(journal, site, ALIKE, budget=100)
    assert (run.requests, run.kept, run.drops) == (10, 10, [])
    assert (run.unique, run.kept_again, run.months_kept) == (6, 3, 1)
    assert run.duplicates_kept == {"plain": 1, "printable": 1, "soft 404": 1}
    assert run.covered == 1
    assert run.requests_to_enough == 9  # c stands for d


def test_a_crawl_with_it(site):
    journal = [
        *kept("/", "/module/a/"),
        dropped("/module/a/?sid=1"),
        dropped("/module/b/?sid=2", distance=3),  # lost, unless b is kept later
        dropped("/print/b/", distance=3),
        *kept("/module/c/"),
        dropped("/module/d/", of="/module/c/", distance=2),
        dropped("/module/d/?sid=3", of="/module/c/", distance=2),
        *kept("/calendar/2001/01/"),
        dropped("/calendar/2002/01/", of="/calendar/2001/01/", distance=1),
        END,
    ]
    run = tally(journal, site, ALIKE, budget=100)
    assert (run.requests, run.kept, len(run.drops)) == (10, 4, 6)
    assert [drop.url.rpartition(":8000")[2] for drop in run.lost] == ["/module/b/?sid=2"]
    assert [drop.showing.name for drop in run.lookalikes_dropped] == ["d"]
    assert (run.duplicates_dropped, run.months_dropped) == (3, 1)
    assert run.covered == 0.75
    assert run.requests_to_enough is None

    saved = tally([*journal[:-1], *kept("/module/b/"), END], site, ALIKE, budget=100)
    assert saved.lost == []
    assert saved.duplicates_dropped == 4
    assert (saved.covered, saved.requests_to_enough) == (1, 11)


def test_the_report_says_in_words_which_pages_are_missing_and_why(site):
    journal = [*kept("/module/c/"), dropped("/module/d/", of="/module/c/"), END]
    run = tally(journal, site, ALIKE, budget=9)
    text = "\n".join(report([run, run], site.library))
    assert "Pages of the site that didn't reach the spider: 1." in text
    assert "\n  /module/d/ repeats /module/c/, J = " in text
    assert tally([*kept("/module/c/"), END], site, ALIKE, budget=9).lookalikes_dropped == []


def test_pages_beyond_the_budget_do_not_count(site):
    journal = [*kept("/", "/module/a/", "/module/b/"), dropped("/module/b/"), END]
    run = tally(journal, site, ALIKE, budget=2)
    assert (run.requests, run.unique, run.drops, run.covered) == (2, 2, [], 0.25)
    assert run.stats["elapsed_time_seconds"] == 1.6


def test_the_report_shows_both_and_explains(site):
    without = tally([*kept("/", "/module/a/", "/module/a/?sid=1"), END], site, ALIKE, 3)
    plugin = tally(
        [
            *kept("/module/a/"),
            dropped("/module/a/?sid=1", distance=1),
            dropped("/module/a/?sid=2", distance=2),
            dropped("/module/b/?utm_source=feed", distance=3),
            END,
        ],
        site, ALIKE, 4,
    )  # fmt: skip
    lines = list(report([without, plugin], site.library))
    cells = {line[:42].strip(): line[42:].split() for line in lines if len(line) > 50}
    assert cells["requests"] == ["3", "4"]
    assert cells["content covered"] == ["25.0%", "25.0%"]
    assert cells["requests to 99% of the content"] == [">", "3", ">", "4"]
    assert cells["their duplicates"] == ["1", "0"]
    assert cells["pages dropped"] == ["3"]
    assert cells["unique pages lost"] == ["1"]
    assert cells["requests waiting at the end"] == ["21", "21"]
    assert cells["links withheld"] == ["77"]
    assert cells["megabytes downloaded"] == ["3", "3"]
    text = "\n".join(lines)
    assert "/module/a/?sid=2\n               repeats /module/a/ at distance 2" in text
    assert "/module/a/?sid=1" not in text
    assert "J = 0.00     /module/b/?utm_source=feed\n               repeats /module/a/" in text
