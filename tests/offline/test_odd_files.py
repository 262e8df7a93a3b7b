"""Files that other programs write, and folders as they are: every document, or one line of why."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import zlib
from contextlib import nullcontext

import fsspec
import pytest
from datasets import FILES, json_lines, table_of
from warcs import HTML, html, warc

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.dedupe import DedupeOptions, TrimOptions, dedupe, trim
from scrapy_neardup.offline.files.fingerprintfiles import open_source
from scrapy_neardup.offline.jobs.scanning import texts as read_texts
from scrapy_neardup.offline.readers.compression import zstandard
from scrapy_neardup.offline.readers.corpus import Corpus, records_of
from scrapy_neardup.offline.readers.namedcolumns import Columns

TEXTS = ['one "two", three; four', "five é | six\tseven", 'one "two", three; four', "eight"]
ROWS = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS)]
LINES = json_lines(ROWS).encode()
halves = lambda content: (content[: len(content) // 2], content[len(content) // 2 :])
PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: b"".join(zstandard().compress(part) for part in halves(content)),
}
UNPACK = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": lambda content: zstandard().decompress(content),
}


def texts(path):
    return [each.text for each in Corpus([str(path)])]


def deduped(tmp_path, name, content):
    """The bytes of a file without its duplicates."""
    (tmp_path / name).write_bytes(content)
    assert dedupe([f"{tmp_path}/{name}"], f"{tmp_path}/out").equal == 1
    return (tmp_path / "out" / name).read_bytes()


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x.tsv", "x.txt", "x.html"])
def test_every_compression(tmp_path, packed, name):
    path = tmp_path / f"{name}.{packed}"
    if name in FILES:
        content = FILES[name](ROWS)
        kept = UNPACK[packed](deduped(tmp_path, path.name, PACK[packed](content)))
        assert kept == FILES[name](ROWS[:2] + ROWS[3:])
        assert texts(path) == TEXTS
    else:
        path.write_bytes(PACK[packed](HTML))
        (page,) = Corpus([str(path)])
        assert page.html == HTML if name == "x.html" else page.text.startswith("<!doctype")


@pytest.mark.parametrize("packed", PACK)
def test_damaged_compression_is_named(tmp_path, packed):
    for content in (PACK[packed](LINES)[:-9], PACK[packed](LINES)[:20] + b"\xff" * 40):
        (tmp_path / f"x.jsonl.{packed}").write_bytes(content)
        with pytest.raises(InputError, match=f"x.jsonl.{packed}: "):
            texts(tmp_path / f"x.jsonl.{packed}")


@pytest.mark.parametrize("packed", PACK)
def test_what_follows_compressed_data_is_read_or_named(tmp_path, packed):
    """Python's own readers of bzip2 and xz would end there without an error."""
    whole, path = PACK[packed](LINES), tmp_path / f"x.jsonl.{packed}"
    path.write_bytes(whole * 2)
    assert texts(path) == TEXTS * 2
    for more in (b"something else", whole[:6] + b"\xff" * 40):
        path.write_bytes(whole + more)
        with pytest.raises(InputError, match=f"x.jsonl.{packed}: "):
            texts(path)


def test_xz_that_needs_much_memory_is_told_from_a_damaged_one(tmp_path):
    packed = bytearray(lzma.compress(LINES))
    for size, found in ((30, None), (31, InputError)):  # windows of 128 and 192 MiB
        packed[16] = size
        packed[20:24] = zlib.crc32(packed[12:20]).to_bytes(4, "little")
        (tmp_path / "x.jsonl.xz").write_bytes(packed)
        with pytest.raises(found, match="its window of Zs") if found else nullcontext():
            assert texts(tmp_path / "x.jsonl.xz") == TEXTS


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "y.arrow"])
def test_tables_that_are_compressed_once_more(tmp_path, packed, name):
    kept = deduped(tmp_path, f"{name}.{packed}", PACK[packed](FILES[name](ROWS)))
    (tmp_path / name).write_bytes(UNPACK[packed](kept))
    assert texts(tmp_path / name) == TEXTS[:2] + TEXTS[3:]


def test_a_server_that_is_not_there():
    with pytest.raises(InputError, match=r"ftp://nowhere\.invalid/x\.jsonl: can't be opened"):
        texts("ftp://nowhere.invalid/x.jsonl")


def test_a_frame_without_data_may_begin_zstandard(tmp_path):
    """As pzstd writes it before each frame."""
    for kind in (0x50, 0x5F):
        head = bytes((kind, 0x2A, 0x4D, 0x18, 4, 0, 0, 0)) + b"size"
        (tmp_path / "x.jsonl.zst").write_bytes(head + PACK["zst"](LINES))
        assert texts(tmp_path / "x.jsonl.zst") == TEXTS


