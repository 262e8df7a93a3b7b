"""What of a page is judged: a decided outcome for each kind of element."""

from __future__ import annotations

import pickle

import pytest
from lxml import etree
from parsel import Selector

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.text import Content, Extractor, normalize, parse_html

BODY = "<blockquote>1 2 3 4 5 6 7 8 9 10</blockquote>"
MAIN, FULL = Extractor(), Extractor("full")


def words(html, mode="main", ignore=()):
    text = Extractor(mode, ignore).extract(parse_html(html)).text
    return normalize(text).decode().split()


def added(fragment, mode="main", ignore=()):
    """The words that `fragment` adds to a page with enough main text."""
    found = words(BODY + fragment, mode, ignore)
    assert found[:10] == [str(n) for n in range(1, 11)]
    return " ".join(found[10:])


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>var x = 1;</script>",
        "<script type=text/template><b>x</b></script>",
        "<style>b {color: red}</style>",
        "<template><p>x</p></template>",
        "<noscript>x<p>y</p></noscript>",
        "<!-- x -->",
        "<!--[if IE]> x <![endif]-->",
        "<?php x ?>",
        "<iframe src=a>x</iframe>",
        "<video src=a>x</video>",
        "<object data=a>x</object>",
        "<svg><title>x</title></svg>",
        "<title>x</title>",
        '<img alt="x" title="x" src=a>',
        '<input value="x"><meta content="x">',
    ],
)
@pytest.mark.parametrize("mode", ["main", "full"])
def test_what_is_no_text(hidden, mode):
    assert added(hidden, mode) == ""
    assert added(f"<p>a{hidden}<p>b", mode) == "a b"


@pytest.mark.parametrize(
    "shown",
    [
        "<p hidden>x</p>",
        '<div style="display: none">x</div>',
        '<div aria-hidden="true">x</div>',
        "<details><summary>x</summary></details>",
        "<dialog>x</dialog>",
        "<button>x</button>",
        "<select><option>x</select>",
        "<textarea>x</textarea>",
        "<pre>\n  x\n</pre>",
        "<svg><text>x</text></svg>",
        "<math><mi>x</mi></math>",
        "<my-element>x</my-element>",
        "<template shadowrootmode=open>x</template>",
        "<dl><dt>x</dl>",
        "<form>x</form>",
    ],
)
@pytest.mark.parametrize("mode", ["main", "full"])
def test_what_is_text(shown, mode):
    assert added(shown, mode) == "x"


@pytest.mark.parametrize(
    "furniture",
    [
        "<nav>x</nav>",
        "<aside>x</aside>",
        "<search>x</search>",
        "<header>x</header>",
        "<footer>x</footer>",
        "<div><header>x</header></div>",
        "<div><div><footer><p>x</p></footer></div></div>",
        *(
            f"<div role={role}>x</div>"
            for role in ("navigation", "banner", "contentinfo", "complementary", "search")
        ),
        '<form role="search">x</form>',
        '<ul role=" Navigation  list">x</ul>',
        "<article><nav>x</nav></article>",
        "<main><aside>x</aside></main>",
        "<nav><article><header>x</header></article></nav>",
        '<article><div role="banner">x</div></article>',
    ],
)
def test_furniture(furniture):
    """Left out of the main view, and part of the full one; its neighbours stay apart."""
    assert added(furniture) == ""
    assert added(furniture, "full") == "x"
    assert added(f"a{furniture}b") == "a b"


@pytest.mark.parametrize(
    "content",
    [
        "<article><header>x</header></article>",
        "<section><div><header>x</header></div></section>",
        "<main><header>x</header></main>",
        "<article><footer>x</footer></article>",
        "<div role=main><header>x</header></div>",
        "<div role=article><footer>x</footer></div>",
        "<div role=region><footer>x</footer></div>",
        "<div role=list>x</div>",
        "<div role=''>x</div>",
        "<div class=menu id=ad>x</div>",
        "<p class=nav id=footer>x</p>",
        "<main>x</main>",
        "<menu>x</menu>",
        "<address>x</address>",
        "<figure><figcaption>x</figcaption></figure>",
    ],
)
def test_no_furniture(content):
    assert added(content) == "x"


