"""The options of a job, among them which of several duplicates is kept."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from textwrap import shorten
from typing import Any, Literal

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.fingerprints.filtering import checked_filter
from scrapy_neardup.offline.readers.files import Record
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.settings.catalogue import OPTIONS, View
from scrapy_neardup.settings.validation import MAX_DISTANCE

_RULES = ("first", "longest", "shortest-url")

_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}

_COLUMN = ast.Name, ast.Attribute
_ALLOWED = ast.BinOp, ast.UnaryOp, ast.Constant, ast.Call, ast.Load, *_COLUMN, *_OPERATORS


_DEPTH = 100
"""Maximum depth of an expression: it is evaluated by calls, one in the other."""


class Ranking:
    """A number for each document; of duplicates the one with the least is kept, then the first.

    `rule` is ``"first"``; ``"longest"``: most words; ``"shortest-url"``; ``"newest"`` or
    ``"newest:COLUMN"``: the latest date (ISO 8601, or a number) of the column, ``date`` by
    default; or an expression over columns, whose largest value is kept: names, numbers, ``+ - *
    /``, parentheses and ``len(...)``, such as ``score * 2 - len(url)``. `url` is the column of
    URLs.
    """

    def __init__(self, rule: str, url: str = "url") -> None:
        self._rule = rule
        self._expression: ast.expr | None = None
        self.columns: tuple[str, ...] = ()
        kind, _, column = rule.partition(":")
        if rule in _RULES:
            self.columns = (url,) if rule == "shortest-url" else ()
        elif kind == "newest":
            self.columns = (column or "date",)
        else:
            self._expression = _parsed(rule)
            nodes = ast.walk(self._expression)
            names = {ast.unparse(each) for each in nodes if isinstance(each, _COLUMN)} - {"len"}
            self.columns = tuple(  # of a.b not a
                name for name in sorted(names)
                if not any(other.startswith(f"{name}.") for other in names)
            )  # fmt: skip
            if not self.columns:
                raise _refused(rule)

    def key(self, record: Record, tokens: int) -> float:
        """Return the number of a document."""
        values = record.values or {}
        if self._rule == "first":
            return 0.0
        if self._rule == "longest":
            return -float(tokens)
        if self._rule == "shortest-url":
            return float(len(record.url)) if record.url else math.inf
        try:
            if self._expression is None:
                return -_time(values[self.columns[0]])
            return -float(_value(self._expression, values))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
            reason = shorten(str(error), 100)  # it may quote a whole text
            raise InputError(f"can't be ranked by {self._rule!r}: {reason}") from error


def _parsed(rule: str) -> ast.expr:
    try:
        tree = ast.parse(rule, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refused(rule) from None
    level: list[ast.AST] = [tree]
    for _ in range(_DEPTH):
        level = [each for node in level for each in ast.iter_child_nodes(node)]
    if level:
        raise _refused(rule)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not (ast.unparse(node.func) == "len" and node.args):
            raise _refused(rule)
        if not isinstance(node, _ALLOWED):
            raise _refused(rule)
    return tree


def _refused(rule: str) -> ConfigurationError:
    known = ", ".join(map(repr, (*_RULES, "newest", "newest:COLUMN")))
    return ConfigurationError(
        f"what is kept must be one of {known}, or an expression of columns, numbers, + - * / and"
        f" len(), not {rule[:100]!r}" + "..." * (len(rule) > 100)
    )


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call):
        return len(_value(node.args[0], values) or "")
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand, values))
    found = values[ast.unparse(node)]
    return -math.inf if found is None else found


def _time(value: Any) -> float:
    """Return a date as a number; an unknown one is the oldest."""
    if value is None:
        return -math.inf
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, date):
        at = datetime(value.year, value.month, value.day)  # noqa: DTZ001  (a date alone)
        value = value if isinstance(value, datetime) else at
        epoch = datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return float((value - epoch).total_seconds())
    raise ValueError(f"{value!r} is no date")


Method = Literal["features", "simhash", "both"]
Confirmation = Literal["sketch", "exact", "none"]

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
    """What counts as a duplicate, and which of several is kept.

    Documents are candidates by `method`: with K features of S minima each, of which R are shared
    (`features`: K, S, R); by simhash fingerprints within `max_distance`, 0 to `MAX_DISTANCE` bits;
    or by either. Equal texts always are. One is removed if its resemblance to the one that is kept
    is at least `min_resemblance`, above 0 and up to 1: `confirm` by ``"sketch"`` estimates it,
    with a standard error of at most .03, ``"exact"`` compares all shingles of `shingle_size`
    words, ``"none"`` removes it in any case. `keep` is a rule of `Ranking`. Of HTML the part
    `text` counts, ``"main"`` or ``"full"``, without the CSS selectors of `ignore`. With `skip_bad`
    files and lines that can't be read are counted and left out. `memory` is in bytes, with those
    of Python and its packages. A value that can't be used is a `ConfigurationError`.
    """

    method: Method = "features"
    features: Filter = _FEATURES
    max_distance: int = 3
    min_resemblance: float = 0.9
    confirm: Confirmation = "exact"
    shingle_size: int = 4
    keep: str = "first"
    columns: Columns = USUAL
    text: View = "main"
    ignore: tuple[str, ...] = ()
    skip_bad: bool = False
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        checked_filter(self.features)
        whole_number("the maximum distance", self.max_distance, least=0, most=MAX_DISTANCE)
        whole_number("the shingle size", self.shingle_size, least=1)
        Ranking(self.keep)
        check_memory(self.memory)
        if not 0 < self.min_resemblance <= 1:
            raise ConfigurationError(
                "the minimum resemblance must be above 0 and at most 1, not"
                f" {self.min_resemblance!r}"
            )

    @property
    def ranking(self) -> Ranking:
        """The rule by which duplicates are ranked."""
        return Ranking(self.keep, self.columns.url)

    @property
    def read_columns(self) -> Columns:
        """The columns to be read: those of the documents, and those that rank them."""
        others = dict.fromkeys((*self.columns.others, *self.ranking.columns))
        return replace(self.columns, others=tuple(others))


Unit = Literal["lines", "paragraphs", "substrings"]


@dataclass(frozen=True, kw_only=True)
class TrimOptions:
    """What is removed from texts: lines or paragraphs that more than `number` documents have.

    Of ``"substrings"``: runs of at least `number` words that occurred before, in the same document
    or an earlier one (Lee et al. 2022). With `per_host` only documents of one host are counted
    together; with `but_first` lines and paragraphs stay in the first document that has them; with
    `mark` texts stay as they are, with a column of the ranges. `text` and `url` are columns,
    `memory` is in bytes.
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
                f"{self.text}: parts are removed from texts in a column of their own, not in a"
                " field of one"
            )

    @property
    def columns(self) -> Columns:
        """The columns to be read."""
        others = (self.url,) if self.per_host else ()
        return Columns(html=None, text=self.text, url=self.url, others=others)

    @property
    def size(self) -> int:
        """Words of a unit, for substrings."""
        return self.number if self.unit == "substrings" else 1

    @property
    def more_than(self) -> int:
        """Number of documents that a removed unit exceeds; 0: any earlier occurrence counts."""
        return 0 if self.unit == "substrings" else self.number
