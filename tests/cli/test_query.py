"""``scrapy-neardup query``."""

import json
import re
from pathlib import Path

import pytest
from datasets import write_lines

from scrapy_neardup.errors import InputError, StoreMismatchError
from scrapy_neardup.offline.jobs.querying import PackedQueries
from scrapy_neardup.offline.readers.files import FoundPage


def test_pages_of_a_collection(call, site, rows):
    found = rows(call("query", "site/1a.html", "--in", "site", "--top", 4).stdout)
    assert [each["page"] for each in found[:3]] == [f"site/1{copy}.html" for copy in "abc"]
    assert found[0] == {"query": "site/1a.html", "page": "site/1a.html", "resemblance": 1.0}
    found = rows(call("query", "site", "--in", "site", "--min-resemblance", 0.8).stdout)
    assert len(found) == 27


def test_a_text(call, site, rows):
    assert call("query", "--in", "site", "--like", "of no page of this site").stdout == ""
    text = " ".join(re.findall(r"word\d+", Path("site/1a.html").read_text()))
    found = rows(call("query", "--in", "site", "--like", text).stdout)
    assert [(each["query"], each["page"]) for each in found] == [
        (None, f"site/1{copy}.html") for copy in "abc"
    ]


def test_a_packed_file(call, site, rows, tmp_path):
    (tmp_path / "scan.jsonl").write_text(call("scan", "site").stdout)
    call("pack", "scan.jsonl", "--output", "site.pack")
    found = rows(call("query", "site/2b.html", "--in", "site.pack").stdout)
    there = f"file://{tmp_path}/site.pack"
    assert rows(call("query", "site/2b.html", "--in", there).stdout) == found
    assert call("unpack", there).stdout_bytes == call("unpack", "site.pack").stdout_bytes
    assert {"query": "site/2b.html", "page": "site/2b.html", "distance": 0} in found
    assert {each["page"][5] for each in found} == {"2"}
    Path("site.pack").rename("site.base")
    assert rows(call("query", "site/2b.html", "--in", "site.base").stdout) == found
    call("unpack", "site.base", "--output", "site.u64")
    call("pack", "site.u64", "--output", "nameless.pack")
    nameless = rows(call("query", "site/2b.html", "--in", "nameless.pack").stdout)
    assert [each["distance"] for each in nameless] == [each["distance"] for each in found]
    assert all(isinstance(each["page"], int) for each in nameless)


@pytest.mark.parametrize("options", [
    ["--preset", "paper"], ["--shingle-size", "2"], ["--features", "6,14,2"], ["--text", "full"],
    ["--preset", "exact"], ["--preset", "compact"], ["--weights", "tf"], ["--min-tokens", "5"],
    ["--permutations", "independent"], ["--scope", "host"], ["--ignore", "nav"],
    ["--hash-key", "00112233445566778899aabbccddeeff"],
])  # fmt: skip
def test_a_query_is_read_as_the_pages_of_the_file_were(call, site, rows, tmp_path, options):
    (tmp_path / "scan.jsonl").write_text(call("scan", "site", *options).stdout)
    call("pack", "scan.jsonl", "--output", "site.pack")
    given = options if options[0] in {"--ignore", "--hash-key"} else []
    found = rows(call("query", "site", "--in", "site.pack", *given).stdout)
    assert [
        each["query"] for each in found if each["distance"] == 0 and each["page"] == each["query"]
    ] == [f"site/{number}{copy}.html" for number in range(3) for copy in "abc"]
    if given:
        assert given[0] in call("query", "site", "--in", "site.pack", status=2).stderr
    by_sketch = "query", "site", "--in", "site.pack", "--min-resemblance", "0.9", *given
    if options == ["--preset", "paper"]:
        assert "no sketches" in call(*by_sketch, status=2).stderr
    else:
        near = rows(call(*by_sketch).stdout)
        assert len(near) == 27
        assert {(each["query"][5], each["page"][5]) for each in near} == {(n, n) for n in "012"}
        assert min(each["resemblance"] for each in near) >= 0.9


@pytest.mark.parametrize("scanned", [
    (), ("--preset", "paper"), ("--preset", "exact"), ("--method", "simhash"),
    ("--method", "simhash", "--min-resemblance", "0"),
    ("--method", "minwise", "--min-resemblance", "0"),
])  # fmt: skip
@pytest.mark.parametrize("packed", [(), ("--no-sketches",)])
def test_short_pages_are_found_without_sketches_too(call, rows, tmp_path, scanned, packed):
    counts = [(letter, count) for letter in "ab" for count in (7, 70)]
    texts = [", ".join(f"{letter}{n}" for n in range(count)) + "!" for letter, count in counts]
    lines = [{"url": f"http://a.test/{text}", "text": text} for text in texts]
    write_lines(tmp_path / "x.jsonl", lines)
    call("scan", "x.jsonl", *scanned, "--output", "scan.jsonl")
    call("pack", "scan.jsonl", *packed, "--output", "x.pack")
    found = rows(call("query", "x.jsonl", "--in", "x.pack").stdout)
    assert [(row["page"], row["distance"]) for row in found] == [
        (each["url"], 0) for each in lines
    ]


def test_a_packed_file_from_python(call, site, tmp_path):
    call("scan", "site", "--output", "scan.jsonl")
    call("pack", "scan.jsonl", "--output", "site.pack")
    archive = PackedQueries.opened(str(tmp_path / "site.pack"))
    page = FoundPage(page="new", html=(site / "1c.html").read_bytes(), encoding="utf-8")
    (name, distance, resemblance), *others = archive.query(page, 3, min_resemblance=0.5)
    assert (name, distance, resemblance) == ("site/1c.html", 0, 1.0)
    assert {other[0] for other in others} == {"site/1a.html", "site/1b.html"}
    assert all(near[2] is None for near in archive.query(page, 3, max_distance=2))
    with pytest.raises(InputError, match="nothing: can't be searched for: empty"):
        archive.query(FoundPage(page="nothing", text=""), 1)
    with pytest.raises(StoreMismatchError, match="its pages were read with another hash_key"):
        PackedQueries.opened(str(tmp_path / "site.pack"), hash_key=b"0" * 16)


def test_a_page_that_cannot_be_asked_for_is_named(call, site, tmp_path):
    call("scan", "site", "--output", "scan.jsonl")
    call("pack", "scan.jsonl", "--output", "site.pack")
    (tmp_path / "x.jsonl").write_text(json.dumps({"url": "http://a.test/", "text": ""}))
    result = call("query", "x.jsonl", "--in", "site.pack")
    assert (result.stdout, result.stderr) == ("", "http://a.test/: can't be searched for: empty\n")
