"""Clocks and counters: text that depends on the moment at which the page was made.

Rule of this module: a clock is recognised by its form, in a short line of its own: a date, a time
of day, a duration, a number of visitors or queries. In a long line dates are content, and so is
what may be a version: 1.11.19 is no date, 01.11.19 is one. ``<time>`` elements are clocks wherever
they stand (`scrapy_neardup.text.walk`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

LINE_END: Final = "\u2028"
"""What ends a line within a block, for ``<br>``. A line feed is white space in HTML."""

MAX_LINE: Final = 160
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
      | \d\d? [-/.] \d\d? [-/.] {_YEAR}
      | (?: \d\d? [-/] \d\d? [-/] | \d\d [.] \d\d [.] ) \d\d
      | \d\d? (?:st|nd|rd|th)? [.]? \s {_WORD} ,? \s {_YEAR}
      | {_WORD} \s \d\d? (?:st|nd|rd|th)? ,? \s {_YEAR}
      | {_TIME}
      | \d+ \s (?:second|minute|hour|day|week|month|year) s? \s ago
      | \d[\d.,]* \s? (?:{_UNITS})
      | (?:{_COUNTED}) (?: (?: \s? (?:no\.? | number | nr\.?) | :)? \s | \s? \# \s? ) \d[\d.,]*
    ) (?![\w]|[.,-]\d)"""
)

COUNTED_ENDS: Final = "ads ber ers est ews hit iew ine its oad ors ser sit sts tor"
"""The last letters of `_COUNTED`, and of ``number``."""

_AFTER_COUNTED: Final = COUNTED_ENDS.replace(" ", "|")
_NEAR_DIGIT: Final = re.compile(
    rf"""(?ix) \d (?:
        (?!\d) (?:
            [-/.] \d\d? [-/.] \d
            (?: \d | (?<={_YEAR} [-/.] \d [-/.] \d) | (?<={_YEAR} [-/.] \d\d [-/.] \d) )
          | : \d\d
          | (?:st|nd|rd|th)? (?: [.]? \s [^\W\d_]{{3,12}}+ \.? ,? | ,? ) \s {_YEAR}
          | \s (?:second|minute|hour|day|week|month|year) s? \s ago
          | [.,]* \s? (?=[a-zµ]) (?:{_UNITS}) (?!\w)
        )
      | (?<= [\s\#] \d) (?:
            (?<= \# .) | (?<= \# \s .) | (?<= n[or] \s .) | (?<= n[or][.] \s .)
          | (?<= (?:{_AFTER_COUNTED}) \s .) | (?<= (?:{_AFTER_COUNTED}) : \s .)
        )
    )"""
)
"""What stands around a digit of each clock, and of little else: it tells three times as fast as
`_CLOCK` that a line has none."""

_UNIT: Final = re.compile(rf"(?i)(?:{_UNITS}|(?:day|week|month|year)s?)(?!\w)")

_DIGIT: Final = re.compile(r"\d")


def may_hold_clock(line: str) -> bool:
    """Return False for most lines without a clock, True for all others. O(length)."""
    return _NEAR_DIGIT.search(line) is not None


@lru_cache(maxsize=1024)
def is_unit(word: str) -> bool:
    """Return whether a word behind a number may make a clock of it."""
    return _UNIT.match(word) is not None


def has_digit(text: str) -> bool:
    """Return whether there is a digit in a text; without one there is no clock."""
    return _DIGIT.search(text) is not None


def split_clocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a block's text, and whether each is a clock. O(length of the text)."""
    if not has_digit(text):
        yield text, False
        return
    for line in text.split(LINE_END):
        if len(line.strip()) > MAX_LINE or not may_hold_clock(line):
            yield line, False
            continue
        end = 0
        for found in _CLOCK.finditer(line):
            yield line[end : found.start()], False
            yield found[0], True
            end = found.end()
        yield line[end:], False
