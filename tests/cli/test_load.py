import json
import signal
import sqlite3
from contextlib import closing

import pytest
from crawl_client import Worker
from crawl_spiders import Visit
from site_server import Site, page, text

SQLITE = ["--store", "sqlite:pages.sqlite", "--namespace", "scrapybot.visit"]
PAPER = ["--preset", "paper"]


def loaded(path):
    """What a SQLite store holds, table by table, but for times."""
    with closing(sqlite3.connect(path)) as file:
        names = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = [name for (name,) in names]
        found = {name: file.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    # Without the time of each entry, and its checksum.
    found["page"] = [(place, one[:28] + one[32:-4], *more) for place, one, *more in found["page"]]
    return {name: sorted(map(repr, rows)) for name, rows in found.items()}


def said(result):
    return result.stderr.splitlines()[-1].partition(" s: ")[2]


def test_loading_twice_changes_nothing(call, site, tmp_path):
    assert said(call("load", "site", *SQLITE)) == "3 new, 6 duplicate, 0 seen, 0 unjudged"
    again = call("load", "site", *SQLITE, "--skip", 3)
    assert said(again) == "0 new, 4 duplicate, 2 seen, 0 unjudged"


@pytest.mark.parametrize("preset", ["best", "compact", "paper"])
def test_scanned_pages_make_the_same_store(call, site, tmp_path, preset):
    options = ["--preset", preset, "--hash-key", "secret"]
    (site / "short.html").write_text("<p>no more than these six words</p>")
    call("load", "site", *options, "--store", "sqlite:a.sqlite", "--namespace", "n", "--jobs", 2)
    scanned = call("scan", "site", *options).stdout
    load = ["load", "--scanned", "-", *options, "--store", "sqlite:b.sqlite", "--namespace", "n"]
    assert said(call(*load, stdin=scanned)) == "4 new, 6 duplicate, 0 seen, 0 unjudged"
    kept, again = loaded("a.sqlite"), loaded("b.sqlite")
    for tables in (kept, again):
        tables.pop("notice", None)  # what the site's pages share, which the lines don't say
    assert kept == again
    other = call(*load, "--shingle-size", 5, stdin=scanned, status=2)
    assert "and 5 here" in other.stderr  # the store was made with others


NOT_SCANNED_SO = "not a page as scan prints it"


@pytest.mark.parametrize(("scan", "load", "said"), [
    ((*PAPER, "--text", "full"), PAPER, ("its fingerprint was made with other parameters",
                                         "text is 'full' there and 'main' here")),
    (("--features", "4,4,1"), (), (NOT_SCANNED_SO, "features is 5 and must be 9")),
    (("--preset", "compact"), (), (NOT_SCANNED_SO, "features is 4 and must be 9")),
    (("--min-resemblance", 0, "--method", "minwise"), (),
     (NOT_SCANNED_SO, "features is 8 and must be 9")),
])  # fmt: skip
def test_what_was_scanned_otherwise_is_refused(call, site, scan, load, said):
    scanned = call("scan", "site", *scan).stdout
    result = call("load", "--scanned", "-", *load, *SQLITE, stdin=scanned, status=2)
    assert f"line 1: {said[0]}" in result.stderr
    assert said[1] in result.stderr


def test_a_damaged_sketch_is_refused(call, site):
    row = json.loads(call("scan", "site").stdout.splitlines()[0])
    for sketch, said in (
        ("AAAA", "3 bytes"),
        ("!", "Error"),
        (None, "text_bits is 0 and must be 1792"),
    ):
        stdin = json.dumps(row | {"sketch": sketch and {"512x2": sketch}}) + "\n"
        assert said in call("load", "--scanned", "-", *SQLITE, stdin=stdin, status=2).stderr
        if sketch:
            assert said in call("pack", "-", "--output", "f.pack", stdin=stdin, status=2).stderr


def test_an_error_on_the_way_says_how_to_go_on(call, site, tmp_path):
    lines = call("scan", "site", *PAPER).stdout
    many = lines * 15  # 135 pages: two batches and a bit
    result = call("load", "--scanned", "-", *PAPER, *SQLITE, stdin=many + "no\n", status=2)
    assert "128 pages were loaded; continue with --skip 128" in result.stderr
    rest = call("load", "--scanned", "-", *PAPER, *SQLITE, "--skip", 128, stdin=many)
    assert rest.stderr.splitlines()[-1].startswith("7 pages")


def test_an_interrupt_leaves_a_store_to_go_on_with(start, call, site, tmp_path):
    process = start("load", "-", *SQLITE, "--progress", stdin=-1)
    record = {"url": "http://a.test/1", "html": page(text("a", 1))}
    for _ in range(64):
        process.stdin.write(json.dumps(record) + "\n")
    process.stdin.flush()
    while not (tmp_path / "pages.sqlite").exists():
        assert process.poll() is None
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
