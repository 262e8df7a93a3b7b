"""The line that a crawl logs every so often."""

import re
import time

from crawl_spiders import Visit
from site_server import Answer, page, text

SHARE = r"\d+ of \d+ pages \((\d+%|none)\), \d+ dropped"


def progress(outcome):
    return [line for line in outcome.logged("INFO") if "requests wait" in line]


def slow(_request):
    time.sleep(2)
    return Answer(page(text("slow")))


def test_it_tells_what_was_dropped_and_what_waits(crawl, site):
    site.routes["/slow"] = slow
    settings = {"LOGSTATS_INTERVAL": 0.1, "NEARDUP_STORE": "memory:"}
    lines = progress(crawl(Visit, "/a/1", "/a/2", "/a/3", "/slow", "/b/1", settings=settings))
    assert lines
    for line in lines:
        assert re.fullmatch(
            f"Near-duplicates: {SHARE} in the last 0.1 s, {SHARE} in all; [0-9]+ requests wait;"
            " store memory:, 0 errors",
            line,
        )
    # While the slow page is awaited, three pages and the start request are judged, one waits.
    assert "2 of 4 pages (50%), 2 dropped in all; 1 requests wait" in "\n".join(lines)


def test_it_is_off_with_scrapys_own(crawl):
    assert not progress(crawl(Visit, "/a/1", settings={"LOGSTATS_INTERVAL": 0}))
