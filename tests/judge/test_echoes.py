"""What only repeats a page's address, in data and in attributes, doesn't distinguish pages."""

import json

import pytest
from judging import judged, prose

from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import PRESETS

PAGES, COPIES = 12, 4
SCRIPT = "<script type=application/json>{}</script>"


def escaped(data):
    return data.replace("/", r"\/")


def by_number(data):
    return data.replace("/", r"\u002F").replace("&", r"\u0026")


def site(template, words, *, written=str):
    """Yield the addresses of pages, each with copies in other sessions, and their HTML."""
    for number in range(PAGES):
        for copy in range(COPIES + 1):
            path = f"/p/{number}" + f"?sid={number}{copy:019}&x=1" * (copy > 0)
            data = written(json.dumps({"url": f"http://a.test{path}", "path": path}))
            text = f"<title>{prose(number, 3)}</title><p>{prose(number, words)}</p>"
            yield f"http://a.test{path}", text + template.format(data)


@pytest.mark.parametrize(("template", "written"), [
    (SCRIPT, str), (SCRIPT, escaped), (SCRIPT, by_number), ("<b data-page='{}'>b</b>", str),
])  # fmt: skip
def test_equal_copies_of_pages_with_some_text_are_found(template, written):
    """The default finds them unless it has learnt records (tests/crawl/test_refetch.py)."""
    verdicts = judged(site(template, 150, written=written), Parameters(**PRESETS["exact"]))
    assert [each.is_duplicate for each in verdicts] == ([False] + [True] * COPIES) * PAGES


@pytest.mark.parametrize("template", [SCRIPT, "<b data-page='{}'>b</b>"])
def test_where_there_is_little_text_an_address_may_be_all_that_there_is(template):
    shells = [
        (
            f"http://a.test/p/{number}",
            f"<p>{prose(1, 30)}</p>" + template.format(f'{{"p": "/p/{number}"}}'),
        )
        for number in range(PAGES)
    ]
    assert not any(each.is_duplicate for each in judged(shells, Parameters()))


def test_other_data_distinguishes_pages_with_other_titles():
    pages = [
        (
            f"http://a.test/p/{number}",
            f"<title>Part {'abcdefghijkl'[number]}</title><p>{prose(1, 150)}</p>"
            + SCRIPT.format(f'{{"price": {number}}}'),
        )
        for number in range(PAGES)
    ]
    assert not any(each.is_duplicate for each in judged(pages, Parameters()))
