"""Text that isn't Unicode is compared in Windows-1252, and written back as it came."""

import json
import tracemalloc
from itertools import pairwise

import pyarrow as pa
import pytest
from datasets import removed_of
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.parquet import read_table, write_table

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.offline.dedupe import DedupeOptions, TrimOptions, dedupe, trim
from scrapy_neardup.offline.dedupe.cutting import (
    cut_object,
    cut_record,
    spans_of,
    token_starts,
    without,
)
from scrapy_neardup.offline.readers import textual
from scrapy_neardup.offline.readers.namedcolumns import Columns
from scrapy_neardup.text import normalize

WORDS = " ".join(f"word{number}" for number in range(30))
ODD = {
    "high surrogate": b'"a\\ud83d b"',
    "low surrogate": b'"\\udc00"',
    "pair the wrong way round": b'"\\udc00\\ud83d"',
    "invalid bytes": b'"a\xff\xfe b"',
    "cut sequence": b'"caf\xc3"',
    "encoded surrogate": b'"\xed\xa0\x80"',
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("how", ["documents", "lines", "paragraphs", "substrings", "mark"])
def test_what_is_not_unicode_stays(tmp_path, odd, how):
    value = ODD[odd]
    lines = [
        b'{"id": %s, "text": "shared words of a line\\nown %d", "more": %s}\n' % (value, n, value)
        for n in range(2)
    ]
    lines.append(b'{"id": 3, "text": "shared words of a line\\n%s"}\n' % value[1:-1])
    (tmp_path / "x.jsonl").write_bytes(b"".join(lines))
    out = tmp_path / "out"
    if how == "documents":
        dedupe([f"{tmp_path}/x.jsonl"], str(out), DedupeOptions(columns=Columns(id="id")))
        assert (out / "x.jsonl").read_bytes() == b"".join(lines)
        return
    number = 6 if how == "substrings" else 1
    unit = "lines" if how == "mark" else how
    options = TrimOptions(unit=unit, number=number, mark=how == "mark")
    trim([f"{tmp_path}/x.jsonl"], str(out), options)
    found = (out / "x.jsonl").read_bytes().splitlines(keepends=True)
    if how == "mark":
        marks = b', "neardup_repeated": [[0, 23]]}\n'
        assert found == [line.removesuffix(b"}\n") + marks for line in lines]
    elif how == "lines":
        assert found == [line.replace(b"shared words of a line\\n", b"") for line in lines]
    elif how == "substrings":
        cut = lines[1].replace(b"shared words of a line\\nown ", b"")
        assert found == [lines[0], cut, lines[2]]
    else:
        assert found == lines


@pytest.mark.parametrize("odd", ODD)
def test_a_removed_document_has_its_name(tmp_path, odd):
    name = ODD[odd]
    text = WORDS.encode()
    lines = [b'{"id": %s, "text": "%s"}\n' % (each, text) for each in (b'"first"', name)]
    (tmp_path / "x.jsonl").write_bytes(b"".join(lines))
    dedupe([f"{tmp_path}/x.jsonl"], f"{tmp_path}/out", DedupeOptions(columns=Columns(id="id")))
    (found,) = removed_of(tmp_path / "out")
    assert found == json.loads(name.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
@pytest.mark.parametrize("how", ["documents", "lines"])
def test_columns_of_bytes(tmp_path, kind, how):
    texts = [b"shared \xff line\nown", b"shared \xff line\nother \xc3", b"new", None]
    ends = pa.array(texts, pa.large_binary()).cast(kind, safe=False)
    rows = pa.table({"text": ends, "id": pa.array(b"abcd", pa.int8())})
    write_table(rows, tmp_path / "x.parquet")
    if how == "documents":
        summary = dedupe([f"{tmp_path}/x.parquet"], f"{tmp_path}/out")
        assert (summary.documents, summary.kept) == (4, 4)
        wanted = texts
    else:
        trim([f"{tmp_path}/x.parquet"], f"{tmp_path}/out", TrimOptions(unit="lines", number=1))
        wanted = [b"own", b"other \xc3", b"new", None]
    column = read_table(tmp_path / "out/x.parquet").column("text")
    assert column.type == kind
    assert column.cast(pa.large_binary()).to_pylist() == wanted


@pytest.mark.parametrize(("encoding", "names"), [
    ("cp1252", ["M\u00fcller", "M\u00f6ller"]),
    ("cp1251", ["\u043a\u043e\u0442", "\u043f\u0451\u0441"]),
    ("gb18030", ["\u732b", "\u72d7"]),
])  # fmt: skip
@pytest.mark.parametrize("end", ["csv", "txt"])
def test_texts_in_another_encoding_differ_if_their_letters_do(tmp_path, end, encoding, names):
    folder = tmp_path / "in"
    folder.mkdir()
    head = "text\n" * (end == "csv")
    for name in names:
        (folder / f"{name}.{end}").write_bytes(f"{head}2023 {name}\n".encode(encoding))
    assert dedupe([str(folder)], f"{tmp_path}/out").kept == 2
    if head:
        paths = [str(folder / f"{name}.csv") for name in names]
        trim(paths, f"{tmp_path}/cut", TrimOptions(unit="substrings", number=1))
        assert (tmp_path / f"cut/{names[1]}.csv").read_text(encoding) == f"text\n{names[1]}\n"


def spelt(text):
    return st.sampled_from([json.dumps(text), json.dumps(text, ensure_ascii=False)])


CHARACTERS = st.characters(codec=None) | st.sampled_from('"\\\n\ud800é😀')


@given(st.data(), st.text(CHARACTERS, max_size=20))
def test_a_cut_changes_the_text_alone(data, text):
    written = data.draw(spelt(text))
    edges = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [*pairwise(edges)][::2]
    first = ' {"k" :1e400, "text": "other", "a": [1.10, {"text": 5}],"text" : '
    last = ', "k": 2}\n'
    cut = cut_object(first + written + last, "text", spans)
    assert json.loads(cut)["text"] == without(text, spans)
    assert cut.startswith(first)
    assert cut.endswith(last)
    if "\x00" not in text:
        quoted = '"' + text.replace('"', '""') + '"'
        record = cut_record(
            f"1,{quoted},a b\r\n", "b", textual.Header(["a", "b", "c"], ","), spans
        )
        assert record == f'1,"{without(text, spans).replace(chr(34), chr(34) * 2)}",a b\r\n'


def test_a_cut_takes_a_few_bytes_a_character():
    text = 'a line, "quoted"\n' * 6_000
    header = textual.Header(["text"], ",")
    quoted = '"' + text.replace('"', '""') + '"'
    tracemalloc.start()
    cut_object(json.dumps({"text": text}), "text", [(0, 8)])
    cut_record(quoted, "text", header, [(0, 8)])
    assert tracemalloc.get_traced_memory()[1] < 12 * len(text)
    tracemalloc.stop()


MIXED = "ab A_1 .,\n-'\"漢字かなไทกำé\u0301\u0308\u200d\u200b\u00ad한\u1161\ud800ß"


@given(st.text(st.sampled_from(MIXED), max_size=30))
def test_tokens_have_places(text):
    starts = token_starts(text)
    assert len(starts) == len(token_hashes(text))
    tokens = [normalize(text[a:b]).split() for a, b in pairwise([*starts, len(text)])]
    # A hyphen within a word is a sign where the text is cut in front of it.
    found = [token for each in tokens for token in each if token != b"-"]
    assert found == [token for token in normalize(text).split() if token != b"-"]


TEXTS = {
    "Chinese": "今天天气很好我们去公园散步看见了一只狗和很多花",
    "Japanese": "吾輩は猫であるカタカナ名前はまだ無いどこで生れたか",
    "Thai": "วันนี้อากาศดีมากเราไปเดินเล่นที่สวนสาธารณะ",
    "Korean": "오늘은 날씨가 아주 좋아서 우리는 공원에 산책하러 갔다 그리고 개를 봤다 정말",
    "English": "River stone, window; garden market letter winter copper bridge station",
    "Khmer": "ថ្ងៃនេះអាកាសធាតុល្អណាស់យើងទៅដើរលេងនៅសួន",
}


@pytest.mark.parametrize("language", TEXTS)
def test_substrings_of_any_script(tmp_path, language):
    text = TEXTS[language]
    rows = [{"text": f"A1 {text} B1"}, {"text": f"C2 {text} D2"}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    trim([f"{tmp_path}/x.jsonl"], f"{tmp_path}/out", TrimOptions(unit="substrings", number=8))
    found = [json.loads(line) for line in (tmp_path / "out/x.jsonl").read_text().splitlines()]
    assert found == [rows[0], {"text": "C2 D2"}]


@pytest.mark.parametrize("blanks", [" ", "\n", " \n", "\t", "\u3000", "\r"])
@pytest.mark.parametrize("kind", ["lines", "paragraphs", "substrings"])
def test_a_run_of_blanks_takes_no_time(kind, blanks):
    """Quadratic time for two million would be hours."""
    assert len(spans_of("a" + blanks * 2_000_000 + "\n\nb", kind, 1)) == 2


def test_equal_values_of_parquet_are_sketched_once(tmp_path, monkeypatch):
    from scrapy_neardup.offline.dedupe import sketching

    texts = [letter * 9 + " word" * 700_000 for letter in "ab"]
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 300), pa.array(texts))
    write_table(pa.table({"text": values}), tmp_path / "x.parquet", compression="zstd")
    sketched = []
    real = sketching.token_hashes_of_each
    monkeypatch.setattr(
        sketching, "token_hashes_of_each", lambda texts: sketched.append(texts) or real(texts)
    )
    summary = dedupe([f"{tmp_path}/x.parquet"], f"{tmp_path}/out", DedupeOptions())
    assert (summary.documents, summary.equal, len(sketched)) == (600, 598, 2)
    assert read_table(tmp_path / "out/x.parquet").num_rows == summary.kept


def test_a_dangling_link_and_a_line_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(textual, "MAX_LINE", 1000)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    good = [json.dumps({"text": f"some words {n}"}) + "\n" for n in range(3)]
    long = json.dumps({"text": "x " * 999}) + "\n"
    (folder / "x.jsonl").write_text(good[0] + long + good[1] + good[2])
    for inputs in ([str(folder)], [f"{folder}/gone.jsonl", f"{folder}/x.jsonl"]):
        with pytest.raises(InputError, match=r"gone.jsonl: can't be read: No such file"):
            dedupe(inputs, f"{tmp_path}/strict{len(inputs)}")
        out = tmp_path / f"out{len(inputs)}"
        summary = dedupe(inputs, str(out), DedupeOptions(skip_bad=True))
        assert (summary.bad_files, summary.bad_lines, summary.kept) == (1, 1, 3)
        assert (out / "x.jsonl").read_text() == "".join(good)
    with pytest.raises(InputError, match=r"x.jsonl, line 2: longer than"):
        dedupe([f"{folder}/x.jsonl"], f"{tmp_path}/lines")
