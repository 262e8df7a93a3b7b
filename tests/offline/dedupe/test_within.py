"""Lines, paragraphs and runs of words that repeat, against brute force."""

import csv
import json
from collections import defaultdict
from dataclasses import replace

import pytest
from datasets import KilledError, killed_before, tree, write_lines, write_parquet
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.parquet import read_table

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.offline.dedupe import TrimOptions, trim
from scrapy_neardup.offline.dedupe.cutting import digests_of, merged, spans_of, without
from scrapy_neardup.offline.readers import files

texts = st.lists(st.text(st.sampled_from("ab \n"), max_size=40), min_size=1, max_size=6)


def trimmed(folder, rows, options, *, files=2):
    """The texts of a data set in two files of JSON lines, trimmed."""
    folder.mkdir(parents=True)
    half = -(-len(rows) // files)
    for number in range(files):
        write_lines(folder / f"{number}.jsonl", rows[number * half : (number + 1) * half])
    trim([str(folder)], str(folder.parent / "out"), options)
    return [
        json.loads(line)
        for path in sorted((folder.parent / "out").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def as_rows(texts):
    return [{"text": text, "id": number} for number, text in enumerate(texts)]


@settings(max_examples=30)
@given(texts, st.integers(1, 2), st.booleans())
def test_lines(tmp_path_factory, texts, number, but_first):
    options = TrimOptions(unit="lines", number=number, but_first=but_first)
    found = trimmed(tmp_path_factory.mktemp("x") / "in", as_rows(texts), options)
    having = defaultdict(list)
    for document, text in enumerate(texts):
        for line in {line.strip() for line in text.split("\n") if line.strip()}:
            having[line].append(document)

    def stays(line, document):
        documents = having.get(line.strip(), ())
        return len(documents) <= number or (but_first and documents[0] == document)

    for document, (row, text) in enumerate(zip(found, texts, strict=True)):
        kept = [line for line in text.splitlines(keepends=True) if stays(line, document)]
        assert row["text"] == "".join(kept)


def repeated_words(texts, size):
    """For each text whether each of its words is in a run that was there before."""
    seen, found = set(), []
    for text in texts:
        words = text.split()
        gone = [False] * len(words)
        for start in range(len(words) - size + 1):
            run = tuple(words[start : start + size])
            if run in seen:
                gone[start : start + size] = [True] * size
            seen.add(run)
        found.append(gone)
    return found


@settings(max_examples=30)
@given(st.lists(st.text(st.sampled_from("ab "), max_size=40), min_size=1, max_size=6),
       st.integers(1, 4))  # fmt: skip
def test_substrings(tmp_path_factory, texts, size):
    options = TrimOptions(unit="substrings", number=size)
    found = trimmed(tmp_path_factory.mktemp("x") / "in", as_rows(texts), options)
    for row, text, gone in zip(found, texts, repeated_words(texts, size), strict=True):
        kept = [word for word, goes in zip(text.split(), gone, strict=True) if not goes]
        assert row["text"].split() == kept


def test_paragraphs(tmp_path):
    texts = ["own 1\n\nshared\nby all\n\nend", "own 2\n\nshared\nby all", "shared\nby all\n \nx"]
    options = TrimOptions(unit="paragraphs", number=2)
    found = [row["text"] for row in trimmed(tmp_path / "in", as_rows(texts), options)]
    assert found == ["own 1\n\nend", "own 2\n\n", "x"]


def test_hosts_are_counted_one_by_one(tmp_path):
    rows = [
        {"text": "menu\nown", "url": f"http://{host}.test/{number}"}
        for host, count in (("a", 3), ("b", 2))
        for number in range(count)
    ]
    options = TrimOptions(unit="lines", number=2, per_host=True)
    found = [row["text"] for row in trimmed(tmp_path / "in", rows, options)]
    assert found == [""] * 3 + ["menu\nown"] * 2
    with pytest.raises(InputError, match='line 1: has no "link"'):
        trimmed(tmp_path / "else" / "in", rows, replace(options, url="link"))


@pytest.mark.parametrize(
    ("header", "before", "behind"),
    [
        ("id,id,text", '1,"2",', ""),
        (",,text,", "0,1,", ",z"),
        ("text,a,text,a", "kept,1,", ",2"),
        ("a,text,a", 'x"y,', ",2"),
    ],
)
def test_csv_may_have_several_columns_of_one_name(tmp_path, header, before, behind):
    (tmp_path / "x.csv").write_text(header + f'\n{before}"own\nmenu"{behind}' * 2 + "\n")
    trim([f"{tmp_path}/x.csv"], f"{tmp_path}/out", TrimOptions(unit="lines", number=1))
    found = [*csv.reader((tmp_path / "out/x.csv").read_text().splitlines())]
    row = next(csv.reader([f'{before}""{behind}']))
    assert found == [header.split(","), row, row]


def test_marks(tmp_path):
    rows = as_rows(["a\nmenu\nb", "menu\n", "c"])
    write_parquet(tmp_path / "x.parquet", rows)
    write_lines(tmp_path / "y.jsonl.gz", rows)
    options = TrimOptions(unit="lines", number=1, mark=True)
    paths = [f"{tmp_path}/x.parquet", f"{tmp_path}/y.jsonl.gz"]
    summary = trim(paths, str(tmp_path / "out"), options)
    table = read_table(tmp_path / "out/x.parquet")
    assert table["text"].to_pylist() == [row["text"] for row in rows]
    assert table["neardup_repeated"].to_pylist() == [[[0, 8]], [[0, 5]], [[0, 1]]]
    assert (summary.documents, summary.trimmed, summary.files) == (6, 6, 2)
    assert summary.characters == summary.of_characters == 28


@pytest.mark.parametrize("step", range(0, 14, 2))
def test_killed_before_any_file(tmp_path, monkeypatch, step):
    texts = ["\n".join(f"line {number % size}" for number in range(9)) for size in range(2, 9)]
    write_lines(tmp_path / "x.jsonl", as_rows(texts))
    write_parquet(tmp_path / "y.parquet", as_rows(texts))
    paths = [str(tmp_path / "x.jsonl"), str(tmp_path / "y.parquet")]
    options = TrimOptions(unit="lines", number=6)
    trim(paths, str(tmp_path / "whole"), options)
    with monkeypatch.context() as patch:
        patch.setattr(files.Path, "replace", killed_before(step, files.Path.replace))
        with pytest.raises(KilledError):
            trim(paths, str(tmp_path / "out"), options)
    trim(paths, str(tmp_path / "out"), options, resume=True)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_what_cant_be_trimmed(tmp_path):
    (tmp_path / "x.html").write_text("<p>a")
    options = TrimOptions(unit="lines", number=1)
    with pytest.raises(InputError, match="removed only from files with columns"):
        trim([str(tmp_path / "x.html")], str(tmp_path / "out"), options)
    with pytest.raises(ConfigurationError, match=r"a.b: .* only from a column of texts"):
        TrimOptions(unit="lines", number=1, text="a.b")
    with pytest.raises(ConfigurationError, match="the number for lines"):
        TrimOptions(unit="lines", number=0)


@given(st.text(st.sampled_from("ab \n\t"), max_size=60), st.integers(1, 3))
def test_units_are_where_they_are_said_to_be(text, size):
    for kind in ("lines", "paragraphs", "substrings"):
        spans, digests = spans_of(text, kind, size), digests_of(text, kind, size)
        assert len(spans) == len(digests)
        parts = [" ".join(text[start:end].split()) for start, end in spans.tolist()]
        assert all(parts)
        if kind == "substrings":
            assert [len(part.split()) for part in parts] == [size] * len(parts)
            for one, mine in zip(parts, digests.tolist(), strict=True):
                for other, theirs in zip(parts, digests.tolist(), strict=True):
                    assert (one == other) == (mine == theirs)
        else:
            assert without(text, merged(spans)).strip() == ""
