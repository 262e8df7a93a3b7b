"""A small `make example`: real crawls of a real site, without and with the plugin."""

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext

import pytest
from compare import __main__ as compare
from compare import crawls
from compare.crawls import PROJECT, crawl, served
from compare.tally import merged, tally
from docsite.lookalikes import lookalikes
from forked import python

PAGES = 250


@pytest.fixture(scope="module")
def run(tmp_path_factory, modules):
    """What one comparison printed, and the folder of its journals."""
    folder = tmp_path_factory.mktemp("comparison")
    command = "-m", "compare", "--pages", PAGES, "--folder", folder, *modules
    done = python(*command, cwd=PROJECT, check=True, timeout=120)
    assert done.stderr == ""
    return done.stdout, folder


@pytest.fixture(scope="module")
def url(modules):
    with served(modules) as url:
        yield url


@pytest.fixture
def printed(run):
    return run[0]


@pytest.fixture
def journals(run):
    files = {name: run[1] / f"{name}.jsonl" for name in ("without", "with", "skip")}
    return {name: [json.loads(line) for line in file.read_text().splitlines()]
            for name, file in files.items()}  # fmt: skip


def test_one_crawl_ends_at_its_budget_and_the_other_before(journals):
    for journal in journals.values():
        assert all("kept" in record or "dropped" in record for record in journal[:-1][:PAGES])
    without, plugin, skipping = journals.values()
    assert PAGES < len(without) <= PAGES + 2
    assert without[-1]["stats"]["finish_reason"] == "closespider_pagecount"
    assert len(plugin) <= PAGES
    assert len(skipping) <= len(plugin)
    for journal in plugin, skipping:
        assert journal[-1]["stats"]["finish_reason"] == "finished"


def test_without_redis_the_example_crawls():
    code = "import sys; sys.modules['redis'] = None; import example.frontier, example.settings"
    python("-c", code, cwd=PROJECT, check=True)


def test_the_plugin_is_all_that_differs(journals):
    without, with_plugin, _ = (journal[-1]["stats"] for journal in journals.values())
    assert [key for key in without if key.startswith("neardup/")] == []
    experiments = with_plugin["neardup/experiments/refetched"]
    checked = with_plugin["neardup/pages/checked"]
    assert checked + experiments == with_plugin["response_received_count"]
    assert journals["with"][0].keys() == {"kept", "time"}  # the start page
    errors = {key for stats in (without, with_plugin) for key in stats if "log_count/ERR" in key}
    assert not errors


def test_the_plugin_keeps_the_content_and_drops_duplicates(journals, site, library):
    alike = lookalikes(library)
    without, plugin, skipping = (tally(each, site, alike, PAGES) for each in journals.values())
    assert skipping.covered == 1
    assert skipping.lost == []
    assert without.drops == []
    assert without.kept == without.requests == PAGES > plugin.requests
    assert plugin.kept + len(plugin.drops) == plugin.requests
    assert without.covered == plugin.covered == 1
    assert plugin.lost == []
    assert plugin.duplicates_dropped > plugin.kept_again
    assert plugin.kept_again < without.kept_again


def test_the_report_says_what_the_journals_say(printed, journals):
    *pages, _ = journals["with"]
    dropped = sum("dropped" in record for record in pages)
    assert re.search(rf"^requests +{PAGES} +{len(pages)} +\d+$", printed, re.MULTILINE)
    assert re.search(r"^content covered( +100\.0%){3}$", printed, re.MULTILINE)
    kept = len(pages) - dropped
    reached = rf"^pages that reached the spider +{PAGES} +{kept} +\d+$"
    assert re.search(reached, printed, re.MULTILINE)
    assert re.search(rf"^pages dropped +{dropped} +\d+$", printed, re.MULTILINE)
    assert re.search(r"repeats /\S+ at distance \d$", printed, re.MULTILINE)


def test_a_crawl_is_the_same_page_by_page_when_run_again(url, journals, tmp_path):
    again = crawl("again", url, name="with", pages=PAGES, folder=tmp_path)
    paths = [
        [re.sub("^http://[^/]*", "", next(iter(record.values()))) for record in journal[:-1]]
        for journal in (journals["with"], again)
    ]
    assert paths[0] == paths[1]


@pytest.fixture
def compared(monkeypatch, journals, url, library, modules):
    """Compare again; the crawl without the plugin, and the site, are there already."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(compare, "load", lambda *_, **__: library)
    monkeypatch.setattr(compare, "served", lambda _: nullcontext(url))
    monkeypatch.setattr(compare, "crawl", lambda *_, **__: journals["without"])

    def again(*words):
        monkeypatch.setattr(sys, "argv", ["compare", *words, *modules])
        compare.main()

    return again


def shown(site, page):
    """Return what a page shows above its footer, which is another whenever it is fetched."""
    html = site.page(re.sub("^http://[^/]*", "", page))
    return re.sub(r"(<[^>]*>|\s)+", " ", html.partition("<footer>")[0])


def test_two_crawlers_on_a_redis_server(tmp_path, capfd, compared, site, library):
    compared("--store", "redis", "--pages", str(2 * PAGES), "--folder", str(tmp_path))
    printed, complaints = capfd.readouterr()
    assert complaints == ""
    files = [tmp_path / f"with-{n}.jsonl" for n in (1, 2)]
    journals = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    pages = [{record.get("kept") or record["dropped"] for record in journal[:-1]}
             for journal in journals]  # fmt: skip
    assert not pages[0] & pages[1]
    # The start page comes again, as Scrapy doesn't filter start requests; dropped pages are
    # requested again where too little is known of their links.
    again = [journal[-1]["stats"].get("neardup/links/requested-again", 0) for journal in journals]
    assert sum(map(len, journals)) - len(journals) - sum(map(len, pages)) <= 1 + sum(again)
    plugin = tally(merged(journals), site, lookalikes(library), 2 * PAGES)
    assert plugin.requests < 2 * PAGES
    assert plugin.covered == 1
    assert plugin.lost == []
    records = [record for journal in journals for record in journal[:-1]]
    kept = {record["kept"] for record in records if "kept" in record}
    dropped = {record["dropped"]: record["of"] for record in records if "dropped" in record}
    assert kept >= set(dropped.values())  # by either of them
    texts = Counter(shown(site, page) for page in kept)
    assert set(texts.values()) == {1}
    assert not texts.keys().isdisjoint(shown(site, page) for page in dropped)
    shares = re.findall(r"^ +for a page that the other one kept +(\d+) +(\d+)$", printed,
                        re.MULTILINE)  # fmt: skip
    # Which crawler meets a page first is a matter of luck: one may be ahead all the way.
    assert sum(map(int, shares[0])) > 0


def test_a_crawl_that_fails_shows_its_log(tmp_path, monkeypatch, capfd):
    (tmp_path / "broken.py").write_text("from example.settings import *\nNEARDUP_SCOPE = 'moon'\n")
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "broken")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"NEARDUP_SCOPE(.|\n)*status 1\): see .*with\.log"):
        crawl("fails", "http://127.0.0.1:9/", name="with", pages=1, folder=tmp_path)


def test_a_crawl_that_stands_still_is_ended(monkeypatch):
    monkeypatch.setattr(crawls, "LAST_SECONDS", 0.1)
    code = "from signal import *; signal(SIGTERM, SIG_IGN); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        process.stdout.readline()
        crawls.end(process)
    assert process.returncode == -signal.SIGKILL
