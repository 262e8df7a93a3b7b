"""The blocks of a page: what parts them, which form each has, and where it stands."""

import pytest
from extracted import FULL, MAIN, blocks

from scrapy_neardup.text import Extractor, Form, normalize, parse_html


def form(fragment, mode="main"):
    (found,) = {block.form for block in blocks(fragment, mode)}
    return found


@pytest.mark.parametrize(("html", "expected"), [
    ("<p>a</p><p>b</p>", ["a", "b"]),
    ("a<p>b</p>c", ["a", "b", "c"]),
    ("<p>a <b>b</b> <i>c</i></p>", ["a b c"]),
    ("<p>a<br>b<br>c", ["a", "b", "c"]),
    ("<p>made <time class=ad>12:30</time> by 5 users", ["made 12 30 by 5 users"]),
    ("<ul><li>a<li>b</ul>", ["a", "b"]),
    ("<ul><li>a<ul><li>b</ul>c</ul>", ["a", "b", "c"]),
    ("<p> \n </p><div></div>", []),
    ("<p>a<img src=x>b", ["a b"]),
    ("<p>a<span class=ad>b</span>c", ["a", "b", "c"]),
    ("<p>a<script>x</script>b", ["ab"]),
])  # fmt: skip
def test_what_parts_blocks(html, expected):
    found = [normalize(block.text).decode().strip() for block in blocks(f"<div>{html}</div>")]
    assert found == expected


@pytest.mark.parametrize("name", [
    "sidenav", "site-footer", "breadcrumbs", "navHeader", "wide nav", "cookie-banner",
    "page_footer", "header", "menu", "NAV", "adsbygoogle", "ad advertisement", "toc",
    "related", "docnav",
])  # fmt: skip
@pytest.mark.parametrize("mode", ["main", "full"])
def test_a_name_is_a_form_and_leaves_the_text_as_it_is(name, mode):
    """A restaurant's `menu` is its page: a name alone takes nothing away."""
    for html in (
        f"<div class='{name}'>x</div>",
        f"<div id='{name}'><p>x</p></div>",
        f"<ul class='{name}'><li>x<li>y</ul>",
        f"<table id='{name}'><tr><td>x</table>",
        f"<p><ins class='{name}'>x</ins></p>",
        f"<span class='{name}'>x</span>",
        f"<div class='{name}'><h1>x</h1></div>",
    ):
        assert form(html, mode) is Form.NAMED, html


@pytest.mark.parametrize("html", [
    "<div class=sidebar>x</div>", "<div class=has-menu>x</div>", "<div class=no-footer>x</div>",
    "<div class=navy>x</div>",
    "<div class=headline>x</div>", "<div class=admin id=upload>x</div>",
    "<p class=nav id=footer>x</p>", "<h2 class=header>x</h2>", "<div class=x-widget>x</div>",
    "<main class=sidebar>x</main>", "<b class=ad>x</b>",
    "<div class=for-nav><main>x</main></div>", "<div class=menu role=main>x</div>",
    "<div class=nav><ul class=nav><li role='Main a'><p>x</ul></div>",
    "<aside><main>x</main></aside>",
])  # fmt: skip
def test_names_that_are_no_boilerplate(html):
    assert form(html) is Form.CONTENT


@pytest.mark.parametrize("html", [
    "<header>x</header>", "<aside>x</aside>", "<main><aside>x</aside></main>",
    "<div><header><p>x</p></header></div>", "<div role=banner>x</div>",
    "<div role=complementary>x</div>", '<article><div role="banner">x</div></article>',
])  # fmt: skip
@pytest.mark.parametrize("mode", ["main", "full"])
def test_headers_and_asides_are_text_beside_the_main_content(html, mode):
    assert form(html, mode) is Form.NAMED


def test_boilerplate_holds_its_form_for_all_that_stands_in_it():
    assert blocks("<nav>a<div class=ad>b</div><a href=x>c</a><time>d</time></nav>") == []
    assert form("<nav>a<p>b</p></nav>", "full") is Form.CONTENT


