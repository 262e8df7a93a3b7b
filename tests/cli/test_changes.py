"""`scrapy-neardup changes`: two audits or scans, page by page."""

import gzip
import json
from pathlib import Path

import pytest
from audits import Audit, pack_text
from datasets import write_lines


def audit(path, **texts):
    made = Audit()
    for name, text in texts.items():
        made.kept(f"https://example.com/{name}", text=text)
    return made.write(path)


def test_changes_are_json_lines(call, tmp_path):
    audit(tmp_path / "old.jsonl", same="a\nb", other="a\nb\nc", gone="x")
    new = audit(tmp_path / "new.jsonl", same="a\nb", other="a\nB\nc", fresh="y")
    Path("new.gz").write_bytes(gzip.compress(new.read_bytes()))
    for name in ("new.jsonl", "new.gz"):
        result = call("changes", "old.jsonl", name)
        found = {line["page"][20:]: line for line in map(json.loads, result.stdout.splitlines())}
        assert found.keys() == {"fresh", "other", "gone"}
        assert found["other"]["added"] == ["B"]
        assert found["other"]["removed"] == ["b"]
        assert result.stderr == "Pages: 1 new, 1 gone, 1 changed, 1 unchanged\n"


def test_what_a_crawl_found_to_change_by_itself_is_no_change(call, tmp_path):
    def write(name, clock, price):
        made = Audit()
        for page, text in (("item/1", "Text"), ("item/2", price), ("news/1", "Text")):
            url, paths = f"https://example.com/{page}", pack_text("1f2e0002")
            made.kept(url, text=f"{clock}\n{text}", paths=paths)
        made.refetched("https://example.com/item/9", place="example.com/item", changing=[0x1F2E])
        made.write(tmp_path / name)

    write("old", clock="12:01", price="5 Euro")
    write("new", clock="12:02", price="6 Euro")
    found = [json.loads(line) for line in call("changes", "old", "new").stdout.splitlines()]
    assert [(line["page"][20:], line["added"]) for line in found] == [
        ("item/2", ["6 Euro"]), ("news/1", ["12:02"]),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_scans_are_compared_by_fingerprints(call, kind):
    for name, text in (("old", "one two three four five six"), ("new", "six five four three two")):
        write_lines(Path("pages.jsonl"), [{"url": "a", "text": text}])
        call("scan", "pages.jsonl", "--output", f"{name}.{kind}")
    result = call("changes", f"old.{kind}", f"new.{kind}")
    assert json.loads(result.stdout) == {"page": "a", "change": "changed"}
    assert "only fingerprints were compared" in result.stderr


def test_pages_that_a_crawl_could_not_judge_are_not_compared(call):
    for name, contents in (("old", ("", "six words of some short text")), ("new", ("", ""))):
        lines = [{"url": f"{n}", "text": text} for n, text in enumerate(contents)]
        write_lines(Path("pages.jsonl"), lines)
        call("scan", "pages.jsonl", "--output", f"{name}.jsonl")
    result = call("changes", "old.jsonl", "new.jsonl")
    assert result.stdout == ""
    assert result.stderr == (
        "Pages: 0 new, 0 gone, 0 changed, 0 unchanged\n"
        "2 more weren't judged by one of the crawls\n"
    )


def test_pages_that_a_crawl_skipped_are_neither_gone_nor_new(call, tmp_path):
    """A claim withheld the request; the page may be as it was."""
    audit(tmp_path / "all.jsonl", item="a", gone="b", fresh="c")
    lines = audit(tmp_path / "some.jsonl", item="a").read_text()
    for page in ("fresh", "item"):
        skipped = {"event": "skipped", "page": f"https://example.com/{page}", "rules": []}
        lines += json.dumps(skipped) + "\n"
    (tmp_path / "some.jsonl").write_text(lines)
    for old, new, kind in (("all", "some", "gone"), ("some", "all", "new")):
        result = call("changes", f"{old}.jsonl", f"{new}.jsonl")
        assert [*map(json.loads, result.stdout.splitlines())] == [
            {"page": "https://example.com/gone", "change": kind}
        ]
        assert result.stderr.endswith(" 1 unchanged\n1 more weren't judged by one of the crawls\n")


def test_crawls_that_share_an_audit_are_taken_for_one_with_a_word(call, tmp_path):
    old = audit(tmp_path / "old.jsonl", same="a", gone="b")
    begun = json.dumps({"event": "begun"}) + "\n"
    (tmp_path / "both.jsonl").write_text(2 * (begun + old.read_text()))
    result = call("changes", "old.jsonl", "both.jsonl")
    assert result.stderr.startswith("both.jsonl: 2 crawls, which are taken for one\nPages: 0 new")


def test_fingerprints_with_different_keys_are_not_compared(call):
    for name in ("old", "new"):
        write_lines(Path("pages.jsonl"), [{"url": "a", "text": "one two three four five six"}])
        call("scan", "pages.jsonl", "--output", f"{name}.jsonl", "--hash-key", name)
    message = call("changes", "old.jsonl", "new.jsonl", status=2).stderr
    assert message.startswith("Error: old.jsonl and new.jsonl have fingerprints that can't be")
    assert message.count("\n") == 1


def test_lines_that_a_crash_cut_are_left_out_as_by_report(call, tmp_path):
    old = audit(tmp_path / "old.jsonl", same="a", changed="b", gone="c")
    first, *others = old.read_text().splitlines(keepends=True)
    torn = "".join([first, '{"time": "20\0\0\n', *others[:1], others[-1][:9]])
    (tmp_path / "torn.jsonl").write_text(torn)
    result = call("changes", "old.jsonl", "torn.jsonl")
    assert result.stderr.startswith(
        "torn.jsonl: left out lines that a crash cut short: 2\nPages: "
    )
    assert {"page": "https://example.com/gone", "change": "gone"} in [
        *map(json.loads, result.stdout.splitlines())
    ]
    (tmp_path / "junk.jsonl").write_text("junk\n" + torn)
    assert (
        "junk.jsonl, line 1: not a line of" in call("changes", "junk.jsonl", old, status=2).stderr
    )


def test_names_that_are_no_unicode(call):
    for name in ("old", "new"):
        write_lines(Path(name), [{"page": f"{name}\ud800é", "fingerprint": "1"}])
    found = [json.loads(line) for line in call("changes", "old", "new").stdout.splitlines()]
    assert [line["page"] for line in found] == ["new\ud800é", "old\ud800é"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_what_verbs_write_of_nothing_is_read(call, kind):
    Path("no.jsonl").touch()
    for verb in ("scan", "join"):
        call(verb, "no.jsonl", "--output", f"{verb}.{kind}")
    assert call("clusters", "--pairs", f"join.{kind}").stdout == ""
    assert call("pairs", f"scan.{kind}").stdout == ""
    assert call("changes", f"scan.{kind}", f"scan.{kind}").stdout == ""
    call("pack", f"scan.{kind}", "--output", "scan.pack")
    call("pack", "scan.pack", f"scan.{kind}", "--output", "again.pack")
    for packed in ("scan.pack", "again.pack"):
        assert call("query", "--in", packed, "--like", "a text").stdout == ""
        assert call("unpack", packed).stdout_bytes == b""
    assert call("unpack", "again.pack", "--format", "jsonl").stdout == ""
