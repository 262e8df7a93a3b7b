"""A page of a collection has the id that a crawl gives to its URL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_neardup.offline.readers.files import identity

URLS = [
    "http://a.test",
    "HTTPS://User:word@A.test:443/b/../c?z=1&a=%20x#part",
    "http://a.test/?b=2&a=1&a=0&empty=",
    "http://ünïcode.test/wäg?q=ä b",
    "http://a.test/%7Euser/~user?x=%e4",
    "http://a.test/#!state",
]


@pytest.mark.parametrize("url", URLS)
def test_it_is_scrapys_fingerprint(url):
    assert identity(url) == fingerprint(Request(url))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_it_is_scrapys_fingerprint_of_whatever_can_be_requested(rest):
    url = f"http://a.test/{rest}"
    try:
        expected = fingerprint(Request(url))
    except ValueError:
        expected = url.encode()
    assert identity(url) == expected


@pytest.mark.parametrize("name", ["site/a.html", "pages.jsonl:3", "http://[", "a\udc80"])
def test_what_is_no_url_is_told_by_its_bytes(name):
    assert identity(name) == name.encode("utf-8", "surrogatepass")
