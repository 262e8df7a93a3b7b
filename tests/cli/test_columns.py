"""Names of columns, folders of any format, and results in Parquet, for every verb."""

import json

import pytest
from datasets import FILES
from pyarrow.parquet import read_table

TEXTS = [" ".join(f"{letter}{number}" for number in range(60)) for letter in "abab"]
ROWS = [
    {"key": f"k{number}", "meta": {"link": f"http://a.test/{number}"}, "body": text}
    for number, text in enumerate(TEXTS)
]
NAMED = "--text-column", "body", "--id-column", "key", "--url-column", "meta.link"


@pytest.fixture(params=["x.parquet", "x.jsonl", "x.json", "x.arrow", "x.csv"])
def data(request, tmp_path):
    """A folder with these rows; CSV has no objects, but may have a dot in a name."""
    flat = [
        {"key": row["key"], "meta.link": row["meta"]["link"], "body": row["body"]} for row in ROWS
    ]
    content = FILES[request.param](flat if request.param == "x.csv" else ROWS)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / request.param).write_bytes(content)
    return "data"


def test_every_verb_takes_any_names(call, rows, data):
    scanned = rows(call("scan", data, *NAMED).stdout)
    assert [(row["page"], row["verdict"], row["of"]) for row in scanned] == [
        ("k0", "new", None),
        ("k1", "new", None),
        ("k2", "duplicate", "http://a.test/0"),
        ("k3", "duplicate", "http://a.test/1"),
    ]
    joined = rows(call("join", data, *NAMED).stdout)
    assert [(row["a"], row["b"]) for row in joined] == [("k0", "k2"), ("k1", "k3")]
    for method in ("exact", "features"):
        found = rows(call("clusters", data, "--method", method, *NAMED).stdout)
        assert [row["pages"] for row in found] == [["k0", "k2"], ["k1", "k3"]]
    found = rows(call("query", "--like", TEXTS[0], "--in", data, *NAMED).stdout)
    assert [row["page"] for row in found] == ["k0", "k2"]
    loaded = call("load", data, "--store", "sqlite:x.db", "--namespace", "n", *NAMED)
    assert "4 pages" in loaded.stderr
    assert "precision" in call("tune", data, *NAMED).stdout
    made = json.loads(call("dedupe", data, "--output", "out", *NAMED).stdout)
    assert (made["kept"], made["equal"]) == (2, 2)


@pytest.mark.parametrize(
    "verb", [["scan"], ["join"], ["clusters"], ["tune"], ["dedupe", "--output", "out"]]
)
def test_a_column_that_is_not_there_is_named(call, verb, tmp_path):
    (tmp_path / "x.csv").write_text("text\nsome words\n")
    result = call(*verb, "x.csv", "--id-column", "key", status=2)
    assert 'x.csv: has no column "key" but text' in result.stderr
    result = call(*verb, "x.csv", "--text-column", "a", status=2)
    assert "--text-column or --html-column names another column" in result.stderr
    call(*verb, "x.csv", "--text-column", "a", "--html-column", "b", status=2)


@pytest.mark.parametrize("ending", ["parquet", "Parquet"])
def test_parquet_out_of_every_verb(call, rows, tmp_path, ending):
    lines = [{"url": row["meta"]["link"], "text": row["body"]} for row in ROWS]
    lines.append({"url": "http://a.test/\ud800", "text": ""})
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    call("scan", "x.jsonl", "--output", "scan.jsonl")
    for name, arguments in {
        "scan": ["scan", "x.jsonl"],
        "join": ["join", "x.jsonl"],
        "clusters": ["clusters", "x.jsonl"],
        "query": ["query", "x.jsonl", "--in", "x.jsonl"],
        "pairs": ["pairs", "scan.jsonl"],
    }.items():
        wanted = rows(call(*arguments).stdout)
        call(*arguments, "--output", f"{name}.{ending}")
        found = read_table(f"{name}.{ending}").to_pylist()
        assert len(found) == len(wanted) > 0
        for row, line in zip(found, wanted, strict=True):
            for key, value in line.items():
                if isinstance(value, str):
                    assert row[key] == value.replace("\ud800", "?")
                elif isinstance(value, int | float) and key != "distance":
                    assert row[key] == value
    assert (
        call("clusters", "--pairs", f"join.{ending}").stdout == call("clusters", "x.jsonl").stdout
    )
    assert call("changes", f"scan.{ending}", "scan.jsonl").stdout == ""
