"""The CPU time of a page is in proportion to its size, whatever whoever wrote it had in mind."""

from functools import partial

import pytest
from growth import check_growth

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.evidence import segments_of
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.text import Extractor, link_targets, parse_html
from scrapy_neardup.text.sniffing import looks_like_html
from scrapy_neardup.urls import may_hold_address, without_address

SIZE = 10_000
"""Elements of the smaller page: more names than a cache holds."""


PAGES = {
    "digits in the title": lambda n: f"<title>{'7 ' * n}</title><p>{'word ' * n}",
    "digits in headings": lambda n: f"<h1>{'7-' * 200}a</h1>" * (n // 200),
    "digits in one heading": lambda n: f"<h1>{'7' * n}</h1><p>{'word ' * n}",
    "siblings": lambda n: "".join(f"<div class=nav-{k} id=x{k}>a</div>" for k in range(n)),
    "a table of contents": lambda n: "".join(f"<li id=toc-{k}>a b" for k in range(n)),
    "nested": lambda n: "<div class=ad>" * (n // 20) + "<b>x </b>" * (2 * n),
    "nested, without words": lambda n: "<div class=ad>" * (n // 20) + "<b></b>" * (2 * n),
    "unclosed headings": lambda n: "<h1>" * (n // 20) + "<b>word </b>" * (2 * n),
    "named words": lambda n: "<ins class=ad>x</ins>" * n,
    "long names": lambda n: f"<div class='{'nav-' * n}' id='{'Ad' * n}'>x</div>" * 8,
    "cells": lambda n: "<table><tr>" + "<td>x" * n,
    "lists in lists": lambda n: "<ul><li>" * (n // 50) + "<b>x </b>" * n,
    "lines": lambda n: "<p>" + "12:30<br>" * n,
    "digits": lambda n: "<p>" + "1" * (10 * n) + "x " + "1." * (10 * n),
    "marks": lambda n: "<p>a" + "\u0301\u0316" * n,
    "media": lambda n: "<object>" * (n // 25) + "<img src=x>" * n,
    "addresses in an attribute": lambda n: f"<p data-x='{'a.gif?' * n} x'>",
    "titles": lambda n: "<title> </title>" * n,
    "links": lambda n: "<a href=x>5</a> " * n,
    **{
        f"scripts of {unit!r}": lambda n, unit=unit: (
            f"<script>{unit * n}</script><script>{unit * n} =</script><img src='{unit * n}'>"
        )
        for unit in ("a", "__", "__a ", "__a' ", "nitialState", "_", "__a = ", "?_=1&", "\\")
    },
}


@pytest.mark.parametrize("name", PAGES)
def test_reading_and_analysing(name):
    analyser = Analyser(Parameters())
    url = "http://a.example/2024/05/word"

    def analysed(size):
        root = parse_html(PAGES[name](size).encode())
        return lambda: analyser.page(analyser.read(root), page_id=1, url=url)

    check_growth(analysed, SIZE)


@pytest.mark.parametrize("is_written", [False, True])
def test_links(is_written):
    def read(size):
        root = parse_html("<ol><li value=5>a</ol><br><a href=a>b</a><area href=b>" * size)
        return partial(link_targets, root, "http://a.example/", is_written=is_written)

    check_growth(read, SIZE // 2)


def test_ignored_elements():
    def read(size):
        root = parse_html("<div>" + "<p>x</p><b>y</b>" * size)
        return partial(Extractor(ignore=("p", "b")).extract, root)

    check_growth(read, SIZE // 2)


def test_many_blocks_at_a_long_address():
    analyser = Analyser(Parameters())

    def analysed(size):
        content = analyser.read(parse_html("<p>a.example word" * size))
        url = "http://a.example/" + "%C3%A9" * size
        return partial(analyser.page, content, page_id=1, url=url)

    check_growth(analysed, SIZE // 10)


@pytest.mark.parametrize("unit", [b"<!--", b"<?", b" ", b"<!-- -->", b"<", b"<a", b"{", b"["])
def test_the_start_of_what_may_be_html(unit):
    check_growth(lambda size: partial(looks_like_html, unit * size, "text/html"), 50_000)


@pytest.mark.parametrize("unit", ["7", "7-", "7 ", "a7"])
def test_digits_in_a_title(unit):
    """Of a page's title and headings the start is read; here all of it is."""
    titles = lambda size: (unit * size + "a",) * 2
    check_growth(lambda size: partial(segments_of, titles(size), key=None), 1_000)


def path(n):
    return "/" + "a/b-" * (n // 4)


@pytest.mark.parametrize(("unit", "address"), [
    pytest.param(path, path, id="the path"),
    pytest.param(lambda n: path(n) + "x ", path, id="not quite the path"),
    pytest.param(lambda n: "/aa", lambda n: "/aa" * (n // 3), id="its steps"),
    pytest.param(lambda n: "http://a.example", lambda n: "/aa", id="the host"),
    pytest.param(lambda n: "/-", lambda n: "/-" * (n // 2), id="overlapping itself"),
    pytest.param(lambda n: "/-?", lambda n: "/-?" + "/-?" * (n // 3) + "~", id="a like query"),
    pytest.param(
        lambda n: f"{path(n)}?{'y' * (n // 2)}z ",
        lambda n: f"{path(n)}?{'y' * n}",
        id="its query",
    ),
])  # fmt: skip
def test_an_address_in_a_text(unit, address):
    """Both grow, to 8,000 characters and 1 MB."""

    def read(n):
        url, text = f"http://a.example{address(n)}", unit(n) * (125 * n // len(unit(n)))
        return lambda: (may_hold_address(url, text), without_address(text, url))

    check_growth(read, 2_000)
