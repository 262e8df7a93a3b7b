"""What of a page is its text: a decided outcome for each kind of element."""

import pytest
from extracted import added, content, words
from parsel import Selector

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.text import Extractor, parse_html


@pytest.mark.parametrize("hidden", [
    "<script>var x = 1;</script>", "<script type=text/template><b>x</b></script>",
    "<style>b {color: red}</style>", "<template><p>x</p></template>",
    "<!-- x -->", "<!--[if IE]> x <![endif]-->", "<?php x ?>",
    "<iframe src=a>x</iframe>", "<video src=a>x</video>",
    "<svg><title>x</title></svg>", "<title>x</title>", '<img alt="x" title="x" src=a>',
    '<input type=hidden value="x"><input value=""><meta content="x">',
    "<input type=' Password' value=x><input type=checkbox value=x>",
])  # fmt: skip
@pytest.mark.parametrize("mode", ["main", "full"])
def test_what_is_no_text(hidden, mode):
    assert added(hidden, mode) == ""
    assert added(f"<p>a{hidden}<p>b", mode) == "a b"


@pytest.mark.parametrize("shown", [
    "<p hidden>x</p>", '<div style="display: none">x</div>', '<div aria-hidden="true">x</div>',
    "<details><summary>x</summary></details>", "<dialog>x</dialog>", "<button>x</button>",
    "<select><option>x</select>", "<textarea>x</textarea>", "<pre>\n  x\n</pre>",
    "<svg><text>x</text></svg>", "<math><mi>x</mi></math>", "<my-element>x</my-element>",
    "<noscript><p>x</p></noscript>", "<object data=a>x</object>",
    "<iframe srcdoc='<p>x'></iframe>", "<iframe srcdoc='&lt;nav&gt;x' src=a></iframe>",
    "<input value=x>", "<meter value=x></meter>", "<progress value=x></progress>",
    "<input type=submit value=x>", "<template shadowroot=closed>x</template>",
    "<template shadowrootmode=open>x</template>", "<dl><dt>x</dl>", "<form>x</form>",
])  # fmt: skip
@pytest.mark.parametrize("mode", ["main", "full"])
def test_what_is_text(shown, mode):
    assert added(shown, mode) == "x"


@pytest.mark.parametrize("boilerplate", [
    "<nav>x</nav>", "<search>x</search>", "<footer>x</footer>",
    "<div><div><footer><p>x</p></footer></div></div>",
    *(f"<div role={role}>x</div>" for role in ("navigation", "contentinfo", "search")),
    '<form role="search">x</form>', '<ul role=" Navigation  list">x</ul>',
    "<article><nav>x</nav></article>", "<nav><article><header>x</header></article></nav>",
    "<nav><aside>x</aside></nav>",
])  # fmt: skip
def test_boilerplate(boilerplate):
    """Left out of the main view, and part of the full one; its neighbours stay apart."""
    assert added(boilerplate) == ""
    assert added(boilerplate, "full") == "x"
    assert added(f"a{boilerplate}b") == "a b"


@pytest.mark.parametrize("content", [
    "<article><header>x</header></article>", "<section><div><header>x</header></div></section>",
    "<main><header>x</header></main>", "<article><footer>x</footer></article>",
    "<div role=main><header>x</header></div>", "<div role=article><footer>x</footer></div>",
    "<div role=region><footer>x</footer></div>", "<div role=list>x</div>", "<div role=''>x</div>",
    "<div class=menu id=ad>x</div>", "<p class=nav id=footer>x</p>", "<main>x</main>",
    "<menu>x</menu>", "<address>x</address>", "<figure><figcaption>x</figcaption></figure>",
])  # fmt: skip
def test_no_boilerplate(content):
    assert added(content) == "x"


@pytest.mark.parametrize(("text", "found"), [
    ("1 2 3 4 5", "12345"), ("1 2 3 4", "abcdef1234g"), ("- - - - - . . . . . !", "abcdefg"),
    ("漢字漢字漢", "漢字漢字漢"),
])  # fmt: skip
def test_where_next_to_nothing_remains_the_full_text_counts(text, found):
    assert words(f"<nav>a b c d e f</nav><p>{text}</p><footer>g</footer>") == [*found]
    assert words("<footer><main>x</main></footer>") == ["x"]


