"""Files as they come: every format is the same documents, whatever its bytes."""

import csv
import gzip
import io
import json
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.ipc
import pytest
from datasets import FILES, json_lines, stream
from pyarrow.parquet import read_table, write_table

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.dedupe import DedupeOptions, TrimOptions, dedupe, trim
from scrapy_neardup.offline.readers import tables
from scrapy_neardup.offline.readers.corpus import Corpus, records_of
from scrapy_neardup.offline.readers.namedcolumns import Columns

ROWS = [
    {"url": f"http://a.test/{number}", "text": text, "n": number}
    for number, text in enumerate(
        ['one, "two"', "three\nfour é", "", "同じ 日本語", 'one, "two"', "five \\ six\u2028seven"]
    )
]
COLUMNS = Columns(html=None, text="text")


def rows_of(name, content):
    """The rows of a file, read by others."""
    if name.endswith(".parquet"):
        return read_table(io.BytesIO(content)).to_pylist()
    if name == "x.arrow":
        return pa.ipc.open_stream(content).read_all().to_pylist()
    if name.endswith((".arrow", ".feather")):
        return pa.ipc.open_file(content).read_all().to_pylist()
    text = content.decode()
    if name.endswith((".csv", ".tsv")):
        delimiter = "," if name.endswith(".csv") else "\t"
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [{**row, "n": int(row["n"])} for row in rows]
    if name == "x.json":
        return json.loads(text)
    return [json.loads(line) for line in text.split("\n") if line]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_the_same_documents_whatever_the_format(tmp_path, name, packed):
    content = FILES[name](ROWS)
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    if packed and name.endswith(".parquet"):
        return  # it has compression of its own
    found = [*Corpus([str(path)], COLUMNS)]
    assert [(each.url, each.text) for each in found] == [(row["url"], row["text"]) for row in ROWS]
    assert [*map(vars_of, found)] == [*map(vars_of, Corpus([str(tmp_path)], COLUMNS))]
    corpus = Corpus([str(path)], COLUMNS)
    parts = [each for part in corpus.parts() for each in records_of(part, COLUMNS)]
    assert [*map(vars_of, found)] == [*map(vars_of, parts)]


def vars_of(record):
    return record.page, record.url, record.text, record.row


@pytest.mark.parametrize("name", FILES)
def test_what_is_kept_is_in_the_format_that_it_came_in(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name](ROWS))
    options = DedupeOptions(columns=Columns(html=None, text="text", url="url"))
    summary = dedupe([str(tmp_path / name)], str(tmp_path / "out"), options)
    assert (summary.kept, summary.equal) == (5, 1)
    kept = [row for row in ROWS if row["n"] != 4]
    assert rows_of(name, (tmp_path / "out" / name).read_bytes()) == kept


@pytest.mark.parametrize("name", FILES)
def test_lines_are_cut_and_marked_in_every_format(tmp_path, name):
    texts = [f'{"own " * n}\nshared "x" line\n{n}' for n in range(3)]
    rows = [{"text": text, "n": n} for n, text in enumerate(texts)]
    (tmp_path / name).write_bytes(FILES[name](rows))
    trim([str(tmp_path / name)], str(tmp_path / "cut"), TrimOptions(unit="lines", number=1))
    cut = rows_of(name, (tmp_path / "cut" / name).read_bytes())
    assert cut == [{"text": f"{'own ' * n}\n{n}", "n": n} for n in range(3)]
    options = TrimOptions(unit="lines", number=1, mark=True)
    trim([str(tmp_path / name)], str(tmp_path / "marked"), options)
    marked = rows_of(name, (tmp_path / "marked" / name).read_bytes())
    assert [row["text"] for row in marked] == [row["text"] for row in rows]
    marks = [row["neardup_repeated"] for row in marked]
    marks = [json.loads(each) if isinstance(each, str) else each for each in marks]
    assert marks == [[[4 * n + 1, 4 * n + 17]] for n in range(3)]


@pytest.mark.parametrize("name", FILES)
def test_marked_files_are_not_marked_again(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name](ROWS))
    marks = TrimOptions(unit="lines", number=1, mark=True)
    trim([f"{tmp_path}/{name}"], f"{tmp_path}/once", marks)
    with pytest.raises(InputError, match=f"{name}: has a column neardup_repeated already"):
        trim([f"{tmp_path}/once"], f"{tmp_path}/twice", marks)


