"""Pages that a sitemap lists: delivered like start requests, as the site names them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spiders import SitemapSpider

from scrapy_neardup.crawl.metakeys import KEEP_KEY

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response


class Sitemaps:
    """Marks the requests of a `SitemapSpider` for the pages that its sitemaps list.

    Parameters
    ----------
    spider
        Any spider; only those of that class have sitemaps.
    keeps
        ``NEARDUP_KEEP_SITEMAP``.
    """

    def __init__(self, spider: Spider | None, *, keeps: bool) -> None:
        reads = keeps and isinstance(spider, SitemapSpider)
        self._parse = getattr(spider, "_parse_sitemap", None) if reads else None

    def mark(self, request: Request, response: Response) -> None:
        """Mark `request` if `response` is the sitemap that lists its page."""
        if self._parse is None or response.request is None:
            return
        if response.request.callback == self._parse != request.callback:
            request.meta[KEEP_KEY] = True
