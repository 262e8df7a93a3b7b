"""Addresses as rules see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.claims.urlparts import (
    MAX_LENGTH,
    MAX_PARAMETERS,
    MAX_PATTERN,
    MAX_SEGMENTS,
    Parts,
    key_of,
    pattern_of,
)

SITE = "http://example.com"
TEXTS = st.text("abcXYZ019%-._~", min_size=1, max_size=6)
QUERIES = st.lists(st.builds("{}={}".format, TEXTS, TEXTS), max_size=6).map("&".join)
URLS = st.builds(
    "{}://{}example.com/{}?{}".format, st.sampled_from(["http", "https"]),
    st.sampled_from(["", "www."]), st.lists(TEXTS, max_size=6).map("/".join), QUERIES,
)  # fmt: skip


@given(URLS)
def test_an_address_is_put_together_as_it_was(url):
    parts = Parts.of(url)
    assert Parts.of(parts.url) == parts
    assert key_of(Parts.of(parts.url)) == key_of(parts) > 0
    assert key_of(parts, "mark") != key_of(parts)


def test_users_ports_fragments_and_the_order_of_parameters_have_no_part_in_it():
    one = Parts.of("http://user:secret@Example.com:80/a/?b=2&a=1#there")
    assert one == Parts.of("http://example.com/a/?a=1&b=2")
    assert one.url == "http://example.com/a/?a=1&b=2"
    assert Parts.of("http://example.com:8080/").host == "example.com:8080"


@pytest.mark.parametrize(("query", "parameters"), [
    ("p=a.git;a=log;h=1", ("a=log", "h=1", "p=a.git")),
    ("p=a.git;a=log;f=", ("a=log", "f=", "p=a.git")),
    ("q=one;two", ("q=one;two",)), ("q=a;b=c&x=1", ("q=a;b=c", "x=1")),
    (";", (";",)), ("a=1;", ("a=1;",)),
])  # fmt: skip
def test_a_semicolon_separates_parameters_if_each_has_a_name_and_a_value(query, parameters):
    assert Parts.of(f"{SITE}/?{query}").query == parameters


@pytest.mark.parametrize("url", [
    "mailto:someone@example.com", "ftp://example.com/a", "http:///a", "http://[broken", "",
    f"{SITE}/{'a' * MAX_LENGTH}", f"{SITE}/{'a/' * MAX_SEGMENTS}",
    f"{SITE}/?" + "&".join(f"p{n}=1" for n in range(MAX_PARAMETERS + 1)),
])  # fmt: skip
def test_what_is_no_address_or_out_of_bounds_has_no_parts(url):
    assert Parts.of(url) is None


@pytest.mark.parametrize(("path", "section", "pattern"), [
    ("/", "", "/"),
    ("/a.html", "", "/*.html"),
    ("/17/b", "N", "/N/*"),
    ("/calendar/2001/07/", "calendar", "/calendar/N/N/"),
    ("/module/os.path/", "module", "/module/*/"),
    ("/news/some-words.html", "news", "/news/*.html"),
    ("/a-post/", "", "/*/"),
    ("/12/?p=1", "", "/N/?p="),
    ("/thread/123.html", "thread", "/thread/N.html"),
    ("/shop/shirts?size=2&colour=red", "shop", "/shop/*?colour=&size="),
    ("/?p=a.git;a=log", "", "/?a=&p="),
    ("/a/help/help/help/", "a", "…/help+/"),
    ("/a/b/help/help/", "a", "…/help+/"),
])  # fmt: skip
def test_the_pattern_of_an_address_and_its_first_folder(path, section, pattern):
    parts = Parts.of(SITE + path)
    assert (parts.section, parts.pattern) == (section, pattern)
    assert pattern_of(SITE + path) == pattern


@given(st.text(alphabet="ab1/?=&;.#é-:", max_size=30))
def test_every_text_has_a_pattern(url):
    assert len(pattern_of(url * 20)) <= MAX_PATTERN
    assert "?" not in pattern_of(f"file:/{url}")
