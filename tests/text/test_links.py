"""Which pages a page links to."""

import pytest

from scrapy_neardup.text import link_targets, parse_html

URL = "https://example.com/dir/page.html?q=1"


@pytest.mark.parametrize(("html", "count"), [
    ("<p>none", 0),
    ("<a href=a>1</a><a href=b>2</a><a href=a>3</a>", 2),
    ("<a href=a>1</a><a href='./a'>2</a><a href=/dir/a>3</a>", 1),
    ("<a href=a>1</a><a href=//example.com/dir/a>2</a>", 1),
    ("<a href='a#x'>1</a><a href='a#y'>2</a><a href=' a '>3</a>", 1),
    ("<a href='#top'>the page itself</a><a href=''>again</a>", 1),
    ("<a href='?q=1'>itself</a><a href='?q=2'>another</a>", 2),
    ("<a href=mailto:x@y>1</a><a href='javascript:x()'>2</a>", 0),
    ("<a href=ftp://x/>1</a><a>2</a>", 0),
    ("<a href='http://['>no URL</a><a href='HTTP://other/'>1</a>", 1),
    ("<area href=a><link href=b><img src=c>", 1),
    ("<nav><a href=a>1</a></nav><footer><a href=b>2</a></footer>", 2),
    ("<base href=/other/><a href=a>1</a><a href=/other/a>2</a>", 1),
    ("<base href='http://['><a href=a>1</a>", 0),
])  # fmt: skip
def test_each_target_is_named_once(html, count):
    assert len(link_targets(parse_html(html), URL)) == count


def test_targets_are_addresses_without_fragments():
    html = "<a href=a#top>1</a><a href=//other.example/>2</a>"
    assert link_targets(parse_html(html), URL) == {
        "https://example.com/dir/a", "https://other.example/",
    }  # fmt: skip
