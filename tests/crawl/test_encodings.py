"""Pages that don't declare their encoding, as a crawl reads them."""

import pytest
from crawl_spiders import Visit
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from site_server import Answer
from undeclared_pages import ENCODINGS, SENTENCES, page_of

from scrapy_neardup.crawl.reading import Reader
from scrapy_neardup.pipeline.analysis import Analyser
from scrapy_neardup.settings.crawling import read_settings
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.text import parse_html


def test_pages_are_duplicates_of_their_copies_in_utf_8(crawl, site):
    paths = {f"/{language}/utf-8": page_of(language).encode() for language in SENTENCES}
    for language, encoding in ENCODINGS:
        paths[f"/{language}/{encoding}"] = page_of(language).encode(encoding)
    for path, body in paths.items():
        site.routes[path] = Answer(body, headers={"Content-Type": "text/html"})
    outcome = crawl(Visit, *paths)
    assert outcome.notes == [f"/{language}/utf-8" for language in SENTENCES]
    assert outcome.counted()["distance/0"] == len(ENCODINGS)


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
