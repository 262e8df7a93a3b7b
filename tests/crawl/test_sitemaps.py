"""Pages that a sitemap lists."""

import pytest
from scrapy.spiders import SitemapSpider
from site_server import Answer, page, text

XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"


class Listed(SitemapSpider):
    """Notes the pages of its sitemap, and follows their links with a copy of their meta."""

    name = "listed"

    def __init__(self, site, paths=(), **arguments):
        super().__init__(**arguments)
        self.site = site
        self.sitemap_urls = [f"{site}/robots.txt"]
        self.notes = []

    def parse(self, response):
        self.notes.append(response.url.removeprefix(self.site))
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, meta=response.meta, priority=-1_000)


@pytest.mark.parametrize(("keep", "delivered"), [(True, 3), (False, 1)])
def test_pages_of_a_sitemap_are_judged_and_dropped_if_asked_alone(crawl, site, keep, delivered):
    """Its index of sitemaps leads to three pages that are one, and a link to a fourth."""

    def xml(kind, *paths):
        urls = "".join(f"<{kind}><loc>{site.url}{path}</loc></{kind}>" for path in paths)
        outer = {"sitemap": "sitemapindex", "url": "urlset"}[kind]
        body = f'<?xml version="1.0"?><{outer} xmlns="{XMLNS}">{urls}</{outer}>'
        return Answer(body, headers={"Content-Type": "application/xml"})

    site.routes["/robots.txt"] = Answer(f"Sitemap: {site.url}/index.xml")
    site.routes["/index.xml"] = xml("sitemap", "/pages.xml")
    site.routes["/pages.xml"] = xml("url", "/a/1", "/a/2", "/a/3")
    site.routes["/a/1"] = page(text("a", 1), "/a/4")
    site.routes["/a/3"] = page(text("a", 3), "/a/4")
    outcome = crawl(Listed, settings={"NEARDUP_KEEP_SITEMAP": keep})
    assert set(outcome.notes) <= {"/a/1", "/a/2", "/a/3"}
    assert len(outcome.notes) == delivered
    counted = outcome.counted()
    assert (counted.get("pages/kept-start", 0), counted["pages/dropped"]) == (
        delivered - 1, 4 - delivered,
    )  # fmt: skip
