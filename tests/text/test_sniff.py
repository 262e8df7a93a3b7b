"""HTML or not, by what is said and what is there."""

import pytest

from scrapy_neardup.text.sniffing import looks_like_html

PAGE = b"<!DOCTYPE html><html><p>x</html>"
XHTML = b'<?xml version="1.0"?>\n<!-- c --><!DOCTYPE html PUBLIC "x"><html xmlns="y"></html>'
RSS = b'<?xml version="1.0"?><rss version="2.0"></rss>'


@pytest.mark.parametrize("body", [
    PAGE,
    PAGE.lower(),
    b"\n  <HTML lang=en>",
    b"<!-- saved --> <!-- again --><html>",
    b"<p>a fragment</p>",
    b"<div class=x>y",
    b"<h1>T</h1>",
    b"<title>t</title>",
    b"<meta charset=utf-8>",
    b"<body>",
    b"<table>",
    b"<a href=x>y</a>",
    b"<br/>",
    XHTML,
    b"<?xml version='1.0'?><html>",
    b"<?xml-stylesheet href='x'?><html>",
    b"\xef\xbb\xbf" + PAGE,
    PAGE.decode().encode("utf-16"),
    PAGE.decode().encode("utf-16-le"),
    PAGE.decode().encode("utf-16-be"),
    b"<!-- " + b"long " * 2_000 + b"--><html>",
])  # fmt: skip
def test_html(body):
    assert looks_like_html(body)
    assert looks_like_html(body, "text/html; charset=utf-8", "https://example.com/")
    assert looks_like_html(body, "application/octet-stream", "page.bin")
    assert not looks_like_html(body, "text/plain")
    assert not looks_like_html(body, "application/json", "page.html")
    assert not looks_like_html(body, "image/svg+xml")


@pytest.mark.parametrize("body", [
    b"", b"  \n", b"a,b\n1,2\n", b"plain text, 1 < 2",
    b"plain text about a <b> tag in a .txt file",
    b'{"html": "<p>x</p>"}',
    b'[{"a": "<b>"}]',
    RSS, b"<rss></rss>", b'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title></feed>',
    b"<urlset></urlset>", b"<sitemapindex/>", b"<svg xmlns='x'></svg>", b"<!DOCTYPE svg><svg/>",
    b"<?xml version='1.0'?><pages><p>x</p></pages>",
    b"%PDF-1.7\n1 0 obj <</Type/Catalog>>", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x01\x02\x03\x04",
    b"GIF89a\x01\x00\x01\x00\x80", b"\x1f\x8b\x08\x00\x01\x02\x03<html>",
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x01\x02",
    b"<!-- never closed <html>",
])  # fmt: skip
@pytest.mark.parametrize("content_type", [None, "", "application/octet-stream", "text/xml"])
def test_not_html(body, content_type):
    assert not looks_like_html(body, content_type, "https://example.com/feed")


@pytest.mark.parametrize(
    "body",
    [RSS, b"<rss></rss>", b"<svg></svg>", b"<!DOCTYPE svg><svg></svg>",
     b'{"a": "<b>x</b>"}', b"[1, 2]", b"plain", b"",
     b'shown({"a": "<b>x</b>"})', b"/**/ typeof f === 'function' && f([\"<b>\"]);",
     b')]}\',\n{"a": "<b>"}', b'while(1);["<b>"]', '{"ä": "<b>"}'.encode("latin-1"),
     b"%PDF-1.7 <</Type/Catalog>>", b"\x89PNG\r\n\x1a\n\0\x01\x02\x03\x04<b>"],
)  # fmt: skip
def test_a_false_label(body):
    assert not looks_like_html(body, "text/html")
    assert not looks_like_html(body, None, "page.html")


@pytest.mark.parametrize(
    "body",
    [
        b"Text first, <b>markup</b> later",
        b"<x-app></x-app>",
        b"{ no JSON } <p>x</p>",
        b"shown (in part) <b>x</b>",
        b"f(x) <p>",
        b"<!DOCTYPE NETSCAPE-Bookmark-file-1><TITLE>Bookmarks</TITLE>",
        b'<!DOCTYPE PUBLIC "-//W3C//DTD HTML 4.01//EN"><html><p>x</html>',
    ],
)
def test_a_label_that_decides(body):
    assert looks_like_html(body, "text/html")
    assert looks_like_html(body, "Application/XHTML+XML; charset=x")
    assert looks_like_html(body, None, "a/page.HTM")
    assert looks_like_html(body, None, "https://example.com/page.html?q=1#top")
    assert not looks_like_html(body)
    assert not looks_like_html(body, None, "page.txt")
