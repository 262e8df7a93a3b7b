import json
import signal
from time import sleep

from crawl_client import Worker
from crawl_spiders import Visit
from site_server import Site, page, text

SQLITE = ["--store", "sqlite:pages.sqlite", "--namespace", "scrapybot.visit"]


def said(result):
    return result.stderr.splitlines()[-1].partition(" s: ")[2]


def test_loading_twice_changes_nothing(call, site, tmp_path):
    assert said(call("load", "site", *SQLITE)) == "3 new, 6 duplicate, 0 seen, 0 unjudged"
    again = call("load", "site", *SQLITE, "--jobs", 2)
    assert said(again) == "0 new, 6 duplicate, 3 seen, 0 unjudged"


def test_an_error_on_the_way_says_what_was_loaded(call):
    lines = "".join(
        json.dumps({"url": f"http://a.test/{number}", "html": page(text("a", number))}) + "\n"
        for number in range(70)
    )
    result = call("load", "-", *SQLITE, stdin=lines + "no\n", status=2)
    assert (
        "64 pages were judged; a repeated load keeps those that are in the store" in result.stderr
    )
    again = call("load", "-", *SQLITE, stdin=lines)
    assert said(again) == "0 new, 69 duplicate, 1 seen, 0 unjudged"


def test_a_namespace_has_a_name(call):
    result = call("load", "-", "--store", "sqlite:x", "--namespace", "", status=2)
    assert result.stderr == "Error: --namespace must be a non-empty string, not ''\n"


def test_an_interrupt_leaves_a_store_to_go_on_with(start, call, site, tmp_path):
    process = start("load", "-", *SQLITE, "--progress", stdin=-1)
    record = {"url": "http://a.test/1", "html": page(text("a", 1))}
    for _ in range(64):
        process.stdin.write(json.dumps(record) + "\n")
    process.stdin.flush()
    while not (tmp_path / "pages.sqlite").exists():
        assert process.poll() is None
    sleep(0.5)  # until it waits: CPython notices a signal just before that only with the next one
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    process.stdin.close()
    result = call("load", "-", *SQLITE, stdin=json.dumps(record) + "\n")
    assert said(result) in {
        "1 new, 0 duplicate, 0 seen, 0 unjudged",
        "0 new, 0 duplicate, 1 seen, 0 unjudged",
    }


def test_a_crawl_opens_a_loaded_store_and_knows_its_pages(call, tmp_path):
    worker = Worker()
    try:
        with Site() as site:
            pages = [
                {"url": f"{site.url}/a/1?y=2&x=1#part", "html": page(text("a", 1))},
                {"url": f"{site.url}/b/1", "html": page(text("b", 1))},
            ]
            lines = "".join(json.dumps(one) + "\n" for one in pages)
            store = f"sqlite:{tmp_path / 'pages.sqlite'}"
            call("load", "-", "--store", store, "--namespace", "scrapybot.visit", stdin=lines)
            [outcome] = worker.crawl({
                "file": Visit.__init__.__code__.co_filename,
                "spider": "Visit",
                "settings": {"NEARDUP_STORE": store},
                "arguments": {"site": site.url, "paths": ["/a/1?x=1&y=2", "/b/2", "/c/1"]},
            })  # fmt: skip
    finally:
        worker.close()
    assert not outcome.error
    assert outcome.notes == ["/a/1?x=1&y=2", "/c/1"]
    counted = outcome.counted()
    assert [counted[f"pages/{what}"] for what in ("seen", "dropped", "new")] == [1, 1, 1]
