import gzip
import sys
import zlib
from contextlib import suppress

import brotli
import pytest
from warcs import HTML, html, warc

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.compression import zstandard
from scrapy_neardup.offline.readers.corpus import Corpus


def read(tmp_path, content, name="x.warc.gz"):
    (tmp_path / name).write_bytes(content)
    return list(Corpus([str(tmp_path / name)]))


@pytest.mark.parametrize("compressed", [True, False])
def test_only_pages_that_were_answered_are_read(tmp_path, compressed):
    content = warc(
        html("http://a.test/"),
        html("http://a.test/gone", status="404 Not Found"),
        html("http://a.test/moved", status="301 Moved"),
        html("http://a.test/picture", content_type="image/png"),
        html("http://a.test/x", content_type="application/xhtml+xml"),
        html("http://a.test/untold", content_type=""),
        html("http://a.test/data", content_type="", body=b"\x00\x01\x02"),
        html("http://a.test/twice", content_type="text/html, text/html"),
        html("http://a.test/bare", content_type="html"),
        html("http://me:secret@a.test/"),
        html("http://a.test/empty", body=b""),
        compressed=compressed,
    )
    records = read(tmp_path, content)
    assert [(record.page.removeprefix("http://a.test/"), record.html) for record in records] == [
        ("", HTML), ("x", HTML), ("untold", HTML), ("twice", HTML), ("bare", HTML), ("", HTML),
        ("empty", b""),
    ]  # fmt: skip
    first, *_, secret, _ = records
    assert (first.content_type, first.encoding) == ("text/html", "iso-8859-1")
    assert (secret.page, secret.url) == ("http://a.test/", "http://me:secret@a.test/")


@pytest.mark.parametrize("compressed", [True, False])
def test_no_file_that_was_cut_short_is_taken_for_a_whole_one(tmp_path, compressed):
    content = warc(html("http://a.test/1"), html("http://a.test/2"), compressed=compressed)
    end = len(content) if compressed else content.rindex(HTML) + len(HTML)
    whole = 0
    for cut in range(1, end, 7):
        with suppress(InputError):
            read(tmp_path, content[:cut])
            whole += 1
    # Nothing can tell that a file ended between two records.
    assert whole <= content.count(b"\x1f\x8b" if compressed else b"WARC/1.0\r\n") * 3


PLAIN = warc(html("http://a.test/"), compressed=False)


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02" * 99,
        b"GET / HTTP/1.1\r\n\r\n",
        gzip.compress(b"<p>no archive</p>", mtime=0),
        b"http://a.test/ 1.2.3.4 20200101000000 text/html 9\n<p>ARC</p>\n",
        PLAIN.replace(b"Content-Length: ", b"X: "),
        PLAIN.replace(b"Content-Length: 1", b"Content-Length: "),
    ],
)  # fmt: skip
def test_junk_is_named(tmp_path, content):
    with pytest.raises(InputError, match=r"x\.warc: ") as raised:
        read(tmp_path, content, "x.warc")
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 400


def test_a_damaged_archive_is_an_error_and_never_another_page(tmp_path):
    content = bytearray(warc(html("http://a.test/1"), html("http://a.test/2")))
    for place in range(200, len(content), 41):
        flipped = content.copy()
        flipped[place] ^= 0x55
        try:
            records = read(tmp_path, flipped)
        except InputError:
            continue
        assert [record.html for record in records] == [HTML, HTML]  # a header of gzip: no matter


def test_without_warcio_the_extra_is_named_before_anything_is_read(tmp_path, monkeypatch):
    (tmp_path / "x.warc").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "warcio.archiveiterator", None)
    with pytest.raises(InputError, match=r"pip install '\.\[warc\]'"):
        Corpus([str(tmp_path / "x.warc")])


def gzipped(content):
    return gzip.compress(content, mtime=0)


def chunked(content):
    parts = content[:5], content[5:], b""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


