"""The spider of a trial: all links of one server, the first ones first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from scrapy_neardup.urls import redact, site

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_FIRST = "neardup_trial_first"
"""Key of ``request.meta`` that marks the first request, and what it was redirected to."""


class TrialSpider(Spider):
    """Follows the links of the server that the first address leads to.

    Where the first address is redirected within its registered domain (``example.com`` to
    ``www.example.com``) the spider goes along; from then on it stays on that host and port.
    """

    name = "neardup-trial"

    def __init__(self, url: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._first = url
        self._server: str | None = None
        self._links = LinkExtractor()
        self.elsewhere = ""
        """Where the first address is redirected to, if that is another site."""

    async def start(self) -> AsyncIterator[Request]:
        """Begin at a page that is not fetched again where others link to it."""
        yield Request(self._first, meta={_FIRST: True})

    def parse(self, response: Response) -> Iterator[Request]:
        """Follow the links of a page."""
        if self._server is None:
            self._server = site(response.url)
        if isinstance(response, HtmlResponse):
            for link in self._links.extract_links(response):
                if site(link.url) == self._server:
                    yield Request(link.url)

    def allows(self, request: Request) -> bool:
        """Return whether a request may be sent, be it for a link, a redirection or robots.txt."""
        if request.meta.get(_FIRST):
            if site(request.url, "domain") == site(self._first, "domain"):
                return True
            self.elsewhere = redact(request.url)
            return False
        return self._server is None or site(request.url) == self._server


class StayOnServer:
    """A downloader middleware that sends what a `TrialSpider` allows."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware for `crawler`."""
        return cls(crawler)

    def process_request(self, request: Request, spider: Spider | None = None) -> None:  # noqa: ARG002
        """Let a request pass.

        Raises
        ------
        IgnoreRequest
            It leads to another server.
        """
        visiting = self._crawler.spider
        if isinstance(visiting, TrialSpider) and not visiting.allows(request):
            raise IgnoreRequest("another server")
