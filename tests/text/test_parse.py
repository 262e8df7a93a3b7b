"""Bytes to tree: encodings, broken markup, junk, and any depth."""

import pytest
from lxml import etree
from lxml.html import HtmlElement, document_fromstring

from scrapy_neardup.errors import InputError
from scrapy_neardup.text import Extractor, normalize, parse_html


def words(body, encoding=None):
    return normalize(Extractor("full").extract(parse_html(body, encoding)).text).decode().split()


LATIN = "Café déjà naïve"
TEXT = f"{LATIN} Ωmega Жук 漢字"


@pytest.mark.parametrize(("body", "encoding"), [
    (f"<p>{TEXT}", None),
    (f"<p>{TEXT}".encode(), None),
    (f"<p>{TEXT}".encode(), "utf-8"),
    (f"<p>{TEXT}".encode("utf-16"), None),  # has a byte order mark
    (f"<p>{TEXT}".encode("utf-16-le"), "utf-16-le"),
    (f"<p>{TEXT}".encode("utf-8-sig"), None),
    (f"<p>{TEXT}".encode("utf-8-sig"), "latin-1"),  # the mark counts more
    (f"<p>{TEXT}".encode("gb18030"), "gb2312"),
    (f"<meta charset=gb2312><p>{TEXT}".encode("gb18030"), None),
    (f"<meta charset=no-such-thing><p>{TEXT}".encode(), None),
    (f"<p>{TEXT}".encode(), "no-such-thing"),
    (f"<meta charset=latin-1><p>{TEXT}".encode(), "utf-8"),  # the server counts more
    (f'<?xml version="1.0" encoding="utf-16"?><p>{TEXT}', None),  # a string is decoded
    (f'<?xml version="1.0" encoding="utf-8"?><p>{TEXT}'.encode(), None),
])  # fmt: skip
def test_encodings(body, encoding):
    assert words(body, encoding) == normalize(TEXT).decode().split()


@pytest.mark.parametrize(("body", "encoding"), [
    (LATIN.encode("latin-1"), None),
    (LATIN.encode("cp1252"), "iso-8859-1"),
    (b"<meta charset=iso-8859-1>" + LATIN.encode("cp1252"), None),
    (b'<meta http-equiv=Content-Type content="text/html; charset=windows-1252">'
     + LATIN.encode("cp1252"), None),
    (b'<?xml version="1.0" encoding="iso-8859-1"?><p>' + LATIN.encode("cp1252"), None),
])  # fmt: skip
def test_one_byte_encodings(body, encoding):
    assert words(body, encoding) == ["café", "déjà", "naïve"]


def test_wrong_declarations_count_as_in_browsers():
    assert words(LATIN.encode("latin-1"), "utf-8") == ["caf", "d", "j", "na", "ve"]
    assert words("<p>Café".encode(), "latin-1") == ["cafã", "©"]
    assert words(b"<meta charset=utf-8><p>caf\xe9 noir") == ["caf", "noir"]


@pytest.mark.parametrize("end", [b"\xff", b"\xe2\x82", b"\x00", b"\xed\xa0\x80"])
def test_a_bad_byte_costs_no_more_than_itself(end):
    assert words("<p>Café ".encode() + end + b" noir</p><p>rest", "utf-8") == [
        "café", "noir", "rest",
    ]  # fmt: skip


def test_nul_characters_are_dropped_and_lone_surrogates_part_words():
    assert words(b"<p>a\0b \0c</p>\0\0") == ["ab", "c"]
    assert words("<p>abc".encode("utf-16-le")) == ["abc"]  # unlabelled: looks like NULs
    assert words("<p>a\ud800b</p>") == ["a", "b"]


@pytest.mark.parametrize(("body", "expected"), [
    ("plain text", "plain text"),
    ("<p>a<p>b</div></p></b>c", "a b c"),
    ("<p>a <b>b <i>c</b> d</i> e", "a b c d e"),
    ("<p>a <", "a"),
    ("<p>a<div", "a"),
    ('<p title="a>b</p><p>c', ""),
    ("<p>a &unknown; &#0; &#xD800; b", "a & unknown b"),
    ("</html>a <html>b <body>c", "a b c"),
    ("<table>a<tr>b<td>c</table>", "a b c"),
    ("<!doctype html><!-- a -- b -->c", "c"),
    ("<p>a<!-- never closed b", "a"),
    ("<P>a<BR/>b<Br>c", "a b c"),
    ("<p>a</p>\x0b\x0c<p>b", "a b"),
])  # fmt: skip
def test_broken_markup(body, expected):
    assert " ".join(words(body)) == expected
    assert words(body.encode()) == words(body)


def test_xhtml():
    page = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>t</title></head>'
        '<body><div id="nav" /><p>a<br />b</p><script src="x" /></body></html>'
    )
    root = parse_html(page)
    assert root.tag == "html"
    content = Extractor().extract(root)
    assert (content.title, normalize(content.text).split()) == ("t", [b"a", b"b"])


@pytest.mark.parametrize(("body", "said"), [
    *((body, "empty") for body in (
        b"", "", b"  \n", b"\0\0", b"\xef\xbb\xbf", b"<!-- only this -->", "<?pi?>",
    )),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x90\0\0\x01\x90\x08\x06\x01\x02\x03\x04", "binary"),
    (b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + bytes(range(1, 256)) * 4, "binary"),
    (b"PK\x03\x04\x14\0\x08\x08\x08\0\x01\x02\x03\x04", "binary"),
    ("\x01\x02\x03 text", "binary"),
])  # fmt: skip
def test_nothing_to_parse(body, said):
    with pytest.raises(InputError, match=said):
        parse_html(body)


@pytest.mark.parametrize("tag", ["div", "b", "section", "li", "table", "x-y"])
@pytest.mark.parametrize("depth", [200, 300, 2_000])
def test_deep_nesting(depth, tag):
    """Every word is there, in its order."""
    body = (
        "<title>t</title><p>before</p>"
        + f"<{tag} class=c>w " * depth + "deepest" + f"</{tag}> u " * depth
        + "<p>after</p>"
    )  # fmt: skip
    root = parse_html(body)
    assert isinstance(root, HtmlElement)
    content = Extractor().extract(root)
    assert content.title == "t"
    expected = ["before", *["w"] * depth, "deepest", *["u"] * depth, "after"]
    assert normalize(content.text).decode().split() == expected


@pytest.mark.parametrize("depth", [3_500, 8_000])
@pytest.mark.parametrize("ignore", [(), (".c", "p")])
def test_a_tree_that_somebody_else_built(depth, ignore):
    """Deeper than libxslt goes: the text is read all the same."""
    root = document_fromstring("<p>before</p>")
    element = root[0]
    for _ in range(depth):
        element = etree.SubElement(element, "div")
        element.text = "w "
        element.tail = "u"
    content = Extractor(ignore=ignore).extract(root)
    before = [] if ignore else ["before"]
    assert normalize(content.text).decode().split() == before + ["w"] * depth + ["u"] * depth
