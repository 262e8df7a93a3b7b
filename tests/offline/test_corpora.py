import gzip
import io
import json
import os
import random
import sys

import pytest

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.corpus import Corpus

JUNK = random.Random(1).randbytes(999)
PAGE = b"<!doctype html><title>T</title><p>text</p>"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def pages(*inputs):
    return [record.page for record in Corpus(inputs)]


def lines(*items):
    return "".join(json.dumps(item) + "\n" for item in items)


def test_a_folder_is_read_in_path_order_at_any_depth(here):
    names = ["b.html", "a/z.htm", "a-b/x.html", "a/B.HTML", "a/b/c.xhtml", "Z.html"]
    for name in names:
        write(here / "site" / name, PAGE + name.encode())
    records = list(Corpus(["site"]))
    assert [record.page for record in records] == sorted(f"site/{name}" for name in names)
    assert all(record.html == PAGE + record.page[5:].encode() for record in records)
    assert pages("site/a", "site") == [*pages("site/a"), *pages("site")]


def test_a_folder_gives_what_is_html_by_name_or_by_look(here):
    write(here / "index.php?id=3", PAGE)
    write(here / "junk.html", b"\x00\x01\x02")
    write(here / "style.css", "p {}")
    write(here / "dump.jsonl", lines({"html": "<p>"}))
    write(here / "image", b"\x89PNG\r\n\x1a\n\x00")
    os.mkfifo(here / "pipe.html")
    (here / "dangling.html").symlink_to("nowhere")
    assert pages(".") == ["index.php?id=3", "junk.html"]


def test_files_may_be_compressed(here):
    write(here / "page.html.gz", gzip.compress(PAGE, mtime=0))
    write(here / "lines.jsonl.gz", gzip.compress(lines({"text": "t"}).encode(), mtime=0))
    write(here / "wrongly.jsonl.gz", lines({"text": "u"}))
    page, first, second = Corpus(["page.html.gz", "lines.jsonl.gz", "wrongly.jsonl.gz"])
    assert (page.html, first.text, second.text) == (PAGE, "t", "u")


def test_json_lines(here):
    secret = "http://me:secret@example.com/"
    write(
        here / "x.ndjson",
        b"\xef\xbb\xbf" + lines(
            {"url": secret, "html": "<p>\u00e9"}, {"text": "t", "more": 1}
        ).encode() + b"\n \r\n" + lines({"html": None}, {"url": "u", "text": "\ud800"}).encode(),
    )  # fmt: skip
    url, text, nothing, broken = Corpus(["x.ndjson"])
    assert (url.page, url.url) == ("http://example.com/", secret)
    assert (url.html, url.encoding) == ("<p>é".encode(), "utf-8")
    assert (text.page, text.url, text.html, text.text) == ("x.ndjson:2", None, None, "t")
    assert (nothing.page, nothing.text) == ("x.ndjson:5", "")
    assert broken.text == "?"