@pytest.mark.parametrize(("headers", "body"), [
    ({"content_encoding": "br"}, brotli.compress(HTML)),
    ({"content_encoding": "zstd"}, zstandard().compress(HTML)),
    ({"content_encoding": "x-gzip"}, gzipped(HTML)),
    ({"content_encoding": "GZIP"}, gzipped(HTML)),
    ({"content_encoding": "gzip"}, gzipped(HTML[:20]) + gzipped(HTML[20:])),
    ({"content_encoding": "gzip, br"}, brotli.compress(gzipped(HTML))),
    ({"content_encoding": "deflate"}, zlib.compress(HTML)),
    ({"content_encoding": "deflate"}, zlib.compress(HTML)[2:-4]),
    ({"content_encoding": "identity"}, HTML),
    ({"content_encoding": "gzip"}, HTML),
    ({"content_encoding": "utf-8"}, HTML),
    ({"transfer_encoding": "Chunked"}, chunked(HTML)),
    ({"transfer_encoding": "gzip, chunked"}, chunked(gzipped(HTML))),
    ({"content_encoding": "br", "transfer_encoding": "CHUNKED "}, chunked(brotli.compress(HTML))),
    *(({"transfer_encoding": "chunked"}, body) for body in (
        HTML, chunked(HTML)[:-5] + b"00\r\nServer-Timing: a\r\n\r\n", chunked(HTML)[:-7],
        b"0%X ;%b\r\n%b\r\n0\r\n\r\n" % (len(HTML), b"name=value" * 99, HTML),
        b"%x\r\n%b" % (len(HTML) + 99, HTML), chunked(HTML)[:-5] + b"-5\r\n" * 9,
    )),
])  # fmt: skip
def test_every_coding_is_undone(tmp_path, headers, body):
    (record,) = read(tmp_path, warc(html("http://a.test/", body, **headers)))
    assert record.html == HTML


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
@pytest.mark.parametrize("harm", [lambda body: body[:-9], lambda body: body[:30] + b"\xff" * 9])
def test_damaged_bodies_end_nothing(tmp_path, coding, harm):
    page = HTML + b"".join(b"<p>%d words" % n for n in range(999))
    pack = {
        "gzip": gzipped,
        "br": brotli.compress,
        "zstd": zstandard().compress,
        "deflate": zlib.compress,
    }
    broken = html("http://a.test/", harm(pack[coding](page)), content_encoding=coding)
    _, whole = read(tmp_path, warc(broken, html("http://a.test/2")))
    assert whole.html == HTML


def test_records_without_a_response(tmp_path, caplog):
    def record(kind, content_type, body, url="http://a.test/"):
        head = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
            f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body + b"\r\n\r\n"

    records = [
        record("resource", "text/html; charset=latin-1", HTML),
        record("resource", "text/plain", b"a log", "metadata://gnu.org/software/wget"),
        record("conversion", "text/plain", "caf\u00e9 \ud800".encode("utf-8", "surrogatepass")),
        record("conversion", "text/html", HTML),
        record("metadata", "text/html", HTML),
        record("resource", "", HTML),
    ]
    found = read(tmp_path, b"".join(records), "x.warc")
    shown = [(each.html, each.text, each.row) for each in found]
    text = "caf\u00e9 \u00ed\u00a0\u20ac"
    assert shown == [(HTML, None, 0), (None, text, 2), (HTML, None, 3), (HTML, None, 5)]
    assert read(tmp_path, records[1], "y.warc") == []
    assert "y.warc: none of its 1 records is a page of HTML" in caplog.text


def test_zstandard_with_a_dictionary(tmp_path):
    zstd = zstandard()
    samples = [b"some words of page %d and more" % number for number in range(999)]
    known = zstd.train_dict(samples, 4096)
    content = warc(html("http://a.test/1"), compressed=False)
    words = known.dict_content
    for stored in (words, zstd.compress(words)):
        head = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored
        found = read(tmp_path, head + zstd.compress(content, zstd_dict=known), "x.warc.zst")
        assert [each.html for each in found] == [HTML]
    head = b"\x5d\x2a\x4d\x18"
    for begun in (b"", head, head + bytes(4), head + b"\x7f" * 99, head + b"\x20\0\0\0" + words):
        with pytest.raises(InputError, match=r"x.warc.zst: its compressed data is damaged"):
            read(tmp_path, begun + zstd.compress(content, zstd_dict=known), "x.warc.zst")