def test_zstandard_that_needs_much_memory_is_told_from_a_damaged_one(tmp_path):
    """As dumps of forums are compressed, with --long=31."""
    zstd = zstandard()
    for bits in (27, 31):
        packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: bits})
        parts = packer.compress(LINES[:9]), packer.compress(LINES[9:]), packer.flush()
        (tmp_path / f"{bits}.jsonl.zst").write_bytes(b"".join(parts))
    assert texts(tmp_path / "27.jsonl.zst") == TEXTS
    with pytest.raises(InputError, match=r"31.jsonl.zst: its window of Zstandard or xz is larger"):
        texts(tmp_path / "31.jsonl.zst")


def test_standard_input_may_be_compressed(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(gzip.compress(LINES))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert texts("-") == TEXTS


def test_parts_of_a_file_that_is_compressed_by_its_content_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("scrapy_neardup.offline.readers.corpus._PART", 10)
    (tmp_path / "x.jsonl").write_bytes(gzip.compress(LINES))
    parts = Corpus([f"{tmp_path}/x.jsonl"]).parts()
    assert [each.text for part in parts for each in records_of(part)] == TEXTS


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff\n", "\ufeff \r\n\n"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_a_mark_may_be_all_of_the_first_line(tmp_path, mark, name):
    (tmp_path / name).write_bytes(mark.encode())
    assert texts(tmp_path / name) == []
    assert deduped(tmp_path, name, mark.encode() + LINES).startswith(mark.encode() + LINES[:20])


def test_a_field_of_csv_may_have_very_many_lines(tmp_path):
    """In quadratic time these took minutes."""
    long = "a line\n" * 300_000
    (tmp_path / "x.csv").write_text(f'id,text\n1,"{long}"\n2,b\n')
    assert texts(tmp_path / "x.csv") == [long, "b"]
    (tmp_path / "x.csv").write_text(f'id,text\n1,"{long}\n2,b\n')
    with pytest.raises(InputError, match=r"never closed|has 2 fields"):
        texts(tmp_path / "x.csv")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "before", ["", "\ufeff", "\r\n\n", "\ufeff\r\n", "sep={}\r\n", "\ufeffsep={}\n"]
)
def test_dialects_of_csv(tmp_path, delimiter, before):
    start = before.format(delimiter).encode()
    kept = deduped(tmp_path, "x.csv", start + table_of(ROWS, delimiter))
    assert texts(tmp_path / "x.csv") == TEXTS
    assert kept == start + table_of(ROWS[:2] + ROWS[3:], delimiter)
    options = TrimOptions(unit="lines", number=1)
    trim([f"{tmp_path}/x.csv"], f"{tmp_path}/cut", options)
    cut = [{**row, "text": "" if row["text"] == TEXTS[0] else row["text"]} for row in ROWS]
    written = (tmp_path / "cut/x.csv").read_bytes()
    assert written.startswith(start)
    found = io.StringIO(written[len(start) :].decode(), newline="")
    assert [*csv.DictReader(found, delimiter=delimiter)] == cut
    options = TrimOptions(unit="lines", number=1, mark=True)
    trim([f"{tmp_path}/x.csv"], f"{tmp_path}/marked", options)
    marked = (tmp_path / "marked/x.csv").read_bytes()[len(start) :].decode()
    rows = [*csv.DictReader(io.StringIO(marked, newline=""), delimiter=delimiter)]
    assert [json.loads(row.pop("neardup_repeated")) for row in rows] == [
        [[0, 22]],
        [],
        [[0, 22]],
        [],
    ]
    assert rows == ROWS


def test_a_delimiter_in_quotes_is_none(tmp_path):
    (tmp_path / "x.csv").write_bytes(b'"a;b;c",text\n1,one;two\n')
    assert texts(tmp_path / "x.csv") == ["one;two"]


@pytest.mark.parametrize(("first", "said"), [
    ("a,b", 'no column "html" or "text" but a, b'),
    ("just a line of text", 'no column "html" or "text"'),
])  # fmt: skip
@pytest.mark.parametrize("rows", ["", "\n", "\n1,2\n"])
def test_the_first_line_of_csv_names_the_columns(tmp_path, first, said, rows):
    """As in Parquet, also if there are no rows."""
    (tmp_path / "x.csv").write_text(first + rows)
    with pytest.raises(InputError, match=f"x.csv: has {said}"):
        texts(tmp_path / "x.csv")
    summary = dedupe([f"{tmp_path}/x.csv"], f"{tmp_path}/out", DedupeOptions(skip_bad=True))
    assert (summary.bad_files, summary.bad_lines) == (1, 0)