@pytest.mark.parametrize(
    "name",
    [
        "sidebar",
        "site-footer",
        "breadcrumbs",
        "navHeader",
        "wide nav",
        "cookie-banner",
        "page_footer",
    ],
)
def test_names_that_say_what_a_tag_would_say(name):
    page = f"a b c d e <div class='{name}'>x</div> <ul id='{name}'><li>y</ul> <p class='{name}'>f"
    assert words(page) == ["a", "b", "c", "d", "e", "f"]
    assert words(page, "full") == ["a", "b", "c", "d", "e", "x", "y", "f"]


@pytest.mark.parametrize(
    "content",
    [
        "<div class=has-sidebar>x</div>",
        "<div class=no-footer>x</div>",
        "<div class=header>x</div>",
        "<div class=menu>x</div>",
        "<div class=navy>x</div>",
        "<div class=sidebar><h1>x</h1></div>",
        "<div class=sidebar><div role=main>x</div></div>",
        "<div class=footer><article>x</article></div>",
        "<span class=footer>x</span>",
    ],
)
def test_names_that_may_be_those_of_content(content):
    assert words(f"a b c d e {content}") == ["a", "b", "c", "d", "e", "x"]


def test_more_than_half_of_the_text_is_no_furniture():
    page = "<p>a b c d e f<div class=sidebar>{}<img src=s.png></div>"
    small = Extractor().extract(parse_html(page.format("x y").encode()))
    assert (small.text.split(), small.images) == (["a", "b", "c", "d", "e", "f"], ())
    large = Extractor().extract(parse_html(page.format("x " * 20).encode()))
    assert large.text.split() == [*small.text.split(), *["x"] * 20]
    assert large.core.split() == small.text.split()
    assert large.images


def test_headings():
    html = (
        f"<h1>Big\n <b>news</b></h1>{BODY}<nav><h1>no</h1></nav><article><h1>More</h1><h2>x</h2>"
    )
    assert MAIN.extract(parse_html(html.encode())).headings == ("Big news", "More")
    assert words(html)[:2] == ["big", "news"]


@pytest.mark.parametrize(
    ("attributes", "language"),
    [
        ('lang="en"', "en"),
        ('lang=" en-GB "', "en"),
        ('LANG="zh_Hant"', "zh"),
        ('xml:lang="DE"', "de"),
        ('lang="" xml:lang="gsw-CH"', "gsw"),
        ('lang="{{ lang }}"', ""),
        ('lang="english-speaking"', "english"),
        ('lang="notalanguage1"', ""),
        ("", ""),
    ],
)
def test_the_declared_language(attributes, language):
    html = f"<html {attributes}><body lang=fr><p>{BODY}"
    assert MAIN.extract(parse_html(html.encode())).language == language
    xhtml = f'<html xmlns="http://www.w3.org/1999/xhtml" {attributes}><body>{BODY}</body></html>'
    if "=" in attributes and "LANG" not in attributes:
        assert FULL.extract(etree.fromstring(xhtml)).language == language


def test_where_next_to_nothing_remains_the_full_text_counts():
    page = "<nav>a b c d e f</nav><p>{}</p><footer>g</footer>"
    assert words(page.format("1 2 3 4 5")) == ["1", "2", "3", "4", "5"]
    assert words(page.format("1 2 3 4")) == [*"abcdef", *"1234", "g"]
    assert words(page.format("- - - - - . . . . . !")) == [*"abcdef", "g"]
    assert words(page.format("漢字漢字漢")) == [*"漢字漢字漢"]
    assert words("<header><main>x</main></header>") == ["x"]


