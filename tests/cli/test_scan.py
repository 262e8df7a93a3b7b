import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from datasets import json_lines

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.fingerprints.shingles import distinct
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores.embedded.memorystore import MemoryStore
from scrapy_neardup.text import parse_html

KEYS = [
    "page", "verdict", "of", "distance", "resemblance", "reason", "rule", "identity", "threshold",
    "views", "nearest", "fingerprint", "tokens", "features", "path", "sketch", "schema",
]  # fmt: skip


def test_a_folder_is_judged_in_path_order(call, site, rows):
    found = rows(call("scan", "site").stdout)
    assert [list(row) for row in found] == [KEYS] * 9
    assert [row["page"] for row in found] == sorted(f"site/{path.name}" for path in site.iterdir())
    for first, same, near in zip(found[::3], found[1::3], found[2::3], strict=True):
        assert (first["verdict"], first["reason"], first["of"]) == ("new", "unmatched", None)
        assert first["distance"] is None
        assert len(first["fingerprint"]) == 16
        assert first["tokens"] == 405
        for row in (same, near):
            verdict = (row["verdict"], row["reason"], row["of"])
            assert verdict == ("duplicate", "near", first["page"])
            difference = int(row["fingerprint"], 16) ^ int(first["fingerprint"], 16)
            assert row["distance"] == difference.bit_count()
        assert same["distance"] == 0
        assert (same["rule"], same["identity"]) == ("equal", near["identity"])
        assert list(near["views"]) == ["text", "all"]
        assert near["nearest"] is None
        assert first["nearest"] is None or first["nearest"]["rule"] in {"unlike", "unequal"}
        assert near["threshold"] <= near["resemblance"]


def test_every_number_of_jobs_gives_the_same(call, site, rows):
    (site / "3.html").write_bytes(b"")
    (site / "4.html").write_bytes(b"\x00\x01\x02" * 99)
    Path("bad.jsonl").write_text(json.dumps({"text": "one two three four five six"}) + "\n{")
    command = ("scan", "site", "bad.jsonl", "site", "--jobs")
    one, two = (call(*command, jobs, status=2) for jobs in (1, 2))
    assert one.stdout == two.stdout
    assert one.stderr == two.stderr
    assert two.stderr == (
        "Error: bad.jsonl, line 2: not a line of JSON (Expecting property name enclosed in"
        " double quotes: line 1 column 2 (char 1))\n"
    )
    *unjudged, new = rows(one.stdout)[9:]
    assert new["verdict"] == "new"
    keys = ("verdict", "reason", "fingerprint", "tokens")
    assert [tuple(row[key] for key in keys) for row in unjudged] == [
        ("unjudged", "empty", None, 0), ("unjudged", "not-html", None, 0),
    ]  # fmt: skip


def test_json_lines_from_standard_input(call, rows):
    text = " ".join(f"w{number}" for number in range(50))
    items = [
        {"url": "http://me:secret@a.test/1", "text": text},
        {"url": "http://b.test/2", "html": f"<html><p>{text}</p></html>"},
        {"url": "http://me:secret@a.test/1", "text": text},
        {"text": text},
    ]
    stdin = json_lines(items)
    first, second, third, fourth = rows(call("scan", "-", stdin=stdin).stdout)
    assert (first["page"], first["verdict"]) == ("http://a.test/1", "new")
    assert (second["page"], second["of"]) == ("http://b.test/2", "http://a.test/1")
    assert (third["verdict"], third["reason"]) == ("seen", "same-page")
    assert (fourth["page"], fourth["verdict"]) == ("-:4", "duplicate")
    by_host = rows(call("scan", "--scope", "host", "-", stdin=stdin).stdout)
    assert [row["verdict"] for row in by_host] == ["new", "new", "seen", "new"]


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_a_hyphen_is_standard_input_whatever_is_called_so(call, rows, make):
    make(Path("-"))
    [row] = rows(call("scan", "-", stdin='{"url": "a", "text": "a b c d e f"}\n').stdout)
    assert row["page"] == "a"


def test_options_reach_the_detector(call, site, rows):
    plain = rows(call("scan", "site").stdout)
    for options in (["--preset", "paper"], ["--shingle-size", 5], ["--weights", "tf"],
                    ["--text", "full"], ["--ignore", "p", "--ignore", "i"],
                    ["--min-tokens", 1000]):  # fmt: skip
        assert rows(call("scan", "site", *options).stdout) != plain, options
    strict = rows(call("scan", "site", "--preset", "paper", "--max-distance", 0).stdout)
    assert {row["distance"] for row in strict} <= {None, 0}


def test_a_store_remembers_and_namespaces_never_meet(call, site, rows):
    store = ["--store", "sqlite:seen.db", "--hash-key", "secret"]
    first = rows(call("scan", "site", *store).stdout)
    again = rows(call("scan", "site", *store).stdout)
    assert [row["verdict"] for row in first] == ["new", "duplicate", "duplicate"] * 3
    assert [row["verdict"] for row in again] == ["seen", "duplicate", "duplicate"] * 3
    assert rows(call("scan", "site", *store, "--namespace", "other").stdout) == first


def test_a_scan_takes_the_key_of_the_store(call, site, rows):
    store = ["--store", "sqlite:seen.db", "--namespace", "n"]
    call("load", "site", *store)
    scanned = call("scan", "site", *store).stdout
    found = rows(scanned)
    assert {row["verdict"] for row in found} == {"seen", "duplicate"}
    [key] = {row["schema"]["hash_key"] for row in found}
    assert key != ""
    assert rows(call("scan", "site").stdout)[0]["schema"]["hash_key"] == ""