@pytest.mark.parametrize(("html", "expected"), [
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
    ("<table><tr><td><table><tr><td>a</td><td>b</td></tr></table>c</td></tr></table>", "a b c"),
    ("<dl><dt>a<dd>b<dt>c</dl>", "a b c"),
    ("<select><option>a<option>b</select>c", "a b c"),
    ("<h1>a</h1>b", "a b"),
    ("<pre>a\nb  c</pre>", "a b c"),
    ("a<img src=x>b", "a b"),
    ("<label>a</label><input>b<button>c</button>", "a b c"),
    ("<x-a>a</x-a><x-b>b</x-b>", "a b"),
    ("<span>a</span> <span>b</span>", "a b"),
    ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢 kan"),
    ("<ruby>漢<rp>(<rt>kan<rp>)</ruby>字", "漢 kan 字"),
    ("&lt;b&gt; &amp;amp; &eacute;&#233;&#x4e2d;", "< b > & amp éé 中"),
    ("caf<b>e</b>\u0301", "café"),
])  # fmt: skip
def test_where_words_part(html, expected):
    assert added(f"<div>{html}</div>") == expected


@pytest.mark.parametrize("element", ["main", "article", "section", "div", "p", "x-app", "picture"])
def test_a_page_without_body_tags(element):
    html = f"<!doctype html><title>t</title><meta charset=utf-8><{element}>a b c<b>d</b> e f"
    assert words(html) == ["a", "b", "cd", "e", "f"]


@pytest.mark.parametrize("ignore", [(), (".gone",)])
def test_what_follows_the_end_of_html_is_content(ignore):
    html = (
        "<html><head><title>t</title></head><body><p>one</p></body></html><p>two</p></html>"
        "<!-- c -->three<div class=gone>four</div><h1>five</h1><img src=a.png>"
    )
    root = Selector(html).root  # as a spider gets it
    found = Extractor("full", ignore).extract(root)
    assert found == Extractor("full", ignore).extract(parse_html(html))
    numbers = ["one", "two", "three", *["four"] * (not ignore), "five"]
    assert (found.text.split(), found.title) == (numbers, "t")
    assert (found.headings, found.images) == (("five",), ("a.png",))
    assert Extractor("full").extract(root[0]).text == ""  # of a part of a page
    assert Extractor().extract(parse_html("<html></html><p>all of it")).text == "all of it"


@pytest.mark.parametrize("tag", ["embed", "source", "image"])
def test_a_medium_without_an_end_tag_has_no_content(tag):
    found = content(f"<div><{tag} src=a>one <img src=b><h1>two</h1></div>three")
    assert found.text.split()[:3] == ["one", "two", "three"]
    assert (found.images, found.headings) == (("a", "b"), ("two",))


def test_cdata_is_a_comment_in_html():
    assert added("<div>a <![CDATA[ x ]]> b</div>") in ("a b", "a x b")  # as libxml2 has it
    assert "var" not in added("<script>//<![CDATA[\nvar x\n//]]></script>")


@pytest.mark.parametrize(("selector", "expected"), [
    (".ad", "a c d e"), ("#x", "a b d e"), ("p", "d e"), ("p.ad, #x", "a d e"),
    ("div > p", "d e"), ("p + p", "a d e"), ("p.ad ~ p", "a b d e"),
    ("section p, section span", "a b c d e"), ("[data-ad]", "a b c d"),
    ("p:first-of-type", "b c d e"), ("p:not(.ad)", "b d e"), ("div", ""),
])  # fmt: skip
def test_ignore(selector, expected):
    html = "<div><p>a</p><p class='x ad'>b</p><p id=x>c</p>d <i data-ad>e</i></div>"
    assert added(html, ignore=(selector,)) == expected


def test_ignored_parts_are_left_out_whole_and_of_the_full_text_too():
    data = "<script type=application/json"
    html = f"<div class=ad>x<img src=a.png>{data}>1</script></div>{data} id=volatile>2</script>"
    page = content(html, ignore=(".ad", "#volatile", "title"))
    assert (page.images, page.data, page.title) == ((), (), "")
    assert "x" not in page.text.split()
    html = "<nav>a b c <b>d</b></nav><p class=ad>x y z</p>"
    assert words(html, ignore=(".ad", "b")) == ["a", "b", "c"]


@pytest.mark.parametrize("selector", [
    "div[", "a::text", "p:unknown", "", "p >", ":nth-child(x)", 5
])  # fmt: skip
def test_bad_selectors(selector):
    with pytest.raises(ConfigurationError, match="NEARDUP_IGNORE") as error:
        Extractor(ignore=(".fine", selector))
    assert repr(selector) in str(error.value)


def test_bad_mode():
    with pytest.raises(ConfigurationError, match="NEARDUP_TEXT"):
        Extractor("other")
