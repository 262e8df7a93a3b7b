"""The tree of a page: parsed once, and read where nobody else can change it."""

import gc
from weakref import ref

import pytest
from crawl_spiders import Visit
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from undeclared_pages import ENCODINGS, page_of

from scrapy_neardup.crawl import pagestate
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.reading import Reader, UnjudgedError
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.text import parse as limits
from scrapy_neardup.text import parse_html
from scrapy_neardup.verdict import Reason

URL = "http://a.example/x"
BODY = b"<p>A page of some words <a href=/1>and</a> <a href=/2>links</a>"


class Roots(Analyser):
    def __init__(self):
        super().__init__(Parameters())
        self.roots = []

    def read(self, root):
        self.roots.append(root)
        return super().read(root)


@pytest.fixture
def reader():
    return Reader(Roots(), read_settings(Settings()))


def response(body=BODY, **arguments):
    return HtmlResponse(URL, body=body, **arguments)


def read(reader, page):
    return reader.read(Request(URL), page)


def test_the_spider_gets_the_tree_that_was_read_and_one_that_others_may_hold_is_not(reader):
    page, held = response(), response()
    read(reader, page)
    assert [page.selector.root] == reader.analyser.roots
    held.selector.root.clear()
    assert "some words" in read(reader, held)[0].text
    assert len(held.selector.root) == 0


def test_a_page_is_freed_with_its_last_user(reader):
    page = response()
    reader.read(Request(URL), page)
    assert page.selector.response.url == URL
    is_alive = ref(page)
    gc.disable()  # which finds a page that refers to itself, much later
    try:
        del page
        assert is_alive() is None
    finally:
        gc.enable()


def test_a_page_of_another_encoding_has_a_tree_of_its_own(reader):
    page = response(("<p>" + "Слова на странице. " * 9).encode("cp1251"))
    _, root = read(reader, page)
    assert [root] == reader.analyser.roots
    assert page.selector.root is not root  # which is decoded as Scrapy does it


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp037"])
def test_what_is_too_complex_is_not_parsed(reader, encoding):
    body = ("<p>" * (limits.MAX_TAGS + 1)).encode(encoding)
    page = response(body, headers={"Content-Type": f"text/html; charset={encoding}"})
    with pytest.raises(UnjudgedError) as raised:
        read(reader, page)
    assert raised.value.reason is Reason.TOO_COMPLEX
    assert reader.analyser.roots == []


def test_an_error_of_the_package_is_not_blamed_on_a_callable(reader, monkeypatch):
    monkeypatch.setattr(reader.analyser, "page", lambda *_, **__: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        reader.page(pagestate.Visit(1), Request(URL), response())


@pytest.mark.parametrize(("language", "encoding"), ENCODINGS)
@pytest.mark.parametrize("header", [None, "text/html", "text/html; charset={}"])
def test_a_crawl_reads_what_a_scan_reads(language, encoding, header):
    analyser = Analyser(Parameters())
    body = page_of(language).encode(encoding)
    headers = {} if header is None else {"Content-Type": header.format(encoding)}
    response = HtmlResponse("http://h.test", body=body, headers=headers)
    response.request = Visit("http://h.test").request(response, "/", 0)
    content, _ = Reader(analyser, read_settings(Settings())).read(response.request, response)
    assert content == analyser.read(parse_html(body, encoding))
    assert content == analyser.read(parse_html(page_of(language)))