def test_full_text_brings_its_images():
    page = parse_html("<nav>a<img src=nav.png></nav><p>b<img src=main.png></p>")
    assert MAIN.extract(page).images == ("main.png", "nav.png")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("wo<b>r</b>d", "word"),
        ("w<i>o</i><span>r</span><em>d</em>s", "words"),
        ("<a href=x>wo</a>rd", "word"),
        ("exa<wbr>mple so&shy;ft", "example soft"),
        ("H<sub>2</sub>O x<sup>2</sup>", "h2o x2"),
        ("<p>a</p><p>b</p>", "a b"),
        ("a<br>b<hr>c", "a b c"),
        ("<div>a</div>b<div>c</div>d", "a b c d"),
        ("<ul><li>a<li>b<ul><li>c</ul>d</ul>e", "a b c d e"),
        ("<table><tr><td>a<td>b<tr><th>c</table>d", "a b c d"),
        (
            "<table><tr><td><table><tr><td>a</td><td>b</td></tr></table>c</td></tr></table>",
            "a b c",
        ),
        ("<dl><dt>a<dd>b<dt>c</dl>", "a b c"),
        ("<select><option>a<option>b</select>c", "a b c"),
        ("<h1>a</h1>b", "a b"),
        ("<pre>a\nb  c</pre>", "a b c"),
        ("a<img src=x>b", "a b"),
        ("<label>a</label><input>b<button>c</button>", "a b c"),
        ("<x-a>a</x-a><x-b>b</x-b>", "a b"),
        ("<span>a</span> <span>b</span>", "a b"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢 kan"),
        ("&lt;b&gt; &amp;amp; &eacute;&#233;&#x4e2d;", "b amp éé 中"),
        ("caf<b>e</b>\u0301", "café"),
    ],
)
def test_where_words_part(html, expected):
    assert added(f"<div>{html}</div>") == expected


@pytest.mark.parametrize("element", ["main", "article", "section", "div", "p", "x-app", "picture"])
def test_a_page_without_body_tags(element):
    html = f"<!doctype html><title>t</title><meta charset=utf-8><{element}>a b c<b>d</b> e f"
    assert words(html) == ["a", "b", "cd", "e", "f"]


def test_cdata_is_a_comment_in_html():
    assert added("<div>a <![CDATA[ x ]]> b</div>") in ("a b", "a x b")  # as libxml2 has it
    assert "var" not in added("<script>//<![CDATA[\nvar x\n//]]></script>")


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>A  title\n here </title>", "A title here"),
        ("<p>x", ""),
        ("<title></title>", ""),
        ("<title>one</title><title>two</title>", "one"),
        ("<svg><title>picture</title></svg><title>late</title>", "late"),
        ("<svg><title>picture</title></svg>", ""),
        ("<title>a &amp; b &lt;i&gt;</title>", "a & b <i>"),
        ("<body><p>x<title>in the body</title>", "in the body"),
    ],
)
@pytest.mark.parametrize("mode", ["main", "full"])
def test_title(html, title, mode):
    assert Extractor(mode).extract(parse_html(html + BODY)).title == title


def content(html, ignore=()):
    return Extractor(ignore=ignore).extract(parse_html(f"<title>t</title>{html}{BODY}"))


