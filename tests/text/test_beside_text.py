"""What a page has beside its text: title and headings, language, images, data, links."""

import pytest
from extracted import BODY, FULL, MAIN, content, words
from lxml import etree

from scrapy_neardup.text import Extractor, link_targets, parse_html
from scrapy_neardup.text.walk import MAX_TITLE


@pytest.mark.parametrize(("html", "title"), [
    ("<title>A  title\n here </title>", "A title here"), ("<p>x", ""), ("<title></title>", ""),
    ("<title>one</title><title>two</title>", "one"),
    ("<svg><title>picture</title></svg><title>late</title>", "late"),
    ("<svg><title>picture</title></svg>", ""),
    ("<title>a &amp; b &lt;i&gt;</title>", "a & b <i>"),
    ("<body><p>x<title>in the body</title>", "in the body"),
])  # fmt: skip
@pytest.mark.parametrize("mode", ["main", "full"])
def test_title(html, title, mode):
    assert Extractor(mode).extract(parse_html(html + BODY)).title == title


def test_headings():
    beside = "<nav><h1>no</h1></nav><article><h1>More</h1><h2>x</h2>"
    html = f"<h1>Big\n <b>news</b></h1>{BODY}{beside}"
    assert MAIN.extract(parse_html(html.encode())).headings == ("Big news", "More")
    assert words(html)[:2] == ["big", "news"]


def test_of_a_long_title_or_heading_the_start_is_read():
    long = "word " * 10_000
    html = f"<title>{long}</title><h1>{long}</h1><h1>{'é' * 10_000}</h1>{BODY}"
    page = MAIN.extract(parse_html(html.encode()))
    start = long[:MAX_TITLE].strip()
    assert (page.title, page.headings) == (start, (start, "é" * MAX_TITLE))


def test_white_space_of_a_title_or_heading_does_not_count():
    text = " \n" * MAX_TITLE + "One" + "\t" * MAX_TITLE + "two"
    page = MAIN.extract(parse_html(f"<title>{text}</title><h1>{text}</h1>{BODY}"))
    assert (page.title, page.headings) == ("One two", ("One two",))


@pytest.mark.parametrize(("attributes", "language"), [
    ('lang="en"', "en"), ('lang=" en-GB "', "en"), ('LANG="zh_Hant"', "zh"),
    ('xml:lang="DE"', "de"), ('lang="" xml:lang="gsw-CH"', "gsw"),
    ('lang="{{ lang }}"', ""), ('lang="english-speaking"', "english"),
    ('lang="notalanguage1"', ""), ("", ""),
])  # fmt: skip
def test_the_declared_language(attributes, language):
    html = f"<html {attributes}><body lang=fr><p>{BODY}"
    assert MAIN.extract(parse_html(html.encode())).language == language
    assert Extractor().extract(parse_html(html.encode())).language == ""  # unless it is wanted
    xhtml = f'<html xmlns="http://www.w3.org/1999/xhtml" {attributes}><body>{BODY}</body></html>'
    if "=" in attributes and "LANG" not in attributes:
        assert FULL.extract(etree.fromstring(xhtml)).language == language


