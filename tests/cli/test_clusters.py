import pyarrow as pa
import pytest
from datasets import write_lines
from pyarrow.parquet import write_table


@pytest.fixture
def pages(tmp_path):
    """Two clusters of three and two pages, one page alone, one without text."""
    base = [f"w{k}" for k in range(80)]
    other = [f"v{k}" for k in range(80)]
    made = [
        ("http://site/long/address", base),
        ("http://site/v", other),
        ("http://site/b", [*base, "more", "words", "here"]),
        ("http://site/c", base),
        ("http://site/version2", [*other, "longer"]),
        ("http://site/alone", [f"u{k}" for k in range(80)]),
        ("http://site/empty", []),
    ]
    path = tmp_path / "pages.jsonl"
    write_lines(path, [{"url": url, "text": " ".join(text)} for url, text in made])
    return path


FIRST = ["http://site/long/address", "http://site/b", "http://site/c"]
SECOND = ["http://site/v", "http://site/version2"]


@pytest.mark.parametrize("memory", ["1GB", "1kB"])
@pytest.mark.parametrize(("rule", "chosen"), [
    ("first", ("http://site/long/address", "http://site/v")),
    ("shortest-url", ("http://site/b", "http://site/v")),
    ("longest-text", ("http://site/b", "http://site/version2")),
])  # fmt: skip
def test_clusters_of_pages(call, rows, pages, memory, rule, chosen):  # noqa: PLR0917
    found = call("clusters", pages, "--memory", memory, "--canonical", rule).stdout
    assert rows(found) == [
        {"canonical": chosen[0], "size": 3, "pages": FIRST},
        {"canonical": chosen[1], "size": 2, "pages": SECOND},
    ]


def test_equal_pages_are_compared_once(call, rows, tmp_path):
    """All pairs of so many would take gigabytes."""
    texts = ["a b c d e", "", "f g h i j"] * 20_000
    write_lines(tmp_path / "x.jsonl", [{"url": n, "text": each} for n, each in enumerate(texts)])
    found = rows(call("clusters", "x.jsonl", "--url-column", "text", "--id-column", "url").stdout)
    assert [(row["size"], row["pages"][:2]) for row in found] == [
        (20_000, ["0", "3"]), (20_000, ["2", "5"]),
    ]  # fmt: skip
    write_lines(tmp_path / "none.jsonl", [])
    assert call("clusters", "none.jsonl").stdout == ""


def test_pairs_of_row_numbers(call, rows):
    pairs = '{"a": 7, "b": 1000, "distance": 0}\n\n{"a": 1000, "b": 8, "distance": 3}\n'
    options = ("--pairs", "-", "--canonical", "shortest-url")
    found = rows(call("clusters", *options, stdin=pairs).stdout)
    assert found == [{"canonical": 7, "size": 3, "pages": [7, 1000, 8]}]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_fingerprints_that_pairs_connect(call, rows, site, kind):
    call("scan", site, "--preset", "paper", "--output", "scan.jsonl")
    call("pairs", "scan.jsonl", "--output", f"pairs.{kind}")
    found = rows(call("clusters", "--pairs", f"pairs.{kind}").stdout)
    assert [row["pages"] for row in found] == [
        [f"{site}/{number}{copy}.html" for copy in "abc"] for number in range(3)
    ]


@pytest.mark.parametrize("name", [None, 1.5, ["a"], b"a", {"a": "a"}])
def test_what_is_no_pair_in_parquet_is_named(call, name):
    write_table(pa.table({"a": ["a", "b"], "b": pa.array([name] * 2)}), "pairs.parquet")
    result = call("clusters", "--pairs", "pairs.parquet", status=2)
    assert "pairs.parquet, row 1: not a pair" in result.stderr


def test_a_sketch_keeps_one_shingle_in_m(call, rows, site):
    found = rows(call("clusters", site, "--modulus", 4, "--threshold", 0.5).stdout)
    assert [row["size"] for row in found] == [3, 3, 3]


@pytest.mark.parametrize("memory", [(), ("--memory", "2MB")])
def test_clusters_by_features(call, rows, pages, memory):
    options = ("--method", "features", *memory)
    found = rows(call("clusters", pages, *options, "--features", "8,8,1").stdout)
    assert [row["pages"] for row in found] == [FIRST, SECOND]
    found = rows(call("clusters", pages, *options, "--canonical", "longest-text").stdout)
    assert [row["canonical"] for row in found] == ["http://site/b", "http://site/version2"]
    found = rows(call("clusters", pages, *options, "--features", "6,14,6").stdout)
    assert [row["pages"] for row in found] == [FIRST[::2]]
