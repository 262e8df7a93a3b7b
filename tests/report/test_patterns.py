import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.report.patterns import MAX_NAMES, pattern_of, patterns_of, split_site


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://a.example", "/"),
        ("https://a.example/", "/"),
        ("https://a.example/product/123.html?sid=ab12&page=3#top", "/product/N.html?page=&sid="),
        ("https://a.example/?p=a.git;a=log", "/?a=&p="),
        ("https://a.example/x/0f8fad5b-d9cb-469f-a165-70867728950e/", "/x/ID/"),
        ("https://a.example/x/9f86d081884c7d65", "/x/ID"),
        ("https://a.example/cart;jsessionid=8A1F", "/cart;jsessionid"),
        ("https://a.example/v/dGhpcyBpcyBhIHRva2VuIDEyMw", "/v/ID"),
        ("https://a.example/v/TheQuickBrownFoxJumpsOverIt", "/v/TheQuickBrownFoxJumpsOverIt"),
        ("https://a.example/1/2/3/4/5/6/7/8", "/N/N/N/N/N/N/…"),
        ("folder/page7.html", "/folder/pageN.html"),
        ("https://a.example/a?b&c=1&c=2&&", "/a?b=&c="),
    ],
)
def test_numbers_ids_and_values_are_left_out(url, pattern):
    assert patterns_of([url]) == [pattern]
    assert pattern_of(url) == pattern


def test_a_folder_with_many_names_has_one_pattern_for_each_kind_of_file():
    names = [f"{'abcdefghijklmnopqrstuvwxyz'[i]}{'xyz'[i % 3]}" for i in range(MAX_NAMES + 2)]
    urls = [f"http://a.example/blog/{name}/comments" for name in names]
    urls += [f"http://a.example/blog/{name}.html" for name in names]
    assert set(patterns_of(urls)) == {"/blog/*/comments", "/blog/*.html"}
    few = urls[:MAX_NAMES]
    assert patterns_of(few) == [url.removeprefix("http://a.example") for url in few]


@given(st.lists(st.text(alphabet="ab1/?=&;.#é-", max_size=30), max_size=60))
def test_every_address_has_a_pattern_whatever_the_order(urls):
    found = dict(zip(urls, patterns_of(urls), strict=True))
    assert found == dict(zip(urls[::-1], patterns_of(urls[::-1]), strict=True))
    assert all(pattern.startswith("/") for pattern in found.values())


def test_a_site_is_scheme_and_host():
    assert split_site("https://a.example:8080/b?c") == ("https://a.example:8080", "/b?c")
    assert split_site("https://a.example?c") == ("https://a.example", "?c")
    assert split_site("folder/page.html") == ("", "folder/page.html")
    assert split_site("javascript:alert(1)") == ("", "javascript:alert(1)")
