"""What Scrapy's own downloader middlewares do, and what is judged of it."""

import gzip

import pytest
from crawl_spiders import Again, Default, Visit
from site_server import Answer, page, text


def redirect(path):
    return Answer("", status=302, headers={"Location": path})


def test_a_redirect_is_judged_where_it_ends(crawl, site):
    site.routes |= {"/here": redirect("/a/1"), "/there": redirect("/a/2")}
    outcome = crawl(Again, "/here", "/a/1", "/there")
    assert outcome.notes == ["/a/1", "/a/1"]
    assert outcome.pages("new", "seen", "dropped") == [1, 1, 1]


def test_redirects_and_retries_of_the_default_callback_are_judged(crawl, site):
    answers = iter([Answer("", status=503), page(text("b"))])
    site.routes["/here"] = redirect("/a/1")
    site.routes["/busy"] = lambda _: next(answers)
    outcome = crawl(Default, "/here", "/a/2", "/busy", "/b/1", settings={"RETRY_ENABLED": True})
    assert outcome.notes == ["/a/1", "/busy"]
    assert outcome.stats["retry/count"] == 1
    assert outcome.counted()["pages/dropped"] == 2


REFRESHES = page(text("a"), head='<meta http-equiv="refresh" content="0; url=/b/1">')
PACKED = gzip.compress(page(text("a")).encode(), mtime=0)


@pytest.mark.parametrize(("other", "delivered"), [
    (REFRESHES, ["/b/1", "/a/1"]),
    (Answer(PACKED, headers={"Content-Encoding": "gzip"}), ["/other"]),
])  # fmt: skip
def test_a_page_that_refreshes_is_no_page_and_a_compressed_one_is(crawl, site, other, delivered):
    site.routes["/other"] = other
    assert crawl(Visit, "/other", "/a/1").notes == delivered


def test_pages_from_the_http_cache_are_judged(crawl, site, tmp_path):
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    first, second = (crawl(Visit, "/a/1", "/a/2", "/b/1", settings=settings) for _ in range(2))
    assert len(site.requests) == second.stats["httpcache/hit"] == 4
    assert first.notes == second.notes == ["/a/1", "/b/1"]
    assert first.counted() == second.counted()