def test_output_replaces_a_file_when_all_went_well(call, site, rows):
    printed = call("scan", "site").stdout
    Path("kept.txt").write_text("before")
    Path("out.jsonl").symlink_to("kept.txt")
    Path("bad.jsonl").write_text("{")
    call("scan", "site", "bad.jsonl", "--output", "out.jsonl", status=2)
    assert Path("kept.txt").read_text() == "before"
    assert call("scan", "site", "--output", "out.jsonl").stdout == ""
    assert Path("kept.txt").read_text() == printed
    assert Path("out.jsonl").is_symlink()
    assert call("scan", "site", "--output", "-").stdout == printed
    call("scan", "site", "--output", os.devnull)
    assert Path(os.devnull).is_char_device()
    assert sorted(path.name for path in Path().iterdir()) == [
        "bad.jsonl", "kept.txt", "out.jsonl", "site",
    ]  # fmt: skip


def test_summary_and_progress_go_to_standard_error(call, site):
    (site / "3.html").write_bytes(b"")
    quiet = call("scan", "site")
    assert quiet.stderr == ""
    result = call("scan", "site", "--progress")
    assert result.stdout == quiet.stdout
    progress, pages, *counts = result.stderr.splitlines()
    assert progress.startswith("100%  10 pages, ")
    assert pages.startswith("10 pages in ")
    assert [line.split() for line in counts] == [
        ["new", "3", "unmatched", "3"], ["duplicate", "6", "near", "6"], ["seen", "0"],
        ["unjudged", "1", "empty", "1"],
    ]  # fmt: skip


@pytest.mark.parametrize(("method", "pages"), [("open", 0), ("check_and_add", 4)])
def test_a_store_that_fails_is_a_failure_at_run_time(call, site, monkeypatch, method, pages):
    left, real = iter(range(pages)), getattr(MemoryStore, method)

    async def failing(self, *arguments):
        if next(left, None) is None:
            raise StoreUnavailableError("toy: has gone away; start it again")
        return await real(self, *arguments)

    monkeypatch.setattr(MemoryStore, method, failing)
    result = call("scan", "site", status=1)
    assert result.stderr == "Error: toy: has gone away; start it again\n"
    assert result.stdout.count("\n") == pages
    call("scan", "site", "--output", "out", status=1)
    assert not Path("out").exists()


def test_a_reader_that_leaves_ends_it_quietly(start, site):
    for number in range(200):
        (site / f"more{number}.html").write_bytes((site / "0a.html").read_bytes())
    for jobs in (1, 2):
        process = start("scan", "site", "--jobs", jobs)
        assert '"page": "site/0a.html"' in process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 1
        assert process.stderr.read() == ""


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_it_quietly_and_leaves_nothing(start, site, tmp_path, jobs):
    process = start(
        "scan", "site", "site", "-", "--jobs", jobs, "--output", "out", "--progress",
        "--store", "sqlite:seen.db", stdin=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    while not list(tmp_path.glob(".out.*.part")):
        assert process.poll() is None
    # Its processes are starting, and it waits for its standard input, or is about to.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    # While asyncio makes a loop an interrupt leaves half of one, as Python then reports.
    said, _, _ = process.stderr.read().partition("Exception ignored in: <function BaseEventLoop")
    assert said.strip() in {
        "Interrupted.",
        "Interrupted after 0 pages: nothing is written to out, and the store has them.",
    }
    assert sorted(path.name for path in tmp_path.iterdir() if "seen" not in path.name) == ["site"]


def test_one_job_judges_a_page_as_soon_as_it_comes(start):
    process = start("scan", "-", stdin=subprocess.PIPE)
    for number in range(3):
        process.stdin.write(json.dumps({"text": f"{number} two three four five six"}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["page"] == f"-:{number + 1}"
    process.stdin.close()
    assert process.wait(60) == 0


def test_the_processes_end_with_their_parent(start, site):
    process = start("scan", "site", "-", "--jobs", 2, stdin=subprocess.PIPE)
    line = json.dumps({"text": "one two three four five six"}) + "\n"
    process.stdin.write(line * 300)  # less than a pipe holds: nobody reads on
    process.stdin.flush()
    process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("needs /proc")
    pids = children.read_text().split()
    assert pids
    process.kill()
    process.wait(60)
    process.stdout.read()  # its end is reached when nobody can write any more
    assert not [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists()
                and b"scrapy-neardup" in Path(f"/proc/{pid}/cmdline").read_bytes()]  # fmt: skip


def test_independent_permutations_are_broders(call, rows, site):
    options = ("--features", "6,14,2", "--permutations", "independent")
    found = rows(call("scan", "site", *options).stdout)
    assert [row["verdict"] for row in found] == ["new", "duplicate", "duplicate"] * 3
    one = rows(call("scan", "site", "--features", "6,14,2").stdout)
    assert found[0]["features"] != one[0]["features"]
    assert found[0]["schema"] == one[0]["schema"] | {"permutations": "independent"}
    analyser = Analyser(Parameters(features=(6, 14, 2), permutations="independent"))
    content = analyser.read(parse_html(Path("site/0a.html").read_bytes()))
    page = analyser.page(content, page_id=1, url="site/0a.html")
    wanted = Filter(6, 14, 2).features_of(distinct(page.text.row_shingles), "independent").tolist()
    assert found[0]["features"] == {"6,14,2": [f"{feature:016x}" for feature in wanted]}
    call("pack", "-", "--output", "a.pack", stdin=json_lines(found))
    refused = call("pairs", "-", "--existing", "a.pack", stdin=json_lines(one), status=2)
    assert "can't be compared" in refused.stderr or "permutations" in refused.stderr
