"""Pages that don't declare their encoding, as a crawl reads them."""

import pytest
from crawl_spiders import Visit
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from undeclared_pages import ENCODINGS, page_of

from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.reading import Reader
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.text import parse_html


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
