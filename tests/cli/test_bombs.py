"""Files that are small and hold more than memory does: what is read of them is bounded."""

import gzip
import json
import mmap
import os
import struct
import subprocess
import sys
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetFile, write_table

from scrapy_neardup.offline.readers.files import MAX_PAGE

COMMAND = Path(sys.executable).with_name("scrapy-neardup")
GZIP = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
"""Header: deflate, nothing said of the file."""
MAX_MEMORY = 6 * MAX_PAGE
"""Bytes of a process that has Python, numpy and lxml in it, and some parts of a page."""
LENGTH = 7 * MAX_PAGE
"""Bytes of what can't be held whole."""
UNREAD = 9 * MAX_PAGE
"""Bytes of a part of a Parquet file that isn't decompressed."""


def bomb(*heads: bytes, tail: bytes = b"", length: int = LENGTH) -> bytes:
    """Return gzip of the heads, that many letters, and the tail."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    head, megabyte = b"".join(heads), b"a" * (1 << 20)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush nothing refers to what was before: the same block does again and again.
    block = packer.compress(megabyte) + packer.flush(zlib.Z_FULL_FLUSH)
    times, size = length >> 20, len(head) + length + len(tail)
    checksum = zlib.crc32(head)
    for _ in range(times):
        checksum = zlib.crc32(megabyte, checksum)
    end = packer.compress(tail) + packer.flush()
    trailer = struct.pack("<II", zlib.crc32(tail, checksum), size)
    return GZIP + start + block * times + end + trailer


def warc(headers: bytes, body: bytes | None, *, end: bytes = b"") -> bytes:
    """Return a WARC file of one response; None is a body of letters, and its `end`."""
    size = LENGTH + len(end) if body is None else len(body)
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + headers + b"\r\n"
    head = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/bomb\r\n"
        b"WARC-Date: 2020-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:0>\r\n"
        b"Content-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n" % (len(http) + size)
    )
    if body is None:
        return bomb(head, http, tail=end + b"\r\n\r\n")
    return gzip.compress(head + http + body + b"\r\n\r\n")


@cache
def a_page() -> bytes:
    return bomb(b"<!doctype html><p>")


CHUNKED = b"Transfer-Encoding: chunked\r\n"
BOMBS = {
    "x.html.gz": a_page,
    "plain.warc.gz": lambda: warc(b"", None),
    "coded.warc.gz": lambda: warc(b"Content-Encoding: gzip\r\n", a_page()),
    "chunked.warc.gz": lambda: warc(CHUNKED + b"\r\n%x\r\n" % LENGTH, None, end=b"\r\n0\r\n\r\n"),
    "both.warc.gz": lambda: warc(
        b"Content-Encoding: gzip\r\n" + CHUNKED,
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(a_page()), a_page()),
    ),
}
WITHOUT_END = {
    "x.jsonl.gz": lambda: bomb(b'{"text": "'),
    "header.warc.gz": lambda: bomb(b"WARC/1.0\r\nX: "),
    "line.warc.gz": lambda: bomb(gzip.decompress(warc(b"", b"<p>a"))),
}


Done = subprocess.CompletedProcess[str]


def scanned(tmp_path, name: str, content: bytes, **expected: int) -> Done:
    """Return what a scan of such a file came to, in little memory."""
    (tmp_path / name).write_bytes(content)
    return limited(tmp_path, "scan", name, "--progress", **expected)


def limited(tmp_path, *arguments: str, most: int = MAX_MEMORY, status: int = 0) -> Done:
    """Run the command in little memory; it ends with this status."""
    limit = f'ulimit -d {most >> 10}; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", limit, "sh", COMMAND, *arguments],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=100,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done


@pytest.mark.parametrize("name", [
    # Each coding is undone apart from the other: what is both is one after the other.
    pytest.param(name, marks=pytest.mark.stress if name == "both.warc.gz" else ())
    for name in BOMBS
])  # fmt: skip
def test_a_page_that_is_too_long_is_not_judged_and_said_to_be(tmp_path, name):
    result = scanned(tmp_path, name, BOMBS[name]())
    assert json.loads(result.stdout)["reason"] == "too-long"
    assert "1   too-long 1" in result.stderr


def long_text(size: int) -> pa.StringArray:
    """Return one text of so many zero bytes, which takes no memory as nobody wrote them."""
    ends = np.array([0, size], np.int32)
    return pa.StringArray.from_buffers(1, pa.py_buffer(ends), pa.py_buffer(mmap.mmap(-1, size)))


@pytest.mark.parametrize(("rows", "size"), [(1, UNREAD), (20, MAX_PAGE + 1)])
def test_pages_in_parquet_that_are_too_long(tmp_path, rows, size):
    """One that is long, and one that is said once for many rows."""
    pages = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), long_text(size))
    packed = tmp_path / "packed.parquet"
    write_table(pa.table({"html": pages}), packed, compression="zstd", write_statistics=False)
    assert packed.stat().st_size < size // 500
    result = scanned(tmp_path, "x.parquet", packed.read_bytes(), most=16 * MAX_PAGE)
    reasons = [json.loads(line)["reason"] for line in result.stdout.splitlines()]
    assert reasons == ["too-long"] * rows


@pytest.mark.parametrize("column", ["html", "url"])
def test_a_value_in_parquet_that_would_take_four_times_its_bytes_as_a_string(tmp_path, column):
    html = "<p>one two three four five six"
    rows = {"url": ["http://a.test/1", "http://a.test/2"], "html": [html, html]}
    rows[column][0] = "a" * (2 * MAX_PAGE - 4) + "\N{GRINNING FACE}"
    packed = tmp_path / "packed.parquet"
    write_table(pa.table(rows), packed, compression="zstd", write_statistics=False)
    result = scanned(tmp_path, "x.parquet", packed.read_bytes(), most=16 * MAX_PAGE)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["reason"] for line in lines] == ["too-long", "unmatched"]
    assert lines[0]["page"] == ("http://a.test/1" if column == "html" else "x.parquet:1")


def varint(value: int, size: int = 0) -> bytes:
    """Return an integer as Thrift's compact protocol writes it, in at least so many bytes."""
    value, spelt = value << 1, b""
    while value > 127 or len(spelt) + 1 < size:
        spelt += bytes([value & 127 | 128])
        value >>= 7
    return spelt + bytes([value])


