"""The text of pages without templates against two independent ways to find it."""

from html import escape

import pytest
import reference_simhash as reference
from bs4 import BeautifulSoup, Comment
from forked import python
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.text import Extractor, normalize, parse_html

WITHIN_TEXT = {"b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "tt", "u", "var"}
BLOCKS = {"div", "section", "article", "blockquote", "center", "main", "figure", "x-y"}
EXTRACTOR = Extractor()

WORDS = st.text(alphabet="abcé漢 &<>\n.", max_size=8)
NODES = st.recursive(
    WORDS,
    lambda children: st.tuples(
        st.sampled_from(sorted(WITHIN_TEXT | BLOCKS)), st.lists(children, max_size=4)
    ),
    max_leaves=40,
)


def markup(node):
    if isinstance(node, str):
        return escape(node)
    tag, children = node
    return f"<{tag}>{''.join(map(markup, children))}</{tag}>"


def visible(node):
    if isinstance(node, str):
        return node
    tag, children = node
    text = "".join(map(visible, children))
    return text if tag in WITHIN_TEXT else f"\n{text}\n"


@given(st.lists(NODES, max_size=6))
def test_generated_pages(nodes):
    """What was written is what is read."""
    text = "".join(map(visible, nodes))
    root = parse_html(f"<!doctype html><html><body>{''.join(map(markup, nodes))}</body></html>")
    assert normalize(EXTRACTOR.extract(root).text).decode().split() == reference.tokens(text)


def by_beautiful_soup(page):
    """The text by another parser: html.parser's tree, walked in Python."""
    soup = BeautifulSoup(page, "html.parser")
    for element in soup.find_all(["script", "style", "head"]):
        element.decompose()
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for element in soup.find_all(lambda tag: tag.name not in WITHIN_TEXT | {"a"}):
        element.insert_before("\n")
        element.insert_after("\n")
    return soup.get_text()


@pytest.mark.parametrize("module", ["textwrap", "statistics", "fractions", "tokenize"])
def test_pages_of_pydoc(module, tmp_path):
    """Pages that the standard library writes about itself: tables, dl, pre-like markup."""
    python("-m", "pydoc", "-w", module, cwd=tmp_path, check=True)
    page = (tmp_path / f"{module}.html").read_text(encoding="utf-8")
    found = normalize(EXTRACTOR.extract(parse_html(page)).text).decode().split()
    assert found == reference.tokens(by_beautiful_soup(page))
    assert len(found) > 500