def test_standard_input_and_pipes_are_json_lines(here, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(lines({"text": "t"}).encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    write(here / "a.html", PAGE)
    read, written = os.pipe()
    os.write(written, lines({"text": "u"}).encode())
    os.close(written)
    corpus = Corpus(["a.html", "-", f"/dev/fd/{read}"])
    assert [record.page for record in corpus] == ["a.html", "-:1", f"/dev/fd/{read}:1"]
    assert corpus.share is None
    os.close(read)


def test_the_share_that_was_read_grows_to_one(here):
    write(here / "site/a.html", PAGE)
    write(here / "site/b.html", PAGE)
    write(here / "x.jsonl", lines(*[{"text": "t" * 999}] * 99))
    corpus = Corpus(["site", "x.jsonl"])
    shares = [corpus.share for _ in corpus]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1
    assert corpus.share == 1


def test_a_name_that_is_no_unicode_is_told_apart_and_can_be_stored(here):
    for name in (b"\xe9.html", b"\xe8.html"):
        (here / os.fsdecode(name)).write_bytes(PAGE)
    assert pages(".") == ["\\xe8.html", "\\xe9.html"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nothing.html", None, "nothing.html: can't be read: No such file"),
        ("junk", bytes(range(256)), "junk: doesn't look like HTML"),
        ("x.jsonl", lines({"text": "t"}) + "{", "x.jsonl, line 2: not a line of JSON"),
        ("x.jsonl", JUNK + b"\xff", "x.jsonl, line 1: not a line of JSON"),
        ("x.jsonl", "[" * 100_000, "x.jsonl, line 1: not a line of JSON"),
        ("x.jsonl", "\n" + lines({"url": "u"}), 'x.jsonl, line 2: not an object with "html"'),
        ("x.jsonl", lines(["html"]), "x.jsonl, line 1: not an object"),
        ("x.jsonl", lines({"text": 3}), 'x.jsonl, line 1: "text" must be a string, not int'),
        ("x.jsonl", lines({"text": "t", "url": []}), 'line 1: "url" must be a string, not list'),
        ("x.jsonl.gz", gzip.compress(b'{"text": "' + JUNK.hex().encode(), mtime=0)[:500],
         "x.jsonl.gz: its compressed data ends too early"),
        ("x.html.gz", gzip.compress(JUNK, mtime=0)[:500], "x.html.gz: its compressed data ends"),
        ("x.html.gz", gzip.compress(b"x" * 99, mtime=0)[:-8] + b"\0" * 8,
         "x.html.gz: its compressed data is damaged: CRC"),
        ("x.html.gz", b"\x1f\x8b\x08" + b"\0" * 7 + b"\xff" * 99, "compressed data is damaged"),
        ("x.csv", "text,n\na,1,2\n", "x.csv, row 1: has 3 fields, and the first line 2"),
        ("x.json", '[{"text": "a"}, {"text": ', "x.json, row 2: not JSON"),
        ("x.json", '[{"text": "a"} 5]', "row 2: not an object"),
        ("x.json", "[" * 100_000, "x.json, row 1: not JSON"),
        ("x.arrow", b"ARROW1" + bytes(99), "x.arrow: can't be read as Arrow"),
        ("x.arrow", "", "x.arrow: can't be read as Arrow"),
        ("x.feather", "no table at all", "x.feather: can't be read as Arrow"),
        ("folder/x.css", "p {}", "folder: no file in this folder whose name ends in one of"),
        ("x.csv", 'text,n\na,1\n5,"never closed\nmore\n',
         "x.csv, row 3: not CSV (the row before has a quote that is never closed"),
        ("x.csv", "text\rone\rtwo\r", "x.csv, row 1: not CSV (a line ends in CR alone"),
        ("x.csv", "ID,Words\n1,a\n", 'x.csv: has no column "html" or "text" but ID, Words'),
        ("x.jsonl", lines({"id": 1, "words": "a"}), 'with "html" or "text" but id, words'),
        *(("x.json", f'[{{"text": "a"}}]{more}', "x.json, row 2: there is more after the end")
          for more in ('\n[{"text": "b"}]', ",")),
        ("x.json", "[]{}", "x.json, row 1: there is more after the end"),
        *((name, '[{"text": "a"}]\n'.encode("utf-16"), f"{name}: is in UTF-16; 'iconv")
          for name in ("x.jsonl", "x.json")),
        ("x.csv", b"\xfe\xff\0t\0e\0x\0t\0\n\0a", "x.csv: is in UTF-16; 'iconv"),
        ("x.tsv.gz", gzip.compress("text\na\n".encode("utf-16"), mtime=0),
         "x.tsv.gz: is in UTF-16"),
        ("x.feather", b"FEA1" + bytes(99), " Feather version 1; write it again"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(here, name, content, message):
    if content is not None:
        write(here / name, content)
    with pytest.raises(InputError) as caught:
        list(Corpus([name.partition("/")[0]]))
    assert message in str(caught.value)


def test_a_folder_below_that_cannot_be_opened_is_an_error(here, monkeypatch):
    write(here / "site/a.html", PAGE)
    (here / "site/secret").mkdir()
    listed = os.scandir

    def scandir(path):
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"site/secret: can't be read: Permission denied"):
        Corpus(["site"])
