"""Pages that are left unread, each of which would take long; of very long ones nothing is lost."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HTMLParser

from scrapy_neardup.errors import TooComplexError
from scrapy_neardup.fingerprints import features, simhash, simhash_features, token_hashes
from scrapy_neardup.text import Extractor, check_text, check_tree, normalize, parse_html
from scrapy_neardup.text import parse as limits

PAIRS = limits.MAX_ATTRIBUTE_PAIRS
MANY = 4 * int(PAIRS**0.5)
"""As many attributes as no libxml2 is asked about before 2.14."""


def attributes(count, form="a{}", between=" "):
    return between.join(form.format(number) for number in range(count))


QUOTED, SQUEEZED = attributes(MANY, "a{}='>'"), attributes(MANY, 'a{}=">>"', "")
JSON = attributes(6_000, '"{}": "a &lt; b"', ", ")


@pytest.mark.parametrize(("page", "why"), [
    ("x" * (limits.MAX_CHARACTERS + 1), "characters"),
    ("<p>" * (limits.MAX_TAGS + 1), "tags"),
    ("<div>" * 2_000 + "</i>" * limits.MAX_TAGS, "tags"),
    (f"<p {attributes(MANY)}>x", "attributes"),
    (f"<p {attributes(MANY, 'a{}', '/')}>x", "attributes"),
    (f"<p {QUOTED}>x", "attributes"),
    (f"<p {SQUEEZED}>x", "attributes"),
    (f"<!-- <a b='--><p {attributes(MANY)} c='>'>x", "attributes"),
    (f"<b c='=\"' {attributes(MANY)} d='>' e='\"'>", "attributes"),
    (f"<p {attributes(MANY // 30)}>x" * 1_000, "attributes"),
    ("x</html>" * (limits.MAX_ROOTS + 1), "ends of HTML"),
])  # fmt: skip
def test_too_complex(page, why):
    with pytest.raises(TooComplexError, match=why):
        parse_html(page)


@pytest.mark.parametrize("depth", [2_100, 5_000, 100_000])
@pytest.mark.parametrize("page", ["{}", "<p>before</p>{}", "{}</b>", "<p>x</html>{}"])
def test_nested_too_deeply(page, depth):
    with pytest.raises(TooComplexError, match="nested"):
        parse_html(page.format("<b>w " * depth))


@pytest.mark.parametrize("page", [
    "<p>A paragraph of many words. " * 100_000,
    f"<img src='data:image/png;base64,{'iVBORw0KGgo/' * 10_000}'>" * 10,
    f"<p {attributes(1_000)}>x" * 100,
    f"<p data-page='{JSON}'>x",
    f"<script>if (a <b) x = ' {JSON}'</script>",
    "<div>" * 2_000 + "x",
])  # fmt: skip
def test_simple_enough(page):
    check_text(page)
    check_tree(parse_html(page))


_parts = st.one_of(
    st.sampled_from([*"<>='\"/ ", "<a ", "<p b", "<!--", "-->", "='", '="', "<script>", "</p>"]),
    st.sampled_from([300, 600]).map(lambda count: f" {attributes(count)} "),
)


@given(st.lists(_parts, max_size=25).map("".join))
def test_what_the_parser_finds_is_not_more_than_what_is_feared(page):
    root = etree.fromstring(f"<i>{page}", HTMLParser(huge_tree=True))
    found = [len(element.attrib) for element in root.iter(etree.Element)]
    assert limits._most_attribute_pairs(page) >= sum(n * n for n in found if n >= 300)
    assert limits._most_attributes(f"<i>{page}") >= sum(found)


PARAGRAPH = "<p>A page of {0} words, é, and {0} more <b>of</b> them: {1}</p>\n"


def page(megabytes):
    size = len(PARAGRAPH) + 8
    return "<html><body>" + "".join(
        PARAGRAPH.format(n, n * 7919 % 100_003) for n in range(megabytes * 10**6 // size)
    )


@pytest.mark.parametrize("megabytes", [1, 8])
def test_a_large_page(megabytes):
    body = page(megabytes).encode()
    text = Extractor().extract(parse_html(body)).text
    paragraphs = body.count(b"<p>")
    tokens = token_hashes(text)
    assert len(tokens) == len(normalize(text).split()) == 12 * paragraphs
    hashes, _ = features(tokens)
    assert simhash(text) == simhash_features(hashes, None)


@pytest.mark.parametrize("filler", ["", "é"])
@pytest.mark.parametrize("megabytes", [5, pytest.param(50, marks=pytest.mark.stress)])
def test_memory(megabytes, filler):
    """Beyond its own results a fingerprint takes a few megabytes, however long the text."""
    text = " ".join(f"word{n % 5_000}{filler} n{n}" for n in range(megabytes * 10**6 // 14))
    simhash("é" + text[:1_000])  # tables are built
    tracemalloc.start()
    tokens = token_hashes(text)
    size = tokens.nbytes
    assert tracemalloc.get_traced_memory()[1] < 2 * size + 20e6
    tracemalloc.reset_peak()
    hashes, _ = features(tokens)
    assert tracemalloc.get_traced_memory()[1] < 4 * size + 30e6
    del tokens
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    simhash_features(hashes, None)
    assert tracemalloc.get_traced_memory()[1] < before + 10e6
    tracemalloc.stop()
