"""The options of a job, including the rule that chooses which duplicate is kept."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from textwrap import shorten
from typing import Any, Literal

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.fingerprints.broder import Filter, checked_filter
from scrapy_neardup.offline.readers.files import FoundPage
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns
from scrapy_neardup.settings.catalogue import OPTIONS, View
from scrapy_neardup.settings.validation import whole_number

_RULES = ("first", "longest", "shortest-url")

_COLUMN = re.compile(r"(-?)([^\W\d][\w.-]*)")


class Ranking:
    """A key for each document; the duplicate with the smallest key is kept, then the first.

    `rule` is ``"first"``; ``"longest"``: most words; ``"shortest-url"``; ``"newest"`` or
    ``"newest:COLUMN"``: the latest date (ISO 8601, or a number) of the column, ``date`` by
    default; or a column of numbers, whose largest value is kept, or with a ``-`` before it the
    smallest. `url` is the column of URLs.
    """

    def __init__(self, rule: str, url: str = "url") -> None:
        self._rule = rule
        kind, _, column = rule.partition(":")
        self._is_newest, self._sign = kind == "newest", -1
        self.columns: tuple[str, ...] = (column or "date",) if self._is_newest else ()
        if rule == "shortest-url":
            self.columns = (url,)
        elif rule not in _RULES and not self._is_newest:
            found = _COLUMN.fullmatch(rule)
            if not found:
                known = ", ".join(map(repr, (*_RULES, "newest", "newest:COLUMN")))
                raise ConfigurationError(
                    f"keep must be one of {known}, or a column of numbers (-COLUMN for the"
                    f" smallest), not {shorten(repr(rule), 100)}"
                )
            self.columns, self._sign = (found[2],), 1 if found[1] else -1

    def key(self, record: FoundPage, tokens: int) -> float:
        """Return the number of a document."""
        if self._rule == "first":
            return 0.0
        if self._rule == "longest":
            return -float(tokens)
        if self._rule == "shortest-url":
            return float(len(record.url)) if record.url else math.inf
        if record.values is None:
            raise InputError(f"can't be ranked by {self._rule!r}: its format has no columns")
        value = record.values[self.columns[0]]
        if value == "":  # in CSV an empty field is a missing one
            value = None
        try:
            if self._is_newest:
                return -_time(value)
            return math.inf if value is None else self._sign * float(value)
        except (TypeError, ValueError, OverflowError) as error:
            reason = shorten(str(error), 100)  # the message may quote a whole text
            raise InputError(f"can't be ranked by {self._rule!r}: {reason}") from error


def _time(value: Any) -> float:
    """Return a date as a number; an unknown one is the oldest, one without a zone is in UTC."""
    if value is None:
        return -math.inf
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        if len(value) != len("20240229"):
            with suppress(ValueError):
                return float(value)  # in CSV numbers are text
        value = datetime.fromisoformat(value)
    if isinstance(value, date):
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return float(value.replace(tzinfo=value.tzinfo or UTC).timestamp())
    raise ValueError(f"{value!r} isn't a date")


_FEATURES = checked_filter(OPTIONS["features"].default)

_MIN_MEMORY = 1 << 26


def check_memory(size: int) -> None:
    """Raise a `ConfigurationError` for fewer bytes than Python and its packages take."""
    if whole_number("memory, in bytes,", size, least=0) < _MIN_MEMORY:
        raise ConfigurationError(
            f"memory must be {_MIN_MEMORY >> 20} MiB or more, not {size:,} bytes"
        )


@dataclass(frozen=True, kw_only=True)
class DedupeOptions:
    """The options that say what a duplicate is, and which of several is kept.

    Candidates share R features of K with S minima each (`features`: K, S, R), or have equal texts.
    A candidate is removed if its resemblance to the kept document, by shingles of `shingle_size`
    words, is at least `min_resemblance`, above 0 and up to 1. `keep` is a rule of `Ranking`. In
    HTML the `text` counts, ``"main"`` or ``"full"``, without the CSS selectors of `ignore`.
    `skip_bad` counts unreadable files and lines and leaves them out. `memory` is in bytes,
    including Python and its packages. A wrong value is a `ConfigurationError`.
    """

    features: Filter = _FEATURES
    min_resemblance: float = 0.9
    shingle_size: int = 4
    keep: str = "first"
    columns: Columns = USUAL
    text: View = "main"
    ignore: tuple[str, ...] = ()
    skip_bad: bool = False
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        checked_filter(self.features)
        whole_number("the shingle size", self.shingle_size, least=1)
        Ranking(self.keep)
        check_memory(self.memory)
        if not 0 < self.min_resemblance <= 1:
            raise ConfigurationError(
                f"min_resemblance must be above 0 and at most 1, not {self.min_resemblance!r}"
            )

    @property
    def ranking(self) -> Ranking:
        """The rule by which duplicates are ranked."""
        return Ranking(self.keep, self.columns.url)

    @property
    def read_columns(self) -> Columns:
        """The columns to read: those of the documents, and those that rank them."""
        others = dict.fromkeys((*self.columns.others, *self.ranking.columns))
        return replace(self.columns, others=tuple(others))


Unit = Literal["lines", "paragraphs", "substrings"]


@dataclass(frozen=True, kw_only=True)
class TrimOptions:
    """The parts to remove from texts: lines or paragraphs of more than `number` documents.

    For ``"substrings"`` they are runs of at least `number` words that occurred before, in the same
    document or an earlier one (Lee et al. 2022). `per_host` counts each host separately.
    `but_first` keeps lines and paragraphs in the first document that has them. `mark` keeps texts
    unchanged, and adds a column of the ranges. `text` and `url` are columns, `memory` is in bytes.
    """

    unit: Unit
    number: int
    per_host: bool = False
    but_first: bool = False
    mark: bool = False
    text: str = "text"
    url: str = "url"
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        whole_number(f"the number for {self.unit}", self.number, least=1)
        check_memory(self.memory)
        if "." in self.text:
            raise ConfigurationError(
                f"{self.text}: parts can be removed only from a column of texts, not from a"
                " field of a column"
            )

    @property
    def columns(self) -> Columns:
        """The columns to read."""
        others = (self.url,) if self.per_host else ()
        return Columns(html=None, text=self.text, url=self.url, others=others)

    @property
    def size(self) -> int:
        """Number of words of a unit, for substrings."""
        return self.number if self.unit == "substrings" else 1

    @property
    def more_than(self) -> int:
        """Number of documents above which a unit is removed; 0: after any earlier occurrence."""
        return 0 if self.unit == "substrings" else self.number
