"""Selectors of what differs between two trees of one page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.text import parse_html
from scrapy_neardup.text.treediff import MAX_SELECTORS, changed_selectors

PAGE = """<!DOCTYPE html><html><head><title>{title}</title></head><body>
<div id=menu class="top a1b22"><a href="/">Home</a> <a href="/news">News</a></div>
<main><h1>Article</h1><p>{own}</p>{more}<p>The end of it.</p></main>
<div class=foot><span>{clock}</span> <b>Imprint</b></div></body></html>"""


def tree(own="Its own text", more="", clock="All rights reserved", title="A page"):
    return parse_html(PAGE.format(own=own, more=more, clock=clock, title=title))


def card(number, name="other"):
    return f'<div class="{name}"><h3>Card {number}</h3><p>of number {number}</p></div>'


@pytest.mark.parametrize(("one", "other", "selectors"), [
    ({}, {}, []),
    ({"title": "1"}, {"title": "2"}, []),
    ({"more": "<script class=x>1</script>"}, {"more": "<script class=x>2</script>"}, []),
    ({"more": f"<template>{card(1)}</template>"}, {"more": f"<template>{card(2)}</template>"}, []),
    ({"clock": "12:01"}, {"clock": "12:02"}, []),  # it has no name, and stands beside other text
    ({"own": "a <i class=x>few</i>"}, {"own": "a <i class=x>many</i>"}, ["i.x"]),
    ({"more": card(1)}, {"more": card(2)}, ["div.other"]),
    ({"more": card(1)}, {}, ["div.other"]),
    ({"more": card(1, "ad")}, {"more": card(2, "teaser")}, ["div.ad", "div.teaser"]),
    ({"more": card(1) + card(2)}, {"more": card(3) + card(2)}, []),
    ({"more": card(1) + card(2, "other new")}, {"more": card(1) + card(3, "other new")},
     ["div.new"]),
    ({"more": '<p class=x><img src="1.png"></p>'}, {"more": '<p class=x><img src="2.png"></p>'},
     ["p.x"]),
    ({"more": f"<section id=s>{card(1)}{card(2)}</section>"},
     {"more": f"<section id=s>{card(3)}{card(4)}</section>"}, ["section#s"]),
    ({"own": "It ends at 12:01"}, {"own": "It ends at 12:02"}, []),
])  # fmt: skip
def test_selectors_fit_what_changed_alone(one, other, selectors):
    assert changed_selectors(tree(**one), tree(**other)) == selectors


def test_a_paragraph_of_many_words_that_keeps_most_of_them_stays():
    long = "The article has many words that stay as they are. " * 4 + "Then a visitor: number "
    more = '<p class="counted">{}</p>'
    one, other = (tree(more=more.format(f"{long}{number}")) for number in (1, 2))
    assert changed_selectors(one, other) == []
    one, other = (tree(more=more.format(f"Visitors: {number}")) for number in (1, 2))
    assert changed_selectors(one, other) == ["p.counted"]


def test_names_of_single_pages_name_nothing():
    more = '<div id="post-{0}" class="p-{0} post">Text {0}</div>'
    one, other = (tree(more=more.format(number)) for number in (123, 456))
    assert changed_selectors(one, other) == ["div.post"]


def test_the_number_of_selectors_is_bounded():
    one, other = (
        tree(more="".join(f"<p class=x{name}>{name}{number}</p>" for name in "abcdefghijklmn"))
        for number in (1, 2)
    )
    assert len(changed_selectors(one, other)) == MAX_SELECTORS


MARKUP = st.recursive(
    st.sampled_from(["one", "two", "<br>", "<!-- c -->", '<img src="a">', "<p>", "</div>"]),
    lambda inner: st.builds(
        lambda tag, name, parts: f'<{tag} class="{name}">{"".join(parts)}</{tag}>',
        st.sampled_from(["div", "p", "span", "table", "td", "ul", "li", "a", "svg:b"]),
        st.sampled_from(["", "x", "y z", "1", "é", 'a"b']),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)


@given(MARKUP, MARKUP)
def test_what_a_selector_fits_is_in_a_part_that_the_other_tree_shows_otherwise(one, other):
    trees = [tree(more=more) for more in (one, other)]
    selectors = changed_selectors(*trees)
    assert bool(selectors) <= (one != other)
    for selector in selectors:
        assert any(each.cssselect(selector) for each in trees)
    assert changed_selectors(trees[0], trees[0]) == []