@pytest.mark.parametrize(
    ("html", "images"),
    [
        ("<img src=b.png><img src=a.png><img src=b.png>", ("a.png", "b.png")),
        ("<img src=' a.png '>", ("a.png",)),
        ("<img src=p.gif data-src=a.png>", ("a.png", "p.gif")),
        ("<img srcset='a.png 1x, b.png 2x'>", ("a.png",)),
        ("<picture><source srcset='a, b 2x'><img src=c></picture>", ("a", "c")),
        ("<video src=v poster=p><source src=w></video>", ("p", "v", "w")),
        ("<audio src=a.mp3></audio><embed src=e.swf>", ("a.mp3", "e.swf")),
        ("<iframe src=//tube/embed/1></iframe>", ("//tube/embed/1",)),
        ("<object data=o.pdf><img src=i.png></object>", ("i.png", "o.pdf")),
        ("<svg><image href=i.png /><image xlink:href=j.png /></svg>", ("i.png", "j.png")),
        ("<noscript><img src=real.jpg></noscript>", ("real.jpg",)),
        ("<img src='data:image/gif;base64,R0lGOD'><img src=''><img>", ()),
        ("<img src='blob:x'><iframe src='about:blank'></iframe>", ()),
        ("<iframe src='JavaScript:x'></iframe>", ()),
        ("<img src=px.gif width=1 height=1><img src=px2.gif height=0>", ()),
        ("<noscript><iframe src=ns.html height=0 width=0></iframe></noscript>", ()),
        ("<img src=a.png width=100 height=50%>", ("a.png",)),
        ("<nav><img src=logo.png></nav><footer><img src=f.png></footer>", ()),
        ("<img src='a.png?id=1&_=1700000000#top'>", ("a.png?id=1",)),
        ("<img src='a.png?1700000000'>", ("a.png",)),
        ("<img src='../../a/b.png'><img src=./c.png><img src=...>", ("...", "a/b.png", "c.png")),
        ("<img src='a.png?12345'>", ("a.png?12345",)),
        ("<img src='a.png?X-Amz-Date=1&id=7&X-Amz-Signature=2&Expires=3'>", ("a.png?id=7",)),
        ("<img src='a.php?photo=1'><img src='a.php?photo=2'>", ("a.php?photo=1", "a.php?photo=2")),
    ],
)  # fmt: skip
def test_images(html, images):
    assert content(html).images == images


def test_an_image_within_the_page_counts():
    source = "data:image/png;base64," + "A" * 2_000
    assert content(f"<img src='{source}'>").images == (source,)


@pytest.mark.parametrize(
    ("html", "data"),
    [
        ('<script type="application/json">{"a":\n  1}</script>', ('{"a": 1}',)),
        ('<script type="application/ld+JSON; charset=utf-8">[1]</script>', ("[1]",)),
        ("<script type=text/json>2</script><script type=text/json>1</script>", ("1", "2")),
        ("<script type=application/json> </script>", ()),
        ("<script>window.__NEXT_DATA__ = {a: 1}</script>", ("window.__NEXT_DATA__ = {a: 1}",)),
        ("<script>window['__STATE__']=[1]</script>", ("window['__STATE__']=[1]",)),
        ("<script>var __A__ = JSON.parse('1')</script>", ("var __A__ = JSON.parse('1')",)),
        ("<script>__A__='%7B%7D'</script>", ("__A__='%7B%7D'",)),
        ("<script>__NUXT__=(function(a){}(1))</script>", ("__NUXT__=(function(a){}(1))",)),
        ("<script>self.__next_f.push([1, 'x'])</script>", ("self.__next_f.push([1, 'x'])",)),
        ("<script>var ytInitialData = {}</script>", ("var ytInitialData = {}",)),
        ("<script>var a = {x: 1}; f.push([1])</script>", ()),
        ("<script>window.__nonce = 'abc'; window.__CF$cv$params={r:'1'}</script>", ()),
        ("<script>dataLayer = [{page: 1}]</script>", ()),
        ("<script src=a.js>window.__A__ = {}</script>", ()),
        ("<script nonce=abc>f()</script>", ()),
        ("<nav><script type=application/json>1</script></nav>", ()),
    ],
)  # fmt: skip
def test_data(html, data):
    assert content(html).data == data
    assert content("").data == ()


