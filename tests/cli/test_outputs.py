"""Where results go, and that they replace nothing that is read."""

import json

import pytest
from datasets import json_lines

LONG = " ".join(map(str, range(99)))
PAGES = [{"url": f"http://a.test/{n}", "text": text} for n, text in enumerate([LONG, "", LONG])]


@pytest.fixture
def pages(tmp_path):
    path = tmp_path / "pages.jsonl"
    path.write_text(json_lines(PAGES))
    return path


@pytest.mark.parametrize(
    "verb",
    ["scan pages.jsonl", "join pages.jsonl", "clusters pages.jsonl",
     "query --like a --in pages.jsonl", "pairs pages.jsonl", "pairs x --existing pages.jsonl",
     "pack pages.jsonl", "unpack pages.jsonl", "changes pages.jsonl x", "report pages.jsonl",
     "rules pages.jsonl", "clusters --pairs pages.jsonl"],
)  # fmt: skip
@pytest.mark.parametrize("output", ["pages.jsonl", "../{}/pages.jsonl", "link"])
def test_an_input_is_not_replaced(call, tmp_path, pages, verb, output):
    (tmp_path / "link").symlink_to(pages)
    target = output.format(tmp_path.name)
    result = call(*verb.split(), "--output", target, status=2)
    assert result.stderr == f"Error: --output: {target} is an input, too\n"
    assert pages.read_text() == json_lines(PAGES)


def test_fingerprints_that_scan_wrote_as_parquet(call, tmp_path, pages):
    (tmp_path / "none.jsonl").write_text(json_lines([{"text": ""}]))
    call("scan", "none.jsonl", "--output", "none.parquet")
    assert call("pairs", "none.parquet").stdout == ""
    for name in ("x.jsonl", "x.parquet"):
        call("scan", pages, "--output", name)
        call("pack", name, "--output", f"{name}.pack")
    assert (tmp_path / "x.jsonl.pack").read_bytes() == (tmp_path / "x.parquet.pack").read_bytes()
    found = json.loads(call("pairs", "x.parquet").stdout)
    assert found == {"a": "http://a.test/0", "b": "http://a.test/2", "distance": 0}
    assert len(call("pairs", "x.jsonl", "--existing", "x.parquet").stdout.splitlines()) == 4
