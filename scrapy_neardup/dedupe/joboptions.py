"""The options of a job, among them which of several duplicates is kept."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.fingerprints.filtering import Filter, checked_filter
from scrapy_neardup.offline.readers.record import Record
from scrapy_neardup.offline.readers.tabular import USUAL, Columns
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

_ALLOWED = (
    ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Load, *_OPERATORS
)  # fmt: skip


class Ranking:
    """A number for each document; of duplicates the one with the least is kept.

    A tie goes to the document that comes first in the inputs.

    Parameters
    ----------
    rule
        ``"first"``: in the order of the inputs; ``"longest"``: most words; ``"shortest-url"``;
        ``"newest"`` or ``"newest:COLUMN"``: the latest date (ISO 8601, or a number) of the column,
        ``date`` by default; or an expression over columns, whose largest value is kept: names,
        numbers, ``+ - * /``, parentheses and ``len(...)``, such as ``score * 2 - len(url)``.
    url
        The column of URLs.

    Raises
    ------
    ConfigurationError
        The rule is none of these.
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
            names = {_dotted(node) for node in ast.walk(self._expression) if _is_column(node)}
            self.columns = tuple(sorted(_longest(names) - {"len"}))
            if not self.columns:
                raise _refused(rule)

    def added_to(self, columns: Columns) -> Columns:
        """Return columns with those that the rule needs."""
        others = dict.fromkeys((*columns.others, *self.columns))
        return replace(columns, others=tuple(others))

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
            raise InputError(
                f"{record.page}: can't be ranked by {self._rule!r}: {error}"
            ) from error


def _parsed(rule: str) -> ast.expr:
    try:
        tree = ast.parse(rule, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise _refused(rule) from None
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
        f" len(), not {rule!r}"
    )


def _is_column(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute))


def _dotted(node: ast.AST) -> str:
    """Return the name of a column as it is written: ``metadata.date``."""
    return ast.unparse(node)


def _longest(names: set[str]) -> set[str]:
    """Return the names that aren't the beginning of another: of ``a.b`` not ``a``."""
    return {name for name in names if not any(other.startswith(f"{name}.") for other in names)}


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call):
        return len(_value(node.args[0], values) or "")
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand, values))
    found = values[_dotted(node)]
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

MIN_MEMORY = 1 << 26
"""Minimum bytes of memory of a job."""


@dataclass(frozen=True, kw_only=True)
class DedupeOptions:
    """What counts as a duplicate, and which of several is kept.

    Parameters
    ----------
    method
        How two documents are found to be candidates: min-wise features in common, simhash
        fingerprints within a distance, or either. Equal texts always are.
    features
        K, S and R: K features of S minima each, of which documents share R.
    max_distance
        Maximum distance of two fingerprints, 0 to `MAX_DISTANCE` bits.
    min_resemblance
        Minimum resemblance of a removed document and the one that is kept for it.
    confirm
        How the resemblance of candidates is found: ``"sketch"`` estimates it, with a standard
        error of at most .03; ``"exact"`` compares all shingles; ``"none"`` estimates it and
        removes the document in any case.
    shingle_size
        Words a shingle.
    keep
        See `Ranking`.
    columns
        Names of the columns.
    text, ignore
        The part of an HTML page that counts: ``"main"`` or ``"full"``, without CSS selectors.
    skip_bad
        Whether files and lines that can't be read are counted and left out, instead of an error.
    memory
        Bytes of memory to work in, with those of Python and its packages.

    Raises
    ------
    ConfigurationError
        A value can't be used.
    """

    method: Method = "features"
    features: Filter = _FEATURES
    max_distance: int = 3
    min_resemblance: float = 0.9
    confirm: Confirmation = "sketch"
    shingle_size: int = 4
    keep: str = "first"
    columns: Columns = USUAL
    text: View = "main"
    ignore: tuple[str, ...] = ()
    skip_bad: bool = False
    memory: int = field(default=1 << 30, compare=False)

    def __post_init__(self) -> None:
        checked_filter(self.features)
        whole_number("the maximum distance", self.max_distance, least=0, most=MAX_DISTANCE)
        whole_number("the shingle size", self.shingle_size, least=1)
        whole_number("memory", self.memory, least=MIN_MEMORY)
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
        return self.ranking.added_to(self.columns)

    def as_plan(self) -> dict[str, Any]:
        """Return, as JSON has it, the options that a resumed job must have, too."""
        plan = asdict(self)
        del plan["memory"]
        return plan