@pytest.mark.parametrize(("html", "expected"), [
    ("<a href=x>a b c</a>", Form.LINKS),
    ("<a href=x>eight by</a> ten", Form.CONTENT),  # 7 or 8 of 11 characters
    ("<a href=x>nearly all of it here</a> ten", Form.LINKS),  # 21 of 24
    ("<a href=x>0123</a><a href=y>4567</a>89", Form.LINKS),  # .8 of it
    ("<a href=x>0123</a><a href=y>456</a>789", Form.CONTENT),
    ("<a name=x>a b c</a>", Form.CONTENT),
    ("<a href=x>a <b>b</b> <i>c</i></a>", Form.LINKS),
    ("<a href=x><p>a</p></a>", Form.LINKS),
])  # fmt: skip
def test_blocks_of_links(html, expected):
    assert form(f"<div>{html}</div>") is expected


def test_the_next_block_starts_with_no_links():
    found = blocks("<ul><li><a href=x>a b c</a><li>words</ul>")
    assert [block.form for block in found] == [Form.LINKS, Form.CONTENT]


def test_the_form_around_an_element_returns_after_it():
    found = blocks(
        "<div class=ad>a<div>b</div></div>c<div><ins class=ad>d</ins>e</div>f"
        "<div class=nav>g<main>h<div class=toc>i</div>j</main>k</div>"
    )
    assert [(block.text, block.form) for block in found] == [
        ("a", Form.NAMED), ("b", Form.NAMED), ("c", Form.CONTENT), ("d", Form.NAMED),
        ("e", Form.CONTENT), ("f", Form.CONTENT), ("g", Form.NAMED), ("h", Form.CONTENT),
        ("i", Form.NAMED), ("j", Form.CONTENT), ("k", Form.NAMED),
    ]  # fmt: skip


def paths(html):
    return [block.path for block in blocks(html)]


def test_a_dom_path_is_made_of_tags_and_classes():
    same = [
        "<ul class=a><li>x<li>y</ul>",
        "<div class='a b'>x</div><div class=' a  b '>y</div>",
        "<div class=page-1>x</div><div class=page-27>y</div>",
        "<div id=one>x</div><div id=two>y</div>",
        "<div>x<p></p>y</div>",
    ]
    apart = [
        "<p>x</p><div>y</div>",
        "<div class=a>x</div><div class=b>y</div>",
        "<div><p>x</p></div><p>y</p>",
        "<div class=page-1>x</div><div class=page-x>y</div>",
        "<p>x<span class=ad>y</span>",
    ]
    found = {html: paths(html) for html in same + apart}
    assert [html for html, (one, two) in found.items() if one == two] == same


def test_what_stands_before_a_block_does_not_change_its_path():
    alone, after = (paths(f"{before}<div class=a>x</div>") for before in ("", "<p>y</p>" * 9))
    assert alone == after[-1:]
    assert all(0 <= path < 2**32 for path in after)


@pytest.mark.parametrize(("html", "joined"), [
    ("<table><tr><td>a<td>b<th>c<tr><td>d<td>e</table>", "01101"),
    ("<dl><dt>a<dd>b<dd>c<dt>d<dd>e</dl>", "01101"), ("<ul><li>a<li>b</ul>", "00"),
    ("<table><tr><td><td>b<td>c</table>", "01"), ("<p>a</p><dd>b", "01"),
    ("<p>a</p><p>b</p>", "00"),
])  # fmt: skip
def test_cells_go_on_in_their_row(html, joined):
    assert [block.joined for block in blocks(html)] == [bit == "1" for bit in joined]


@pytest.mark.parametrize("extractor", [MAIN, FULL, Extractor(ignore=(".ad",))])
def test_a_name_of_any_length_is_read(extractor):
    """Only its beginning counts."""
    html = f"<div class='{'x-' * 1_000_000} nav'>a b c d e f</div>"
    (block,) = extractor.extract(parse_html(html.encode())).blocks
    assert block.form is Form.CONTENT
