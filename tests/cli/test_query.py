"""``scrapy-neardup query``."""

import json


def test_pages_of_a_collection(call, site, rows):
    found = rows(call("query", "site/1a.html", "--in", "site", "--top", 4).stdout)
    assert [each["page"] for each in found[:3]] == [f"site/1{copy}.html" for copy in "abc"]
    assert found[0] == {"query": "site/1a.html", "page": "site/1a.html", "resemblance": 1.0}
    found = rows(call("query", "site", "--in", "site", "--min-resemblance", 0.8).stdout)
    assert len(found) == 27


def test_a_text(call, site, rows):
    assert call("query", "--in", "site", "--like", "of no page of this site").stdout == ""
    (tmp,) = rows(call("scan", "site/1a.html").stdout)
    assert tmp["tokens"] > 300


def test_a_packed_file(call, site, rows, tmp_path):
    scanned = call("scan", "site").stdout
    (tmp_path / "scan.jsonl").write_text(scanned)
    call("pack", "scan.jsonl", "--output", "site.pack")
    found = rows(call("query", "site/2b.html", "--in", "site.pack").stdout)
    assert {"query": "site/2b.html", "page": "site/2b.html", "distance": 0} in found
    assert {each["page"][5] for each in found} == {"2"}


def test_pairs_in_parquet_are_clustered(call, site, tmp_path):
    (tmp_path / "scan.jsonl").write_text(call("scan", "site").stdout)
    for kind in ("jsonl", "parquet"):
        call("pairs", "scan.jsonl", "--format", kind, "--output", f"pairs.{kind}")
        call("clusters", "--pairs", f"pairs.{kind}", "--output", f"{kind}.clusters")
    lines = (tmp_path / "jsonl.clusters").read_text()
    assert (tmp_path / "parquet.clusters").read_text() == lines
    assert json.loads(lines.splitlines()[0])["size"] == 3