def test_parquet_that_lies_about_its_sizes(tmp_path):
    """By its footer there is nothing in it; the header of its page says what it is."""
    path = tmp_path / "packed.parquet"
    long = pa.table({"html": long_text(UNREAD)})
    write_table(long, path, use_dictionary=False, compression="zstd", write_statistics=False)
    column = ParquetFile(path).metadata.row_group(0).column(0)
    size = varint(column.total_uncompressed_size)
    content = path.read_bytes()
    path.write_bytes(content.replace(size, varint(1, len(size))))
    assert ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size == 1
    result = scanned(tmp_path, "x.parquet", path.read_bytes())
    assert json.loads(result.stdout)["reason"] == "too-long"


@pytest.mark.parametrize("garbage", [b"", b"\xff" * 40, b"\x1c" * 40, b"\x15\x00\x00"])
def test_parquet_without_headers_of_pages(call, tmp_path, garbage):
    path = tmp_path / "x.parquet"
    write_table(pa.table({"html": ["a" * 100]}), path, use_dictionary=False, compression=None)
    start = ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content = path.read_bytes()
    content = content[:start] + garbage + content[start + len(garbage) :]
    path.write_bytes(content)
    result = call("scan", path.name, status=2 if garbage else 0)
    if garbage:
        assert result.stderr.startswith("Error: x.parquet: can't be read as Parquet: one of its")


@pytest.mark.parametrize("name", WITHOUT_END)
def test_what_has_no_end_is_an_error_that_names_it(tmp_path, name):
    result = scanned(tmp_path, name, WITHOUT_END[name](), status=2)
    assert result.stderr.startswith(f"Error: {name}")


@pytest.mark.parametrize("name", ["plain.warc.gz", "coded.warc.gz"])
def test_a_data_set_with_a_page_that_is_too_long_keeps_it(tmp_path, name):
    content = BOMBS[name]()
    (tmp_path / name).write_bytes(content)
    assert json.loads(limited(tmp_path, "dedupe", name, "--output", "out").stdout)["kept"] == 1
    assert (tmp_path / "out" / name).read_bytes() == content


def test_a_data_set_with_files_without_end(tmp_path):
    for name, content in WITHOUT_END.items():
        (tmp_path / name).write_bytes(content())
    result = limited(tmp_path, "dedupe", *WITHOUT_END, "--output", "out", status=2)
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: x.jsonl.gz")
    result = limited(tmp_path, "dedupe", *WITHOUT_END, "--output", "out2", "--skip-bad")
    summary = json.loads(result.stdout)
    assert (summary["bad_files"], summary["bad_lines"]) == (3, 0)
    assert "left out: x.jsonl.gz" in result.stderr