@pytest.mark.parametrize(("html", "images"), [
    ("<img src=b.png><img src=a.png><img src=b.png>", ("a.png", "b.png 2")),
    ("<img src=a srcset=a data-src=a><i style='background: url(a)'></i>", ("a 2",)),
    ("<img data-src=a><noscript><img src=a><img src=b><img src=b></noscript>", ("a", "b")),
    ("<base href=/x/><img src=a><img src=/x/a><iframe srcdoc='&lt;img src=a>'></iframe>",
     ("/x/a 3",)),
    ("<img src=' a.png '>", ("a.png",)),
    ("<img src=p.gif data-src=a.png>", ("a.png", "p.gif")),
    ("<img srcset='a.png 1x, b.png 2x'>", ("a.png",)),
    ("<picture><source srcset='a, b 2x'><img src=c></picture>", ("a", "c")),
    ("<video src=v poster=p><source src=w></video>", ("p", "v", "w")),
    ("<audio src=a.mp3></audio><embed src=e.swf>", ("a.mp3", "e.swf")),
    ("<iframe src=//tube/embed/1></iframe>", ("//tube/embed/1",)),
    ("<object data=o.pdf><img src=i.png></object>", ("i.png", "o.pdf")),
    ("<svg><image href=i.png /><image xlink:href=j.png /></svg>", ("i.png", "j.png")),
    ("<svg fill=none><g fill=red class=x><path d='M0 1' id=a></g></svg><path d=x>",
     ("svg:d=M0 1 ", "svg:fill=red ")),
    ("<svg><image href=i.png x=5 /><video x=2><source src=v x=7></video></svg>",
     ("i.png", "svg:x=2 ", "svg:x=5 ", "svg:x=7 ", "v")),
    ("<svg><use xlink:href=#ok x=1 /><rect fill=url(#a1) /><a href=b>c</a></svg>",
     ("svg:xlink:href=#ok x=1 ",)),
    ("<nav><svg><circle r=1 /></svg></nav><svg><circle cx=2 r=1 /></svg>", ("svg:cx=2 r=1 ",)),
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
    # Media that a script shows later, or a style, or a player
    ("<amp-img src=a></amp-img><lite-youtube videoid=b3></lite-youtube>", ("a", "b3")),
    ("<amp-youtube data-videoid=c></amp-youtube><div data-vimeo-id=7></div>", ("7", "c")),
    ("<img data-lazy=a.jpg data-actualsrc='/b?c' alt='d.jpg' title=e.png>", ("/b?c", "a.jpg")),
    ("<div data-bg=a.jpg></div><span data-background='url(b)'>", ("a.jpg", "b")),
    ("<p style=\"color: red; background: URL('a b'), url( c.PNG )\">", ("a", "c.PNG")),
    ("<p style=\"background: url('a'), url( c.PNG )\">", ("a", "c.PNG")),
    ("<b style='background: url(\"d\")'>", ("d",)),
    ("<a style='background: url(a)' href=b.jpg data-full=c.jpg>", ("a", "c.jpg")),
    ("<p data-x='i.php?f=a.jpg' data-y='b.png#c?d' data-z='e.x?f.g'>", ("b.png", "i.php?f=a.jpg")),
    ("<p data-lat=52.5 data-lng=13.4 data-price=3>", ("13.4", "52.5")),
    ("<form action=a.png></form><div data-src=/widget?of=x>", ()),
    ("<table background=a><td background=b>", ("a", "b")),
    ("<model-viewer src=a.glb ios-src=b.usdz></model-viewer>", ("a.glb", "b.usdz")),
    ("<input type=image src=a><input value=b.png>", ("a",)),
    ("<div data-x='a.jpg b.jpg' data-y=3.14 data-z=a.exe data-w=a.mp4?b#c>", ("a.mp4?b",)),
    ("<video-player poster=a><track src=b></video-player>", ("a", "b")),
    ("<div data-media-id='' data-src=a width=1></div><nav><i data-src=b></i></nav>", ()),
    ("<iframe srcdoc='&lt;img src=a>'></iframe>", ("a",)),
    ("<object data=a><object data=c><img src=b></object></object>", ("a", "b", "c")),
    ("<template shadowroot=open><img src=a></template>", ("a",)),
    # A base moves them
    ("<base href=/x/><base href=/y/><img src=a><img src=/b>", ("/b", "/x/a")),
    ("<base href=/x/><img src=//c/d>", ("//c/d",)),
    ("<base href=' http://h/x/y '><img src=../a?b>", ("http://h/x/a?b",)),
    (f"<base href=/{'x' * 2_000}/><img src=a>", ("a",)),
    ("<base target=_top><img src=a>", ("a",)),
    (f"<img src='data:image/png,{'A' * 2_000}'>", (f"data:image/png,{'A' * 2_000}",)),
    # JSON, but no code
    ("""<div id=app data-page='{"a": "url(b)"}'><x-y :p=' [{"c": 1}]'>""",
     ('json: [{"c": 1}]', 'json:{"a": "url(b)"}')),
    ("""<base href=/x/><p data-a='["#b"]'><i data-lat='[1, 2]' data-c='[\u00a0"d"]'>""",
     ("/x/[1, 2]", 'json:["#b"]', 'json:[\u00a0"d"]')),
    ("""<p x-data='{ a: 1 }' ng-class="{'a': b}" data-a={} data-b=[] data-c='[1]'
     data-d='{{ "a" }}'><input value='{"a": 1}'><nav data-a='{"a": 1}'></nav>
     <p width=1 data-a='{"a": 1}'>""", ()),
])  # fmt: skip
def test_images(html, images):
    assert content(html).images == images


def test_full_text_brings_its_images():
    page = parse_html("<nav>a<img src=nav.png></nav><p>b<img src=main.png></p>")
    assert MAIN.extract(page).images == ("main.png", "nav.png")


