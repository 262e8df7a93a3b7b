"""Which responses are pages, whatever middlewares do to them, and which are left unjudged.

In most crawls here a first response holds the text that a page repeats later: the page is
delivered only if the first was neither judged nor recorded.
"""

import gzip

import pytest
import scrapy
from crawl_spiders import AGAIN, Copies, Default, Follow, Visit
from scrapy.exceptions import CloseSpider
from scrapy.spiders import SitemapSpider
from site_server import Answer, page, text


@pytest.mark.parametrize(("given", "are_seen"), [
    ({}, False),
    ({"HTTPERROR_ALLOW_ALL": True}, True),
    ({"HTTPERROR_ALLOWED_CODES": "404"}, False),  # Scrapy compares these texts with a number
    ({"HTTPERROR_ALLOWED_CODES": [404]}, True),
    ({"SPIDER_MIDDLEWARES": {"scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None}},
     True),
    ({"handle_httpstatus_list": [404]}, True),
    ({"sends": {"meta": {"handle_httpstatus_list": [404]}}}, True),
])  # fmt: skip
def test_errors_are_no_pages_whether_or_not_a_callback_sees_them(crawl, site, given, are_seen):
    errors = [f"/other/{number}" for number in range(3)]
    site.routes |= dict.fromkeys(errors, Answer(page(text("a")), status=404))
    outcome = crawl(Visit, *errors, "/a/1", "/a/2", **given)
    assert outcome.notes == [*errors * are_seen, "/a/1"]
    assert outcome.pages("checked", "new", "dropped") == [3, 1, 1]
    assert outcome.counted()["unjudged/not-html"] == 1


def test_a_spider_gets_each_redirection_that_it_handles(crawl, site):
    paths = [f"/go/{number}" for number in range(3)]
    site.routes |= {path: Answer(page("moved"), status=301, headers={"Location": f"{path}/a"})
                    for path in paths}  # fmt: skip
    assert crawl(Visit, *paths, handle_httpstatus_list=[301]).notes == paths


class Post(Visit):
    def request(self, response, path, priority):
        request = super().request(response, path, priority)
        return request.replace(method="POST") if path == "/other" else request


@pytest.mark.parametrize(("other", "paths", "delivered"), [
    (page(text("a")), ["/other", "/a/1", "/other?"], ["/other", "/a/1"]),
    # As after a login: the page that a form redirects to may well have been seen before.
    (Answer("", status=302, headers={"Location": "/a/2"}), ["/a/1", "/other", "/b/1"],
     ["/a/1", "/a/2", "/b/1"]),
])  # fmt: skip
def test_a_form_is_no_page_nor_is_where_it_leads(crawl, site, other, paths, delivered):
    site.routes["/other"] = other
    outcome = crawl(Post, *paths)
    assert outcome.notes == delivered
    dropped = len(paths) - len(delivered)
    assert outcome.pages("checked", "new", "dropped") == [3, 2 - dropped, dropped]


class Inline(Default):
    """Downloads a page inline, in two ways, before its own pages; they have no callback either."""

    async def page(self, response):
        self.note(response)
        if self.path_of(response) == "/first.json":
            for meta in ({}, response.meta):
                inline = await self.inline(scrapy.Request(self.site + "/a/2", meta=meta))
                assert "neardup" not in inline.meta
                self.note(inline)


class Stops(Default):
    """Ends with its first page, and goes on after a pause."""

    stops = False

    def page(self, response):
        self.note(response)
        if self.stops:
            raise CloseSpider("a pause")


def test_requests_from_before_the_plugin_was_enabled_pass_but_not_without_a_word(crawl, tmp_path):
    job, start = {"JOBDIR": str(tmp_path)}, [f"/a/{number}" for number in range(5)]
    crawl(Stops, *start, settings=job | {"NEARDUP_ENABLED": False}, stops=True)
    outcome = crawl(Stops, settings=job)
    passed = len(outcome.notes)
    assert passed > 2
    assert outcome.pages("inline", "new") == [passed, 0]
    [warning] = outcome.logged("WARNING", "scrapy_neardup")
    assert warning.startswith(f"{passed} responses weren't judged")


def test_an_inline_download_is_no_page(crawl):
    outcome = crawl(Inline, "/first.json", "/a/1", "/a/3")
    assert sorted(outcome.notes) == ["/a/1", "/a/2", "/a/2", "/first.json"]
    assert outcome.pages("dropped") == [1]


class Media(Visit):
    def page(self, response):
        self.note(response)
        if self.path_of(response) == "/first.json":
            yield {"file_urls": [self.site + "/a/2"]}


def test_media_and_robots_txt_are_no_pages(crawl, site, tmp_path):
    site.routes["/robots.txt"] = Answer(page(text("a")))
    settings = {
        "ROBOTSTXT_OBEY": True,
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path),
    }
    outcome = crawl(Media, "/first.json", "/a/1", settings=settings)
    assert "/robots.txt" in site.requests
    assert outcome.stats["file_count"] == 1
    assert outcome.notes == ["/first.json", "/a/1"]
    assert outcome.counted() == {"pages/checked": 3, "unjudged/not-html": 2, "pages/new": 1}


@pytest.mark.parametrize(("kind", "unjudged"), [
    ("application/json", True), ("application/xml", True), ("text/xml", True),
    ("text/plain", True), ("application/octet-stream", True),
    ("application/xhtml+xml", False), ("text/html", False),
])  # fmt: skip
def test_only_html_is_judged(crawl, site, kind, unjudged):
    body = b"\x00\x01" if kind.endswith("stream") else page(text("a"))
    site.routes |= dict.fromkeys(("/x", "/y"), Answer(body, headers={"Content-Type": kind}))
    outcome = crawl(Visit, "/x", "/y")
    assert outcome.notes == (["/x", "/y"] if unjudged else ["/x"])
    # The start request is JSON as well.
    assert outcome.counted()["unjudged/not-html"] == (3 if unjudged else 1)


@pytest.mark.parametrize("body", [
    '{{"ok": true, "html": "<script>f()<\\/script><p>{0}"}}',
    '[{{"html": "<nav>{0}<\\/nav>"}}]',
    'shown({{"html": "<style>p {{}}<\\/style><p>{0}"}});',
    "<?xml version='1.0'?><rss><item><description><![CDATA[{0}]]></description></item></rss>",
])  # fmt: skip
def test_data_is_not_judged_even_if_the_server_calls_it_html(crawl, site, body):
    """As HTML all of these would have the same text."""
    same = " ".join(["some words that all of them have"] * 5)
    for number in range(4):
        prose = f"{same} {text(str(number), words=50)}".replace("<p>", " ")
        site.routes[f"/x?{number}"] = body.format(prose)
    paths = [f"/x?{number}" for number in range(4)]
    outcome = crawl(Visit, *paths)
    assert outcome.notes == paths
    assert outcome.counted()["unjudged/not-html"] == 5  # the start request is JSON as well


def test_denied_urls_are_not_judged(crawl):
    outcome = crawl(Visit, "/a/1?s=1", "/a/1?s=2", "/a/1", "/a/2",
                    settings={"NEARDUP_DENY": r"[?&]s=\d{1,3}$, /basket"})  # fmt: skip
    assert outcome.notes == ["/a/1?s=1", "/a/1?s=2", "/a/1"]
    assert outcome.counted()["unjudged/denied"] == 2


def test_empty_and_unreadable_pages_are_delivered(crawl, site):
    for number in range(2):
        site.routes[f"/empty{number}"] = Answer("")
        site.routes[f"/spinner{number}"] = page("please wait")
        site.routes[f"/broken{number}"] = Answer(b"\x00\xff\xfe<<\x00")
        site.routes[f"/deep{number}"] = "<div>" * 5000 + text("deep") + "</div>" * 5000
    paths = [f"/{kind}{n}" for kind in ("empty", "spinner", "broken", "deep") for n in range(2)]
    outcome = crawl(Visit, *paths)
    assert outcome.notes == paths
    assert outcome.counted()["unjudged/empty"] == 4
    assert outcome.counted()["unjudged/too-complex"] == 2


class Adds(Visit):
    """The pages that its pages lead to copy their meta and add a key, which may be a copy, too."""

    def page(self, response):
        self.note(response)
        for href in response.css("a::attr(href)").getall():
            meta = response.meta | {"neardup_keep": True}
            yield response.follow(href, self.page, meta=meta, priority=-1_000_000)


@pytest.mark.parametrize(("spider", "meta", "delivered", "counts"), [
    (Copies, {"neardup_skip": True}, 2,
     {"unjudged/skipped": 1, "pages/new": 1, "pages/dropped": 1}),
    (Copies, {"neardup_skip": "all"}, 4, {"unjudged/skipped": 4}),
    (Adds, {}, 2, {"pages/new": 1, "pages/kept-start": 1, "pages/dropped": 1}),
    (Follow, {"neardup_skip": True}, 4, {"unjudged/skipped": 4}),  # each has a meta of its own
    (Follow, {"neardup_keep": True}, 4, {"pages/new": 1, "pages/kept-start": 3}),
])  # fmt: skip
def test_a_page_is_skipped_or_all_it_leads_to(crawl, site, *, spider, meta, delivered, counts):
    for number in range(1, 4):
        site.routes[f"/a/{number}"] = page(text("a"), f"/a/{number + 1}")
    outcome = crawl(spider, "/a/1", NEARDUP_LINKS="withhold", sends={"meta": meta})
    assert outcome.notes == [f"/a/{number}" for number in range(1, delivered + 1)]
    assert outcome.counted().items() >= counts.items()


def test_the_text_may_be_the_users_own(crawl, site):
    """A page without a heading makes the callable fail; it is delivered."""
    for path in "/h0", "/h1":
        site.routes[path] = page("<h1>The same words in both headings</h1>" + text(path))
    settings = {"NEARDUP_TEXT": "crawl_texts.first_heading"}
    outcome = crawl(Visit, "/h0", "/a/1", "/h1", "/b/1", settings=settings, errors=True)
    assert outcome.notes == ["/h0", "/a/1", "/b/1"]
    assert outcome.counted()["unjudged/text-error"] == 2
    [error] = outcome.logged("ERROR")
    assert error.startswith("The NEARDUP_TEXT callable failed for <200 ")
    assert "TypeError" in error


@pytest.mark.parametrize(("name", "of"), [("WEIGHTS", "no_weights"), ("TEXT", "nothing")])
def test_a_callable_that_returns_nothing_of_use_leaves_pages_unjudged(crawl, name, of):
    settings = {f"NEARDUP_{name}": f"crawl_texts.{of}"}
    outcome = crawl(Visit, "/a/1", "/a/2", settings=settings, errors=True)
    assert outcome.notes == ["/a/1", "/a/2"]
    assert outcome.counted()["unjudged/text-error"] == 2
    [error] = outcome.logged("ERROR")
    assert error.startswith(f"The NEARDUP_{name} callable failed for <200 htt")


def test_pages_are_compared_within_their_category(crawl, site):
    paths = "/a/x", "/b/y", "/a/z", "/"
    site.routes |= dict.fromkeys(paths, page(text("shared")))
    outcome = crawl(Visit, *paths, NEARDUP_SCOPE="crawl_texts.first_letter", errors=True)
    assert outcome.notes == ["/a/x", "/b/y", "/"]
    assert outcome.pages("new") == [2]
    assert outcome.counted()["unjudged/text-error"] == 1
    [error] = outcome.logged("ERROR")
    assert "The NEARDUP_SCOPE callable failed for" in error


def redirect(path):
    return Answer("", status=302, headers={"Location": path})


def test_a_redirect_is_judged_where_it_ends(crawl, site):
    site.routes |= {"/here": redirect("/a/1"), "/there": redirect("/a/2")}
    outcome = crawl(Visit, "/here", "/a/1", "/there", sends=AGAIN)
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
