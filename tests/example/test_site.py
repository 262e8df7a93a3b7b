"""The site's truth: what a URL shows, and how far links and traps lead."""

import re
from collections import Counter
from itertools import product
from urllib.parse import urljoin

import pytest
from docsite.site import SHARES, Showing


def words(html):
    main = re.search("<main>(.*)</main>", html, re.DOTALL)[1]
    return Counter(re.findall(r"\w+", re.sub("<[^>]*>", " ", main)))


def links(site, here):
    hrefs = re.findall(r'<a href="([^"#]+)', site.page(here))
    urls = (urljoin(here, href.replace("&amp;", "&")) for href in hrefs)
    return [url for url in urls if url.startswith("/")]


@pytest.mark.parametrize(("url", "showing"), [
    ("/", Showing("index")),
    ("/module/json.decoder/", Showing("module", "json.decoder")),
    ("/module/json/?sid=00c0ffee", Showing("module", "json", "session id")),
    ("/module/json/?utm_source=forum", Showing("module", "json", "campaign")),
    ("/module/json/?sort=size", Showing("module", "json", "sort order")),
    ("/print/json/", Showing("module", "json", "printable")),
    ("http://127.0.0.1:8000/print/json/?sid=1", Showing("module", "json", "printable")),
    ("/calendar/2001/01/", Showing("month", "2001-01")),
    ("/calendar/12001/12/", Showing("month", "12001-12")),
    ("/calendar/2001/13/", Showing("missing", variant="soft 404")),
    ("/module/no_such_module/", Showing("missing", variant="soft 404")),
    ("/module/json/help/", Showing("missing", variant="soft 404")),
    ("/anything", Showing("missing", variant="soft 404")),
])  # fmt: skip
def test_locate(site, url, showing):
    assert site.locate(url) == showing


def test_a_variant_says_what_its_page_says(site):
    plain = words(site.page("/module/heapq/"))
    for query in ("?sid=1", "?utm_source=feed&utm_campaign=w2", "?sort=-name", "?sort=-size"):
        assert words(site.page(f"/module/heapq/{query}")) == plain
    assert plain - words(site.page("/print/heapq/")) == Counter()


def test_sort_orders_differ(site):
    orders = ("", "?sort=-name", "?sort=size", "?sort=-size")
    bodies = {re.search("<main>.*</main>", site.page(f"/module/heapq/{order}"), re.DOTALL)[0]
              for order in orders}  # fmt: skip
    assert len(bodies) == len(orders)


def test_links_lead_to_their_page_in_the_stated_shares(site, library):
    pages = [f"/module/{name}/?sid={number}" for name, number in product(library, range(20))]
    found = Counter()
    for here, name in product(pages, library):
        showing = site.locate(site.link(name, here).replace("&amp;", "&"))
        assert showing.page == ("module", name)
        found[showing.variant] += 1
    for variant, share in SHARES.items():
        assert found[variant] / found.total() == pytest.approx(share, abs=0.01)


def test_a_link_depends_on_the_page_that_it_is_on(site):
    here = [f"/module/json/?sid={number}" for number in range(50)]
    assert len({site.link("cmd", url) for url in here}) > 5


def test_the_footer_changes_with_every_url(site):
    urls = [f"/module/json/?sid={number}" for number in range(100)]
    assert len({site.page(url).partition("<footer>")[2] for url in urls}) == len(urls)


def test_every_module_is_reached_and_no_module_links_into_the_void(site, library):
    reached, front = set(), {"/"}
    while front:
        found = {site.locate(url) for here in front for url in links(site, here)}
        void = {showing for showing in found if showing.kind == "missing"}
        broken = {here for here in front if "help/" in site.page(here)}
        assert not void or broken
        names = {showing.name for showing in found if showing.kind == "module"} - reached
        reached |= names
        front = {f"/module/{name}/" for name in names}
    assert reached == set(library)


def test_external_and_dead_links(site):
    page = site.page("/module/json/")
    assert 'href="http' in page  # pydoc links to the specifications that it mentions
    assert ".html" not in re.sub(r'href="https?:[^"]*"', "", page)


def test_the_path_of_a_soft_404_grows(site):
    url = "/module/json/help/"
    main = words(site.page(url))
    for _ in range(20):
        (further,) = (link for link in links(site, url) if "help" in link)
        assert further == f"{url}help/"
        assert site.locate(further).page == ("missing", "")
        assert words(site.page(further)) == main
        url = further


def test_the_calendar_never_ends(site):
    url, seen = "/calendar/2001/01/", set()
    for month in range(12 * 500):
        assert site.locate(url) == Showing("month", f"{2001 + month // 12}-{month % 12 + 1:02}")
        seen.add(url)
        if month % 100 == 0:
            assert "There are no events in" in site.page(url)
        url = next(link for link in links(site, url)[2:] if link not in seen)
    assert len(seen) == 12 * 500
    assert "year 10000" not in site.page("/calendar/9999/12/")
    assert "/calendar/10000/01/" in links(site, "/calendar/9999/12/")
    assert site.locate("/calendar/10000/01/").kind == "month"
