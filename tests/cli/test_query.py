"""``scrapy-neardup query``."""

import re
from pathlib import Path


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
    assert {"query": "site/2b.html", "page": "site/2b.html", "distance": 0} in found
    assert {each["page"][5] for each in found} == {"2"}
    call("unpack", "site.pack", "--output", "site.u64")
    call("pack", "site.u64", "--output", "nameless.pack")
    nameless = rows(call("query", "site/2b.html", "--in", "nameless.pack").stdout)
    assert [each["distance"] for each in nameless] == [each["distance"] for each in found]
    assert all(isinstance(each["page"], int) for each in nameless)
