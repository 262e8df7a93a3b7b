"""Clocks and counters: text that depends on the moment at which the page was made.

Rule of this module: a clock is recognised by its form, in a short line of its own: a date, a time
of day, a duration, a number of visitors or queries. In a long line dates are
content. ``<time>`` elements are clocks wherever they stand (`scrapy_neardup.text.walk`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LINE_END: Final = "\u2028"
"""What ends a line within a block, for ``<br>``. A line feed is white space in HTML."""

_MAX_LINE: Final = 160
"""Maximum characters of a line in which clocks are looked for."""

_YEAR: Final = r"(?:19|20)\d\d"
_WORD: Final = r"[^\W\d_]{3,12}\.?"
_TIME: Final = (
    r"\d\d? : \d\d (?: : \d\d (?:[.,]\d+)? )? (?: \s? [ap]\.?m\b\.? )? (?: Z | [+-]\d\d:?\d\d )?"
)
_UNITS: Final = (
    "ms|msec|msecs|milliseconds?|µs|microseconds?|s|secs?|seconds?|mins?|minutes?|hours?"
    "|quer(?:y|ies)|hits?|visits?|visitors?|views?|users?|guests?|members?|downloads?|times|online"
    "|[kmg]i?b"
)
_COUNTED: Final = "hits?|visits?|visitors?|views?|users?|guests?|members?|downloads?|online"

_CLOCK: Final = re.compile(
    rf"""(?ix) (?<![\w.,-]) (?:
        {_YEAR} [-/.] \d\d? [-/.] \d\d? (?: T {_TIME} )?
      | \d\d? [-/.] \d\d? [-/.] (?:{_YEAR} | \d\d)
      | \d\d? (?:st|nd|rd|th)? [.]? \s {_WORD} ,? \s {_YEAR}
      | {_WORD} \s \d\d? (?:st|nd|rd|th)? ,? \s {_YEAR}
      | {_TIME}
      | \d+ \s (?:second|minute|hour|day|week|month|year) s? \s ago
      | \d[\d.,]* \s? (?:{_UNITS})
      | (?:{_COUNTED}) (?: (?: \s? (?:no\.? | number | nr\.?) | :)? \s | \s? \# \s? ) \d[\d.,]*
    ) (?![\w]|[.,-]\d)"""
)

_DIGIT: Final = re.compile(r"\d")


def has_digit(text: str) -> bool:
    """Return whether there is a digit in a text; without one there is no clock."""
    return _DIGIT.search(text) is not None


def split_clocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a block's text, and whether each is a clock. O(length of the text)."""
    if not has_digit(text):
        yield text, False
        return
    for line in text.split(LINE_END):
        if len(line.strip()) > _MAX_LINE or not _DIGIT.search(line):
            yield line, False
            continue
        end = 0
        for found in _CLOCK.finditer(line):
            yield line[end : found.start()], False
            yield found[0], True
            end = found.end()
        yield line[end:], False
