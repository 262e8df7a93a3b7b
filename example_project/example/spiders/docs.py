"""A spider as it would be without the plugin: it knows nothing of duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from example.items import DocPage


class DocsSpider(Spider):
    """Follow every link of a site: ``scrapy crawl docs [-a site=URL]``."""

    name = "docs"
    allowed_domains = ("127.0.0.1",)
    links = LinkExtractor()

    def __init__(self, site: str = "http://127.0.0.1:8000/", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [site]

    def parse(self, response: HtmlResponse) -> Iterator[DocPage | Request]:
        urls = [link.url for link in self.links.extract_links(response)]
        yield DocPage(response.url, response.css("title::text").get(""), urls)
        yield from response.follow_all(urls)
