"""Sites of pages that are only links and a text, and walks over them."""

import pytest
import scrapy
from crawl_spiders import Visit
from site_server import page, text

ONE = {"CONCURRENT_REQUESTS": 1, "NEARDUP_URLS": "off"}


class Walk(Visit):
    """Follows all links of each page, in order, without a repetition."""

    def page(self, response):
        self.note(response)
        yield {"path": self.path_of(response)}
        links = response.css("a[href^='/']::attr(href)") if response.body != b"{}" else ()
        for place, href in enumerate(link.get() for link in links):
            yield scrapy.Request(response.urljoin(href), self.page, priority=-place)
        self.fail_for(response)


class Hears(Walk):
    def failed(self, failure):
        self.notes.append({"failed": failure.request.url.removeprefix(self.site)})


def linked(group, *paths):
    """Return a page with a text that its group decides, and links."""
    links = " ".join(f'<a href="{path}"></a>' for path in paths)
    return page(text(group, words=80) + f"<p>{links}</p>")


@pytest.fixture
def walk(crawl, site):
    """Serve pages of (group, links), and walk from some of them, one request at a time."""

    def run(tree, *paths, spider=Walk, fails=(), **more):
        site.routes = {path: linked(*shown) for path, shown in tree.items()} | site.routes
        return crawl(spider, *paths, fails=fails, errors=bool(fails), **ONE | more)

    return run


def editions(number, unique):
    """Return a site of two editions with one start page text; the second has pages of its own."""
    tree = {}
    for edition in ("1", "2"):
        own = {f"/{edition}/{each}": (f"{edition * unique} {each}",) for each in range(number)}
        tree |= {f"/{edition}/": ("start", *own)} | own
    return tree
