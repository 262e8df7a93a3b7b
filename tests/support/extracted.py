"""What is extracted from a fragment of HTML in a page that has enough main text."""

from scrapy_neardup.text import Extractor, normalize, parse_html

BODY = "<blockquote>1 2 3 4 5 6 7 8 9 10</blockquote>"
MAIN, FULL = Extractor(language=True), Extractor("full", language=True)


def words(html, mode="main", ignore=()):
    text = Extractor(mode, ignore).extract(parse_html(html)).text
    return normalize(text).decode().split()


def added(fragment, mode="main", ignore=()):
    """The words that `fragment` adds to a page with enough main text."""
    found = words(BODY + fragment, mode, ignore)
    assert found[:10] == [str(n) for n in range(1, 11)]
    return " ".join(found[10:])


def content(html, ignore=()):
    """All that is extracted of a page that has also a title and enough main text."""
    return Extractor(ignore=ignore).extract(parse_html(f"<title>t</title>{html}{BODY}"))


def blocks(fragment, mode="main"):
    """The blocks that `fragment` adds to a page with enough main text."""
    return list(Extractor(mode).extract(parse_html(BODY + fragment)).blocks)[1:]
