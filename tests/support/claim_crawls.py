"""Crawls whose requests are withheld under claims, and what they tell."""

from typing import ClassVar

import scrapy
from crawl_spiders import Visit
from scrapy.exceptions import IgnoreRequest
from site_server import page, text

from scrapy_neardup import signals
from scrapy_neardup.claims.part import PARAMETER, Part

SID = str(Part(PARAMETER, "sid"))
MANY = 90
SKIP = {"NEARDUP_URLS": "skip", "CONCURRENT_REQUESTS": 1} | {
    "NEARDUP_EXPERIMENTS": 0,
    "NEARDUP_LINKS": "withhold",
}
"""One request at a time, and none that isn't of the claims about URLs."""
UNCHECKED = SKIP | {"NEARDUP_URLS_EXPLORE": 0}


def variants(numbers, sid="?sid=1"):
    """Return paths: each page, and then its variant."""
    return [path for number in numbers for path in (f"/p/{number}", f"/p/{number}{sid}")]


def show(site, *paths, text_of=None):
    """Serve paths; what follows the question mark has no effect unless `text_of` says so."""
    for path in paths:
        group = (text_of or {}).get(path) or path.partition("?")[0]
        site.routes[path] = page(text(group, words=80))
    return paths


class Listener(Visit):
    """Hears of requests that aren't made, by the signal and by its errback."""

    hears: ClassVar = {"skipped": signals.request_skipped}

    def skipped(self, request, rules, spider):
        assert spider is self
        self.notes.append([request.url.removeprefix(self.site), *rules])

    def failed(self, failure):
        assert failure.check(IgnoreRequest)
        self.notes.append({"failed": failure.request.url.removeprefix(self.site)})


class Insisting(Listener):
    """Asks in ways that no claim may refuse: at the start, and past the filter."""

    async def start(self):
        yield scrapy.Request(f"{self.site}/start.json", self.parse, dont_filter=True)
        yield scrapy.Request(f"{self.site}/p/0?sid=start", self.page, priority=-(10**6))

    def request(self, response, path, priority):
        insists = path.endswith(("sid=again", "sid=7"))
        return super().request(response, path, priority).replace(dont_filter=insists)


def told(outcome):
    """Return which paths a callback saw, which weren't requested, and which errbacks heard of."""
    seen = [note for note in outcome.notes if isinstance(note, str)]
    skipped = [note[0] for note in outcome.notes if isinstance(note, list)]
    return seen, skipped, [note["failed"] for note in outcome.notes if isinstance(note, dict)]


def counted(outcome):
    return outcome.counted(ours="neardup/urls/")