@pytest.mark.parametrize(
    "unit", ["a", "__", "__a ", "__a' ", "nitialState", "_", "__a = ", "?_=1&", "\\"]
)
def test_hostile_scripts_take_no_quadratic_time(unit):
    text = unit * (500_000 // len(unit))
    page = content(f"<script>{text}</script><script>{text} =</script><img src='{text}'>")
    assert page.data == ()


def test_application_shells_differ_in_their_data():
    shell = "<div id=root>Please wait while this page is being loaded</div><script>{}</script>"
    one, two = (content(shell.format(f"window.__INITIAL_STATE__ = {{id: {n}}}")) for n in (1, 2))
    assert one.text == two.text
    assert one.data != two.data


def test_photo_pages_differ_in_their_images():
    one, two = (content(f"<img src=/photos/{n}.jpg>") for n in (1, 2))
    assert (one.text, one.data) == (two.text, two.data)
    assert one.images != two.images


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (".ad", "a c d e"),
        ("#x", "a b d e"),
        ("p", "d e"),
        ("p.ad, #x", "a d e"),
        ("div > p", "d e"),
        ("p + p", "a d e"),
        ("p.ad ~ p", "a b d e"),
        ("section p, section span", "a b c d e"),
        ("[data-ad]", "a b c d"),
        ("p:first-of-type", "b c d e"),
        ("p:not(.ad)", "b d e"),
        ("div", ""),
    ],
)
def test_ignore(selector, expected):
    html = "<div><p>a</p><p class='x ad'>b</p><p id=x>c</p>d <i data-ad>e</i></div>"
    assert added(html, ignore=(selector,)) == expected


def test_ignored_parts_are_left_out_whole():
    html = (
        "<div class=ad>x<img src=a.png><script type=application/json>1</script></div>"
        "<script type=application/json id=volatile>2</script>"
    )
    page = content(html, ignore=(".ad", "#volatile", "title"))
    assert (page.images, page.data, page.title) == ((), (), "")
    assert "x" not in page.text.split()


def test_ignored_parts_of_the_full_text():
    html = "<nav>a b c <b>d</b></nav><p class=ad>x y z</p>"
    assert words(html, ignore=(".ad", "b")) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "selector", ["div[", "a::text", "p:unknown", "", "p >", ":nth-child(x)", 5]
)
def test_bad_selectors(selector):
    with pytest.raises(ConfigurationError, match="NEARDUP_IGNORE") as error:
        Extractor(ignore=(".fine", selector))
    assert repr(selector) in str(error.value)


def test_bad_mode():
    with pytest.raises(ConfigurationError, match="NEARDUP_TEXT"):
        Extractor("other")


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
    assert pickle.loads(pickle.dumps(Content("a", "b", ("c",), ("d",)))).images == ("c",)


@pytest.mark.parametrize("html", PAGES)
def test_a_tree_of_parsel(html):
    """What Scrapy hands over."""
    assert MAIN.extract(Selector(text=html).root) == MAIN.extract(parse_html(html))


def test_a_part_of_a_tree():
    """An element is read on its own; what stands around it does not matter."""
    root = parse_html(f"<nav>x</nav><main>{BODY}</main>tail")
    part = root.find(".//main")
    alone = MAIN.extract(part)
    assert normalize(alone.text).split() == normalize(BODY).split()[1:-1]
    assert Extractor(ignore=(".ad",)).extract(part) == alone


def test_headers_far_down_are_content():
    """How far up a header is looked at is bounded."""
    assert added("<div>" * 50 + "<header>x</header>") == ""
    assert added("<div>" * 100 + "<header>x</header>") == "x"
    deep = "<div>" * 2_000 + "<header>x</header><footer>y</footer><title>z</title>" * 10_000
    assert len(normalize(content(deep).text).split()) == 20_010


def test_siblings_and_attributes_take_no_quadratic_time():
    """Thousands of equal siblings of every kind that a template looks at."""
    many = "".join(
        f"<div role=list>a</div><img src={n}><script>b</script><header>c</header><i>d</i>"
        for n in range(20_000)
    )
    page = content(f"<div>{many}</div>")
    assert len(page.images) == 20_000
    assert len(normalize(page.text).split()) == 40_010
