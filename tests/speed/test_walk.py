"""The compiled walk finds what the walk in Python finds."""

import pytest
from growth import check_growth
from hostile_trees import DEEP, hostile_tree
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_neardup import _speed
from scrapy_neardup.text import parse_html
from scrapy_neardup.text import walk as walking
from scrapy_neardup.text.walk import pure_walk as walk

compiled = walking._compiled
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")
LONG = 40_000
"""Words, or characters, of a long attribute."""


def check_alike(root):
    assert compiled.walk(root, boilerplate=True) == walk(root, boilerplate=True)


@pytest.mark.parametrize("depth", [10, 255, 2000])
def test_a_deep_tree(depth):
    check_alike(parse_html("<div>" * depth + "x" + "</div>y" * 3))


def test_hostile_trees_are_read_alike():
    """``make stress`` tries more of them, and all that is made of each."""
    for seed in range(200):
        root, is_html = hostile_tree(seed) or (None, False)
        for boilerplate in (True, False) if root is not None else ():
            found = compiled.walk(root, boilerplate=boilerplate)
            assert found is not None or not is_html, seed
            assert found in (None, walk(root, boilerplate=boilerplate)), seed


@pytest.mark.parametrize("html", [
    *(f"<div {name}='{'nav ' * LONG}'>a b</div>" for name in ("class", "id", "role")),
    f"<img src='{'é' * LONG}'><img width='{' ' * LONG}1' src=a>",
    f"<title>{'1 ' * LONG}</title><h1>{' ' * LONG}</h1>",
    "<span class=ad>" * DEEP + "<svg>" * DEEP + "<title>x</title>",
], ids=["class", "id", "role", "sources", "title and heading", "depth"])  # fmt: skip
def test_what_is_very_long(html):
    check_alike(parse_html(html))


def test_media_in_as_many_attributes_as_are_read():
    """In pure Python lxml takes quadratic time to list them."""

    def read(size):
        root = parse_html("<p " + "".join(f"data-lat{n}=1 " for n in range(size)) + ">x")
        return lambda: compiled.walk(root, boilerplate=True)

    check_growth(read, 3_000)


def test_more_names_than_are_remembered():
    html = "".join(f"<div class='c{number:x}y'>w{number}</div>" for number in range(5_000))
    for _ in range(2):
        check_alike(parse_html(html))


names = st.lists(st.sampled_from([*"nav7NAé- _.", "has", "menu", "ad", "Nav", "toc"]), max_size=9)


@given(names.map("".join), names.map("".join))
def test_names_of_elements(name, identity):
    check_alike(parse_html(f"<div class='{name}'>a</div><p>b<span id='{identity}'>c</span>"))


@given(st.lists(st.sampled_from([*"ab/?#.\u2003 ", "../", "é", ""]), max_size=9).map("".join))
def test_names_of_links(href):
    check_alike(parse_html(f"<div class=menu><a href='{href}'>a</a></div>"))


code = st.lists(st.sampled_from([*"[]0 9,.e-x\u00a0\n", "[1,2,", "3,4,5", "__A="]), max_size=12)


@given(code.map("".join))
def test_lists_in_code(script):
    check_alike(parse_html(f"<script>{script}</script>a"))


@pytest.mark.parametrize("xml", [
    "<html xmlns='http://www.w3.org/1999/xhtml'><p>a</p></html>",
    "<html><s:svg xmlns:s='http://www.w3.org/2000/svg'>a</s:svg></html>",
    "<html><image xmlns:x='http://www.w3.org/1999/xlink' x:href='a.svg'/></html>",
    "<!DOCTYPE html [<!ENTITY e 'x'>]><html>a&e;b</html>",
    "<!DOCTYPE html [<!ATTLIST p class CDATA 'nav'>]><html><p>a</p></html>",
])  # fmt: skip
def test_what_html_does_not_make_is_left_to_python(xml):
    root = etree.fromstring(xml, etree.XMLParser(resolve_entities=False, attribute_defaults=False))
    assert compiled.walk(root, boilerplate=True) is None
    assert walking.walk(root, boilerplate=True) == walk(root, boilerplate=True)


def test_neighbouring_texts_are_one_and_nothing_is_no_tree():
    check_alike(etree.fromstring("<html>a <![CDATA[ b]]> <p> c<!-- --> <?x?> d</p></html>"))
    with pytest.raises(TypeError):
        compiled.walk(None, boilerplate=True)


@pytest.mark.parametrize(("module", "name", "value", "said"), [
    (walking.etree, "LXML_VERSION", (9, 0, 0, 0), "it was not tested with lxml (9, 0, 0, 0)"),
    (compiled, "walk", lambda root, **_: None, "the compiled code gives another result"),
])  # fmt: skip
def test_other_trees_and_a_walk_that_differs_are_refused(
    monkeypatch, caplog, *, module, name, value, said
):
    monkeypatch.setattr(module, name, value)
    assert _speed.agreeing("walk", walking._example) is None
    (line,) = caplog.messages
    assert f"walk in pure Python: {said}" in line


def test_nodes_that_lie_elsewhere_are_noticed():
    root = parse_html("<p>a</p><p>b</p>")[0]
    assert compiled.is_laid_out_as_built(root, root[0], root[1])
    assert not compiled.is_laid_out_as_built(root, root[1], root[0])


def test_pure_python_is_taken_if_asked_for(monkeypatch):
    monkeypatch.setattr(_speed, "IS_PURE", True)
    assert _speed.agreeing("walk", walking._example) is None
