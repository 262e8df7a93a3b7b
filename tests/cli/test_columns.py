"""Names of columns, folders of any format, and results in Parquet, for every verb."""

import csv
import json

import pyarrow as pa
import pytest
from pyarrow.parquet import read_table, write_table

TEXTS = [" ".join(f"{letter}{number}" for number in range(60)) for letter in "abab"]
ROWS = [
    {"key": f"k{number}", "meta": {"link": f"http://a.test/{number}"}, "body": text}
    for number, text in enumerate(TEXTS)
]
NAMED = "--text-column", "body", "--id-column", "key", "--url-column", "meta.link"


@pytest.fixture(params=["parquet", "lines", "array", "arrow", "csv"])
def data(request, tmp_path):
    """A folder with these rows."""
    folder = tmp_path / "data"
    folder.mkdir()
    table = pa.Table.from_pylist(ROWS)
    if request.param == "parquet":
        write_table(table, folder / "x.parquet")
    elif request.param == "lines":
        (folder / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif request.param == "array":
        (folder / "x.json").write_text(json.dumps(ROWS))
    elif request.param == "arrow":
        with pa.ipc.new_stream(str(folder / "x.arrow"), table.schema) as writer:
            writer.write_table(table)
    else:
        with (folder / "x.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["key", "meta.link", "body"])
            writer.writerows([row["key"], row["meta"]["link"], row["body"]] for row in ROWS)
    return folder.name


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
    call("dedupe", data, "--output", "out", *NAMED)


@pytest.mark.parametrize(
    "verb", [["scan"], ["join"], ["clusters"], ["tune"], ["dedupe", "--output", "out"]]
)
def test_a_column_that_is_not_there_is_named(call, verb, tmp_path):
    (tmp_path / "x.csv").write_text("text\nsome words\n")
    result = call(*verb, "x.csv", "--id-column", "key", status=2)
    assert 'x.csv, row 1: has no "key"' in result.stderr
    result = call(*verb, "x.csv", "--text-column", "a", status=2)
    assert "--text-column or --html-column names another column" in result.stderr
    call(*verb, "x.csv", "--text-column", "a", "--html-column", "b", status=2)


def test_parquet_out_of_every_verb(call, rows, tmp_path):
    lines = [{"url": row["meta"]["link"], "text": row["body"]} for row in ROWS]
    lines.append({"url": "http://a.test/\ud800", "text": ""})
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    call("scan", "x.jsonl", "--output", "scan.jsonl")
    for name, arguments in {
        "scan": ["scan", "x.jsonl"],
        "signed": ["scan", "x.jsonl", "--signature", "winnowing"],
        "join": ["join", "x.jsonl"],
        "clusters": ["clusters", "x.jsonl"],
        "query": ["query", "x.jsonl", "--in", "x.jsonl"],
        "pairs": ["pairs", "scan.jsonl"],
        "features": ["pairs", "scan.jsonl", "--by", "features"],
    }.items():
        wanted = rows(call(*arguments).stdout)
        call(*arguments, "--output", f"{name}.parquet")
        found = read_table(f"{name}.parquet").to_pylist()
        assert len(found) == len(wanted) > 0
        for row, line in zip(found, wanted, strict=True):
            for key, value in line.items():
                if isinstance(value, str):
                    assert row[key] == value.replace("\ud800", "?")
                elif isinstance(value, int | float) and key != "distance":
                    assert row[key] == value
