"""Links of dropped pages to other hosts: which of them are asked about."""

import pytest
import scrapy
from linked_sites import Walk
from scrapy.linkextractors import LinkExtractor
from site_server import page, text


def test_links_to_hosts_that_the_spider_does_not_allow_are_none_of_it(walk):
    tree = {"/1/": ("start",), "/2/": ("start", "http://elsewhere.example/new")}
    outcome = walk(tree, "/1/", "/2/", allowed_domains=["127.0.0.1"])
    assert outcome.notes == ["/1/"]
    assert "links/asked" not in outcome.counted()


class Follow(Walk):
    """Follows what Scrapy's link extractor finds, on two names of one machine."""

    allowed_domains = ("127.0.0.1", "localhost")

    def page(self, response):
        self.note(response)
        for place, link in enumerate(LinkExtractor().extract_links(response)):
            yield scrapy.Request(link.url, self.page, priority=-place)


@pytest.mark.parametrize("areas", [False, True])
def test_links_to_hosts_that_the_spider_allows_are_new_and_areas_are_links(walk, site, areas):
    other = site.url.replace("127.0.0.1", "localhost")
    below = [f"/docs/{number}" for number in range(5)]
    tree = {"/1/": ("start",), "/2/": ("start", f"{other}/docs/"), "/docs/": ("docs", *below)}
    if areas:
        drawn = "".join(f'<area href="{path}">' for path in ("/docs/", *below))
        site.routes["/2/"] = page(text("start", words=80) + f"<map>{drawn}</map>")
    walk(tree | {path: (path,) for path in below}, "/1/", "/2/", spider=Follow)
    assert {"/docs/", *below} <= set(site.requests)


HOSTS = "localhost", "127.1", "127.0.1", "0x7f.1", "2130706433"
"""Names of this machine."""


def test_a_spider_that_allows_all_hosts_gets_links_to_any(walk, site):
    others = [site.url.replace("127.0.0.1", host) for host in HOSTS]
    leaving = {f"/out/{n}": ("leaving", f"{at}/to/{n}") for n, at in enumerate(others)}
    sites = {f"/to/{n}": (f"to {n}",) for n in range(len(HOSTS))}
    walk(leaving | sites, *leaving, spider=Follow, allowed_domains=[])
    assert {*sites} <= {*site.requests}


def test_at_the_end_one_link_among_known_ones_shows_that_a_parameter_has_an_effect(walk):
    """Parts of a course have one text and one menu; the later ones lead to pages of their own."""
    menu = [f"/menu/{each}" for each in range(6)]
    parts = [f"/part?w={each}" for each in range(120)]
    tree = {"/1/": ("start", *menu, *parts)} | {each: (each,) for each in menu}
    tree |= dict.fromkeys(parts[:50], ("part", *menu))
    own = {part: f"/only/{number}" for number, part in enumerate(parts[50:])}
    for part, path in own.items():
        tree |= {part: ("part", *menu, path), path: (path,)}
    outcome = walk(tree, "/1/", NEARDUP_URLS="skip")
    assert outcome.counted()["urls/skipped"]
    assert {*own.values()} <= {*outcome.notes}