def test_a_cut_record_keeps_its_line_end(tmp_path):
    content = b'text,n\n"shared" line,1\n"shared" line,2\n'
    (tmp_path / "x.csv").write_bytes(content)
    trim([f"{tmp_path}/x.csv"], f"{tmp_path}/out", TrimOptions(unit="lines", number=1))
    assert (tmp_path / "out/x.csv").read_bytes() == b"text,n\n,1\n,2\n"


def test_an_array_may_end_in_blanks_beyond_what_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("scrapy_neardup.offline.readers.textual._PART", 16)
    (tmp_path / "x.json").write_bytes(b'[{"text": "a"}]' + b" \n" * 99)
    assert texts(tmp_path / "x.json") == ["a"]
    (tmp_path / "x.json").write_bytes(b'[{"text": "a"}]' + b" \n" * 99 + b"x")
    with pytest.raises(InputError, match="there is more after the end"):
        texts(tmp_path / "x.json")


def test_plain_text_of_windows(tmp_path):
    for number, coding in enumerate(["utf-8", "utf-16", "utf-8-sig"]):
        (tmp_path / f"{number}.txt").write_bytes("same é words".encode(coding))
    assert texts(tmp_path) == ["same é words"] * 3


def test_whole_numbers_of_any_length(tmp_path):
    number = "9" * 5000
    rows = [f'{{"n": {number}, "id": {number}{n}, "text": "a\\nb{n}"}}' for n in range(3)]
    for name, content in (("x.jsonl", "\n".join(rows)), ("x.json", f"[{','.join(rows)}]")):
        (tmp_path / name).write_text(content)
        assert [each.id for each in Corpus([f"{tmp_path}/{name}"], Columns(id="id"))] == [
            f"{number}{n}" for n in range(3)
        ]
        output = tmp_path / f"out-{name}"
        trim([f"{tmp_path}/{name}"], str(output), TrimOptions(unit="lines", number=1))
        assert (output / name).read_text() == content.replace("a\\n", "")


@pytest.mark.parametrize("name", FILES)
def test_a_row_without_html_has_its_text(tmp_path, name):
    """In CSV an empty field says that there is none."""
    rows = [{"id": "1", "url": "", "html": "<p>a b c", "text": "d"},
            {"id": "", "url": "http://a.test/", "html": "", "text": "e f"}]  # fmt: skip
    (tmp_path / name).write_bytes(FILES[name](rows))
    found = [*read_texts(Corpus([f"{tmp_path}/{name}"], Columns(id="id")))]
    assert [text for _, text in found] == ["a b c", "e f"]
    assert [record.name for record, _ in found] == ["1", "http://a.test/"]


@pytest.mark.parametrize("name", ["x.html", "x.html.gz", "x.xht", "x.jsonl", "x.csv", "x.parquet"])
def test_html_may_begin_with_text(tmp_path, name):
    """Whatever it is called: a fragment has no root element."""
    page = b"Five words come first, and <b>then</b> markup"
    if name in FILES:
        content = FILES[name]([{"url": "http://a.test/", "html": page.decode()}])
    else:
        content = gzip.compress(page) if name.endswith(".gz") else page
    (tmp_path / name).write_bytes(content)
    ((_, text),) = read_texts(Corpus([f"{tmp_path}/{name}"]))
    assert text == "Five words come first, and then markup"


def test_common_crawl_names_its_files_wet(tmp_path):
    record = (
        "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.test/\r\n"
        "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nwords\r\n\r\n"
    )
    for name in ("x.warc.wet.gz", "y.wet", "z.wet.gz"):
        content = record.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if ".gz" in name else content)
    assert texts(tmp_path) == ["words"] * 3


@pytest.mark.parametrize("packed", PACK)
def test_warc_files_that_are_compressed_as_a_whole(tmp_path, packed):
    content = warc(html("http://a.test/1"), html("http://a.test/2"), compressed=False)
    kept = UNPACK[packed](deduped(tmp_path, f"x.warc.{packed}", PACK[packed](content)))
    assert (kept.count(b"WARC-Type: response"), kept.count(HTML)) == (1, 1)
    assert kept.count(b"WARC-Type: request") == 2


def test_a_response_with_a_header_beyond_measure_is_counted(tmp_path):
    long = html("http://a.test/1", x="y" * (1 << 21))
    (tmp_path / "x.warc").write_bytes(warc(long, html("http://a.test/2"), compressed=False))
    first, second = Corpus([f"{tmp_path}/x.warc"])
    assert (first.page, first.html, second.html) == ("http://a.test/1", None, HTML)