@pytest.mark.parametrize(("html", "data"), [
    ('<script type="application/json">{"a":\n  1}</script>', ('{"a": 1}',)),
    ('<script type="application/ld+JSON; charset=utf-8">[1]</script>', ("[1]",)),
    ("<script type=text/json>2</script><script type=text/json>1</script>", ("1", "2")),
    ("<script type=application/json> </script>", ()),
    ("<script type='math/TeX; mode=display'>x^2</script>", ("x^2",)),
    ("<script type=text/markdown># A\n\nb</script>", ("# A b",)),
    ("<script type='text/html'><p>{{ a }}</p></script>", ("<p>{{ a }}</p>",)),
    ("<script type=text/JavaScript>1</script><script type=module>2</script>", ()),
    ("<script type=' Text/plain '>1</script><script type=''>2</script>", ()),
    ("<script type=a1-text/javascript>1</script><script type=rocketlazyloadscript>2</script>", ()),
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
    ("<script>var a=[1.5,-2, 3e4,\n4,5];draw(a, [6,7,8,9])</script>", ("[1.5,-2, 3e4,\n4,5]",)),
    ("<script>plot([[1,2],[3,4],[5,6]], {a: [7,8,9,10,11]})</script>",
     ("[7,8,9,10,11]", "[[1,2],[3,4],[5,6]], ")),
    ("<script>a = b[10][200]; c = ['d',1,2,3,4,5]; e = [1,2,3, f]</script>", ()),
    ("<script src=a.js>[1,2,3,4,5,6,7]</script><nav><script>[1,2,3,4,5,6]</script></nav>", ()),
    ("<script nonce=abc>f()</script>", ()),
    ("<nav><script type=application/json>1</script></nav>", ()),
])  # fmt: skip
def test_data(html, data):
    assert content(html).data == data
    assert content("").data == ()


@pytest.mark.parametrize(("head", "language"), [
    ('<meta http-equiv="Content-Language" content="de-AT">', "de"),
    ('<meta charset=utf-8><META HTTP-EQUIV=content-language CONTENT=" FR ">', "fr"),
    ('<meta http-equiv="content-language" content="en, fr">', ""),
    ('<meta http-equiv="content-language">', ""),
    ('<meta name="content-language" content="de">', ""),
    ("<meta http-equiv=content-language content=de><meta http-equiv=content-language>", "de"),
])  # fmt: skip
def test_a_meta_element_declares_the_language_where_the_root_does_not(head, language):
    page = f"<html{{}}><head>{head}<title>t</title></head><body>x</body></html>"
    assert MAIN.extract(parse_html(page.format("").encode())).language == language
    assert MAIN.extract(parse_html(page.format(" lang=cy").encode())).language == "cy"


URL = "https://example.com/dir/page.html?q=1"


@pytest.mark.parametrize(("html", "count"), [
    ("<p>none", 0),
    ("<a href=a>1</a><a href=b>2</a><a href=a>3</a>", 2),
    ("<a href=a>1</a><a href='./a'>2</a><a href=/dir/a>3</a>", 1),
    ("<a href=a>1</a><a href=//example.com/dir/a>2</a>", 1),
    ("<a href='a#x'>1</a><a href='a#y'>2</a><a href=' a '>3</a>", 1),
    ("<a href='#top'>the page itself</a><a href=''>again</a>", 1),
    ("<a href='?q=1'>itself</a><a href='?q=2'>another</a>", 2),
    ("<a href=mailto:x@y>1</a><a href='javascript:x()'>2</a>", 0),
    ("<a href=ftp://x/>1</a><a>2</a>", 0),
    ("<a href='http://['>no URL</a><a href='HTTP://other/'>1</a>", 1),
    ("<area href=a><link href=b><img src=c>", 1),
    ("<nav><a href=a>1</a></nav><footer><a href=b>2</a></footer>", 2),
    ("<base href=/other/><a href=a>1</a><a href=/other/a>2</a>", 1),
    ("<base href='http://['><a href=a>1</a>", 0),
])  # fmt: skip
def test_each_target_is_named_once(html, count):
    assert len(link_targets(parse_html(html), URL)) == count


def test_targets_are_addresses_without_fragments():
    targets = link_targets(parse_html("<a href=a#top>1</a><a href=//other.example/>2</a>"), URL)
    assert targets == {"https://example.com/dir/a", "https://other.example/"}
