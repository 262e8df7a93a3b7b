"""Spiders for tests to inherit from."""

import scrapy


class Visit(scrapy.Spider):
    """Requests ``paths`` one after the other, and notes which of them a callback sees.

    The start request is a JSON document, so that it is no page itself; `paths` are paths
    of the site, in order.
    """

    name = "visit"

    def __init__(self, site, paths=(), **arguments):
        super().__init__(**arguments)
        self.site = site
        self.paths = paths
        self.notes = []
        self.start_urls = [f"{site}/start.json"]

    def parse(self, response):
        for place, path in enumerate(self.paths):
            yield self.request(response, path, -1000 * place)

    def request(self, response, path, priority):
        return scrapy.Request(response.urljoin(path), self.page, priority=priority)

    def page(self, response):
        self.note(response)
        yield {"path": self.path_of(response)}

    def note(self, response, *more):
        self.notes.append([self.path_of(response), *more] if more else self.path_of(response))

    def path_of(self, response):
        return response.url.removeprefix(self.site)
