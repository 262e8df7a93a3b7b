"""Steps that prepare a page's content, by its address, without knowledge about other pages.

If a page shows keys of its address, they count as headings. The address itself is left out of
the text, and of data if there is enough text (`without_echoes`).

Calendars are endless, so only two years of their empty months are kept. A month is empty if its
address names a year and a month, and its text has the days of that month in a row, with no word
between them and no link. All other numbers are those of the address, or one more or less, as in
links to the months before and after. Such a page is read without its numbers, and looked up as
that month of an even or an odd year. So a third year repeats the first if the two are equal except
for DOM paths that change. The crawl doesn't reach later months, unless other pages link to them.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import groupby
from typing import Final
from urllib.parse import urlsplit

from scrapy_neardup.text import Block, Blocks, Content, Form
from scrapy_neardup.text.media import JSON
from scrapy_neardup.text.tokens import has_tokens
from scrapy_neardup.urls import may_hold_address, shown_keys, without_address

YEARS = 2
"""Number of years whose months are distinguished."""

_MAX_CHARACTERS = 4_000
"""Maximum length in characters of a page that may be an empty month."""
_MAX_NUMBERS = 16
"""Maximum number of numbers in an address that are examined."""

_MIN_WORDS = 100
"""Minimum number of words of a page whose text says what it shows."""
_ESCAPED = re.compile(r"\\/|\\u002[fF6]")  # a slash or & as scripts may write it

_WEEKS, _MAX_AMONG = 53, 18
"""Largest number of a week; and maximum number of other numbers among the days of a month, which
are weeks or days of neighbouring months."""

_YEARS, _MONTHS = range(1000, 3000), range(1, 13)
_NUMBER = re.compile(r"\d{1,9}")
_TOKEN = re.compile(r"\d{1,9}|[^\W\d_]+")


def with_keys(content: Content, url: str | None) -> Content:
    """Return content with a heading for each key of its address that it shows."""
    keys = shown_keys(url, content.blocks.texts)
    return replace(content, headings=(*content.headings, *keys)) if keys else content


def without_own_address(content: Content, url: str | None) -> Content:
    """Return content without its own address."""
    if not may_hold_address(url, content.text, content.title, *content.headings):
        return content
    return content.with_texts(lambda text: without_address(text, url))


def without_echoes(content: Content, url: str | None) -> Content:
    """Leave out JSON in attributes, and the page's own address in data, if the text is enough."""
    images = tuple([each for each in content.images if not each.startswith(JSON)])
    may_repeat = content.data or len(images) < len(content.images)
    if not may_repeat or not has_tokens(content.blocks.texts, _MIN_WORDS):
        return content
    plain = [_ESCAPED.sub(lambda it: "&" if it[0][-1] == "6" else "/", x) for x in content.data]
    return replace(content, images=images, data=tuple([without_address(x, url) for x in plain]))


def without_year(content: Content, url: str | None) -> Content:
    """Return an empty month as that of one of two years, and any other content unchanged.

    O(length of the text) if the address names a month, else O(length of the address).
    """
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return content
    address = f"{parts.path}?{parts.query}"
    numbers = [int(number) for number in _NUMBER.findall(address)[:_MAX_NUMBERS]]
    if not _is_empty_month(content, numbers):
        return content
    month = _NUMBER.sub(lambda found: _parity(found[0]), address)
    numberless = content.with_texts(lambda text: _NUMBER.sub(" ", text))
    heading = Block(" ".join((numberless.title, *numberless.headings, month)), Form.CONTENT, 0)
    return Content(
        blocks=Blocks.of((heading, *(each for each in numberless.blocks if each.text.strip()))),
        images=content.images,
        data=content.data,
        alias=f"{parts.scheme}://{parts.netloc}{month}",
    )


Readings = tuple[Callable[[Content, str | None], Content], ...]
"""Steps in their order: (content, URL) -> content."""
OF_EXACT: Final[Readings] = (without_own_address, without_echoes)
"""For pages that must be equal."""
WITHOUT_EVIDENCE: Final[Readings] = (without_year, *OF_EXACT)
"""For pages whose headings don't count."""
READINGS: Final[Readings] = (with_keys, *WITHOUT_EVIDENCE)


def _parity(number: str) -> str:
    return str(int(number) % YEARS) if int(number) in _YEARS else number


def _is_empty_month(content: Content, address: Sequence[int]) -> bool:
    years = [number for number in address if number in _YEARS]
    months = [number for number in address if number in _MONTHS]
    if not (years and months) or content.linked_days or len(content.text) > _MAX_CHARACTERS:
        return False
    words = " ".join((content.title, *content.headings, content.text))
    lengths = {monthrange(year, month)[1] for year in years for month in months}
    if len(_NUMBER.findall(words)) < min(lengths):  # as on most pages
        return False
    known = {number + step for number in address for step in (-1, 0, 1)}
    others = [
        row
        for are_numbers, tokens in groupby(_TOKEN.findall(words), str.isdecimal)
        if are_numbers and not known.issuperset(row := [int(token) for token in tokens])
    ]
    return len(others) == 1 and any(_are_days(others[0], length, known) for length in lengths)


def _are_days(row: Sequence[int], length: int, known: AbstractSet[int]) -> bool:
    """Return whether a row of numbers is a month of this number of days in order."""
    numbers = iter(row)
    return (
        len(row) <= length + _MAX_AMONG
        and all(number <= _WEEKS or number in known for number in row)
        and all(day in numbers for day in range(1, length + 1))
    )