def test_damage_in_a_warc_file_is_said_in_one_line(tmp_path, capfd):
    content = warc(html("http://a.test/1"), compressed=False)
    (tmp_path / "x.warc").write_bytes(
        content.replace(b"\r\n\r\nHTTP/1.1 200", b"\r\n\r\nmore: HTTP/1.1 200")
    )
    with pytest.raises(InputError, match="Content-Length"):
        list(Corpus([f"{tmp_path}/x.warc"]))
    assert capfd.readouterr().err == ""


def test_what_a_folder_has_that_is_not_read_is_said(tmp_path, caplog):
    (tmp_path / "in/real").mkdir(parents=True)
    (tmp_path / "in/real/x.jsonl").write_bytes(LINES)
    (tmp_path / "in/link").symlink_to("real")
    (tmp_path / "in/loop").symlink_to(".")
    os.mkfifo(tmp_path / "in/pipe.jsonl")
    assert deduped_folder(tmp_path, "out") == ["real/x.jsonl"]
    assert "in: left out 3 files, links to folders, and pipes: " in caplog.text
    (tmp_path / "in/real/gone.jsonl").symlink_to("nowhere")
    assert texts(tmp_path / "in") == TEXTS
    assert "in: left out 1 file, links to nothing: 'real/gone.jsonl'" in caplog.text
    (tmp_path / "in/real/gone.jsonl").unlink()
    (tmp_path / "in/page.html").write_bytes(HTML)
    assert texts(tmp_path / "in") == [None]
    assert "only that is read: 'real/x.jsonl'" in caplog.text
    (tmp_path / "in/_modules").mkdir()
    (tmp_path / "in/_modules/y.html").write_bytes(HTML)
    assert deduped_folder(tmp_path, "out2") == ["page.html", "real/x.jsonl"]
    assert "left out 1 file, by their names: '_modules/y.html'" in caplog.text


@pytest.mark.parametrize(("here", "folder"), [
    (".", "in"), (".", "in//"), (".", "./in"), (".", "./in/"), (".", "in/."), ("in", "."),
    ("in", "./"), ("in/sub", ".."), ("in", "../in"),
])  # fmt: skip
def test_a_folder_by_any_of_its_paths(tmp_path, monkeypatch, here, folder):
    for name in ("aa.jsonl", "_left.jsonl", ".left.jsonl", "sub/bb.jsonl", "_left/cc.jsonl"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(LINES)
    monkeypatch.chdir(tmp_path / here)
    assert texts(folder) == TEXTS * 2
    dedupe([folder], f"{tmp_path}/out")
    assert deduped_names(tmp_path / "out") == ["aa.jsonl", "sub/bb.jsonl"]


def test_html_is_read_in_any_folder_below(tmp_path):
    """Here and elsewhere."""
    memory = fsspec.filesystem("memory")
    for name in ("_modules/a.html", ".b/c.htm.gz", "d.xhtml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(HTML) if name.endswith("gz") else HTML)
    memory.put(f"{tmp_path}/", "/any/", recursive=True)
    try:
        for folder in (str(tmp_path), "memory://any"):
            assert [each.html for each in Corpus([folder])] == [HTML] * 3
    finally:
        memory.rm("/any", recursive=True)


def deduped_folder(tmp_path, output):
    dedupe([f"{tmp_path}/in"], f"{tmp_path}/{output}")
    return deduped_names(tmp_path / output)


def deduped_names(out):
    return sorted(
        path.relative_to(out).as_posix()
        for path in out.rglob("[!_]*.*")
        if "_rem" not in str(path)
    )


def test_what_can_be_read_only_once_is_not_deduped(tmp_path):
    os.mkfifo(tmp_path / "x.jsonl")
    for path in (f"{tmp_path}/x.jsonl", "-"):
        with pytest.raises(InputError, match="would be read twice"):
            dedupe([path], f"{tmp_path}/out")


@pytest.mark.parametrize("name", ["x.jl.zst", "x.jsonl.bz2", "x.ndjson.xz", "x.jsonlines"])
def test_fingerprints_from_compressed_lines_and_pipes(tmp_path, name):
    line = {"page": "p", "fingerprint": "00000000000000ff"}
    content = PACK.get(name.rpartition(".")[2], bytes)(json_lines([line]).encode())
    (tmp_path / name).write_bytes(content)
    assert open_source(f"{tmp_path}/{name}").fingerprints(0, 1).tolist() == [255]
    read, written = os.pipe()
    os.write(written, content)
    os.close(written)
    assert open_source(f"/dev/fd/{read}").names(0, 1) == ["p"]
    os.close(read)
    (tmp_path / name).write_bytes(json_lines([line]).encode("utf-16"))
    with pytest.raises(InputError, match="is in UTF-16"):
        open_source(f"{tmp_path}/{name}")