@pytest.mark.parametrize("kept", [[1, 2], [0], [2], [], [0, 1, 2]])
def test_an_array_stays_one_whatever_is_kept(tmp_path, kept):
    texts = ["".join(f"{letter}{n} " for n in range(9)) for letter in "abc"]
    rows = [{"text": text} for text in texts]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    known = [row for number, row in enumerate(rows) if number not in kept]
    (tmp_path / "known.jsonl").write_bytes(json_lines(known).encode() or b"\n")
    dedupe([f"{tmp_path}/x.json"], f"{tmp_path}/out", existing=[f"{tmp_path}/known.jsonl"])
    assert json.loads((tmp_path / "out/x.json").read_text()) == [rows[number] for number in kept]


def test_a_folder_that_datasets_saved(tmp_path):
    folder = tmp_path / "in/train"
    folder.mkdir(parents=True)
    (folder / "data-00000-of-00002.arrow").write_bytes(stream(ROWS[:3]))
    (folder / "data-00001-of-00002.arrow").write_bytes(stream(ROWS[3:]))
    (folder / "cache-1234.arrow").write_bytes(stream(ROWS))
    (folder / "dataset_info.json").write_text("{}")
    names = [f"data-0000{number}-of-00002.arrow" for number in range(2)]
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": name} for name in names]})
    )
    (tmp_path / "in/dataset_dict.json").write_text('{"splits": ["train"]}')
    assert [each.url for each in Corpus([f"{tmp_path}/in"])] == [row["url"] for row in ROWS]
    dedupe([f"{tmp_path}/in"], f"{tmp_path}/out")
    for name in ("dataset_dict.json", "train/dataset_info.json", "train/state.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "in" / name).read_bytes()
    kept = [
        row
        for name in names
        for row in rows_of("x.arrow", (tmp_path / "out/train" / name).read_bytes())
    ]
    assert [row["n"] for row in kept] == [0, 1, 2, 3, 5]
    (folder / "dataset_info.json").write_text('{"features": {"text": {}}, "citation": "a"}')
    marks = TrimOptions(unit="lines", number=1, mark=True)
    trim([f"{tmp_path}/in"], f"{tmp_path}/marked", marks)  # one column more
    described = json.loads((tmp_path / "marked/train/dataset_info.json").read_bytes())
    assert described == {"features": None, "citation": "a"}


@pytest.mark.parametrize("state", ['{"version": 1}', '{"_data_files": ["x"]}', "[]", "torn"])
def test_another_program_may_keep_its_state_beside_arrow_files(tmp_path, state):
    (tmp_path / "x.arrow").write_bytes(stream(ROWS))
    (tmp_path / "state.json").write_text(state)
    torn = pytest.raises(InputError, match=r"state.json: not JSON")
    with torn if state == "torn" else nullcontext():
        assert len([*Corpus([str(tmp_path)])]) == len(ROWS)


def test_plain_text_is_a_document_a_file(tmp_path):
    texts, folder = ["some words of it", "others", "some words of it"], tmp_path / "in"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_bytes(text.encode("utf-8-sig"))
    assert [each.text for each in Corpus([str(folder)])] == texts
    dedupe([str(folder)], str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").glob("*.txt")) == ["0.txt", "1.txt"]


def test_parts_of_a_large_file_are_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("scrapy_neardup.offline.readers.corpus._PART", 1000)
    rows = [{"text": "x" * (n % 97 * 40), "n": n} for n in range(200)]
    text = json_lines(rows).encode().replace(b"\n", b"\n\n \n", 50)
    (tmp_path / "x.jsonl").write_bytes(text[:-1])
    write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet", row_group_size=13)
    for name in ("x.jsonl", "x.parquet"):
        corpus = Corpus([str(tmp_path / name)])
        parts = [*corpus.parts()]
        assert len(parts) > 9
        found = [vars_of(each) for part in parts for each in records_of(part)]
        assert found == [*map(vars_of, corpus)]
        assert sum(part.size for part in parts) >= (tmp_path / name).stat().st_size * 0.9
    (tmp_path / "x.jsonl").write_bytes(text + b"no\n" + text)
    bad = []
    parts = Corpus([f"{tmp_path}/x.jsonl"]).parts()
    assert len([each for part in parts for each in records_of(part, skipped=bad.append)]) == 400
    assert "line 301: not a line of JSON" in str(*bad)


def test_a_dictionary_that_grew_too_large_is_not_read_again_for_each_batch(tmp_path, monkeypatch):
    """pyarrow gives one up at a megabyte, but looks only after each 1,024 rows."""
    texts = [f"{number} " + "a word " * 400 for number in range(4000)]
    write_table(pa.table({"text": texts}), tmp_path / "x.parquet")
    decoded = []
    whole = tables._decoded
    monkeypatch.setattr(tables, "_decoded", lambda value: decoded.append(value) or whole(value))
    assert [page.text for page in Corpus([f"{tmp_path}/x.parquet"])] == texts
    assert len(decoded) == len(texts)
