"""Trees that are extracted from: whoever made them, they stay as they are; none takes long."""

import pickle

import pytest
from extracted import BODY, FULL, MAIN, added, content
from lxml import etree

from scrapy_neardup.text import Content, Extractor, normalize, parse_html

PAGES = [
    "<title>t</title><nav>n</nav><p class=ad>a<b>b</b>c</p>d<script>window.__A__={}</script>"
    + BODY,
    "<p>x",
    "<!-- c --><html><body><header>x</header>" + "<div>y" * 300,
    "<table><tr><td>a",
]


@pytest.mark.parametrize("html", PAGES)
@pytest.mark.parametrize("extractor", [MAIN, FULL, Extractor(ignore=(".ad", "b", "title"))])
def test_the_tree_stays_as_it_is(html, extractor):
    root = parse_html(html)
    before, elements = etree.tostring(root.getroottree()), list(root.iter())
    extractor.extract(root)
    assert etree.tostring(root.getroottree()) == before
    assert list(root.iter()) == elements


def test_pickle():
    for extractor in (MAIN, FULL, Extractor(ignore=(".ad", "p + p"))):
        copy = pickle.loads(pickle.dumps(extractor))
        for html in PAGES:
            assert copy.extract(parse_html(html)) == extractor.extract(parse_html(html))
    assert pickle.loads(pickle.dumps(Content.of_text("a", "b", images=("c",)))).images == ("c",)


def test_a_part_of_a_tree():
    """An element is read on its own; what stands around it does not matter."""
    part = parse_html(f"<nav>x</nav><main>{BODY}</main>tail").find(".//main")
    alone = MAIN.extract(part)
    assert normalize(alone.text).split() == [str(number).encode() for number in range(1, 11)]
    assert Extractor(ignore=(".ad",)).extract(part) == alone


def test_headers_far_down_are_content():
    """How far up a header is looked at is bounded."""
    assert added("<div>" * 50 + "<footer>x</footer>") == ""
    assert added("<div>" * 100 + "<footer>x</footer>") == "x"
    deep = "<div>" * 2_000 + "<header>x</header><footer>y</footer><title>z</title>" * 10_000
    assert len(normalize(content(deep).text).split()) == 20_010
