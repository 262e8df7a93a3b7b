"""The kinds of values that options take, and a check of arguments.

A kind reads plain values, their spellings on the command line and in the environment, and its own
results.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Final

from scrapy_neardup.errors import ConfigurationError

MAX_DISTANCE: Final = 10
"""Maximum Hamming distance that tables are designed for, in bits."""

MIN_BINS: Final = 16
"""Minimum number of bins of a one-permutation sketch."""

MAX_BINS: Final = 1024
"""Maximum number of such bins, and of minima in all features of a page."""

MAX_FEATURES: Final = 64
"""Maximum number of features of a page."""

MAX_SKETCH: Final = 8192
"""Maximum number of bits of a sketch that confirms a match."""

_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Unit of time -> seconds."""


class _ExplainedError(ValueError):
    """A value is wrong for a reason that `ValueKind.wanted` doesn't mention."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """The values that an option may have, and how they are read."""

    wanted: str
    """The permitted values, in words that follow "must be"."""
    parse: Callable[[Any], Any]
    """Returns the checked value; for a wrong one, returns None or raises (see `read`)."""
    choices: tuple[str, ...] = ()
    """The words among the values."""
    bounds: tuple[int | None, int | None] = (None, None)
    """The smallest and the largest number; None for no limit."""
    metavar: str = "TEXT"
    """Placeholder of a value in the command's help."""
    is_list: bool = False
    """Whether the command takes one entry of a list at a time."""
    separator: str = ","
    """Separator of the parts of a tuple in a string."""

    def spelt(self, value: object) -> str:
        """Return `value` as the string that `read` accepts for it."""
        if isinstance(value, tuple):
            return self.separator.join(map(str, value))
        return f"{value:g}" if isinstance(value, float) else str(value).lower()

    def read(self, name: str, value: object, *, is_secret: bool = False) -> Any:
        """Return the checked value, or raise a `ConfigurationError` with its `name`."""
        wanted = self.wanted
        try:
            if (found := self.parse(value)) is not None:
                return found
        except _ExplainedError as error:
            wanted += f" ({error})"
        except (TypeError, ValueError, OverflowError):
            pass
        shown = f"a {type(value).__name__}" if is_secret and value else repr(value)
        raise ConfigurationError(f"{name} must be {wanted}, not {shown}")


def boolean_or(*words: str) -> ValueKind:
    """Values: True, False, or one of `words`."""

    def parse(value: object) -> object:
        return value if value in words else _BOOLEANS.get(str(value).strip().lower())

    wanted = _alternatives("True", "False", *map(repr, words))
    return ValueKind(wanted, parse, ("true", "false", *words))


def one_of(*words: str) -> ValueKind:
    """Values: one of `words`."""
    wanted = _alternatives(*map(repr, words))
    return ValueKind(wanted, lambda value: value if value in words else None, words)


def some_of(*words: str) -> ValueKind:
    """Values: a list of some of `words`."""

    def parse(value: object) -> tuple[str, ...] | None:
        found = tuple(dict.fromkeys(_entries(value, str)))
        return found if set(found) <= set(words) else None

    wanted = f"a list of {_alternatives(*map(repr, words))}"
    return ValueKind(wanted, parse, metavar="NAMES")


def callable_or(*words: str) -> ValueKind:
    """Values: one of `words`, a callable, or the dotted path of a callable."""

    def parse(value: object) -> object:
        if value in words:
            return value
        if isinstance(value, str):
            try:
                value = resolve_name(value)
            except Exception as error:  # noqa: BLE001  (whatever its module raises)
                raise _ExplainedError(error) from None
        return value if callable(value) else None

    wanted = f"{', '.join(map(repr, words))}, a callable, or the dotted path of one"
    return ValueKind(wanted, parse, words)


def integer(least: int | None = None, most: int | None = None) -> ValueKind:
    """Values: a whole number from `least` to `most`."""
    wanted = "a whole number"
    if least is not None:
        wanted += f", {least} or more" if most is None else f" from {least} to {most}"

    def parse(value: Any) -> float | None:
        return _within(_whole_number(value), least, most)

    return ValueKind(wanted, parse, bounds=(least, most), metavar="N")


def seconds(*, or_zero: bool = False) -> ValueKind:
    """Values: a number of seconds above 0, or 0 if `or_zero`."""

    def parse(value: Any) -> float | None:
        number = _number(value)
        return number if 0 < number < math.inf or (or_zero and not number) else None

    wanted = "0 or a number of seconds" if or_zero else "a number of seconds above 0"
    return ValueKind(wanted, parse, metavar="SECONDS")


def text(metavar: str) -> ValueKind:
    """Values: a string that isn't empty."""
    return ValueKind("a non-empty string", _text, metavar=metavar)


def _within(number: float, least: int | None, most: int | None) -> float | None:
    is_allowed = (least is None or least <= number) and (most is None or number <= most)
    return number if is_allowed else None


def _number(value: Any) -> float:
    return math.nan if isinstance(value, bool) else float(value)


def _whole_number(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise TypeError
    return int(value)


def _whole_numbers(value: Any) -> tuple[int, ...]:
    """Return whole numbers from a list, or from a string with ``,`` or ``x`` between them."""
    parts = re.split("[,x]", value) if isinstance(value, str) else value
    return tuple(map(_whole_number, parts))


def _entries(value: object, *types: type) -> tuple[Any, ...]:
    """Return the entries of a list, a JSON list, or a string with commas between them."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = None
        value = parsed if isinstance(parsed, list) else _split(value)
    entries = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(entry, types) for entry in entries):
        raise TypeError
    return entries


_PIECE = re.compile(r"(?s)\\.|\[(?:\\.|[^]\\])*\]|.")
"""A character, an escaped one, or several in square brackets."""


def _split(text: str) -> list[str]:
    """Split at commas outside brackets: ``a{1,3}`` and ``:is(a, b)`` stay whole."""
    parts, depth = [""], 0
    for piece in _PIECE.findall(text):
        depth = max(0, depth + (piece in {"(", "{"}) - (piece in {")", "}"}))
        if piece == "," and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts if part.strip()]


def _alternatives(*values: str) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}" if others else last


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _duration(value: Any) -> float | None:
    text = str(value).strip().lower()
    unit = _UNITS.get(text[-1:])
    number = float(text[:-1]) * unit if unit else _number(value)
    return float(round(number)) if not number or number >= 1 else None


def _features(value: Any) -> tuple[int, int, int] | None:
    count, size, shared = _whole_numbers(value)
    is_allowed = 1 <= shared <= count <= MAX_FEATURES and 1 <= count * size <= MAX_BINS
    return (count, size, shared) if is_allowed else None


def _sketches(value: Any) -> tuple[int, int] | None:
    text, named = _whole_numbers(value)
    is_allowed = all(64 <= each <= MAX_SKETCH and not each % 64 for each in (text, named))
    return (text, named) if is_allowed else None


def _secret(value: object) -> bytes | None:
    data = value.encode() if isinstance(value, str) else value
    return data if isinstance(data, bytes) and data else None


def _patterns(value: object) -> tuple[re.Pattern[str], ...] | None:
    try:
        found = tuple(map(re.compile, _entries(value, str, re.Pattern)))
    except re.error as error:
        raise _ExplainedError(f"{error}: {error.pattern!r}") from None
    return found if all(isinstance(each.pattern, str) for each in found) else None


FRACTION: Final = ValueKind(
    "a number from 0 to 1",
    lambda value: _within(_number(value), 0, 1), bounds=(0, 1), metavar="R",
)  # fmt: skip
DURATION: Final = ValueKind(
    "0 or a time such as 3600, '90s', '45m', '12h', '30d' or '2w'", _duration, metavar="TIME"
)
"""A time in whole seconds, or a string with a unit of `_UNITS`."""
FEATURES: Final = ValueKind(
    f"three numbers K,S,R such as '6,14,2': K from 1 to {MAX_FEATURES}, K times S from 1 to"
    f" {MAX_BINS}, R from 1 to K",
    _features, metavar="K,S,R",
)  # fmt: skip
"""Broder's k, s and r."""
SKETCHES: Final = ValueKind(
    f"TEXTxNAMED such as '1792x256': two multiples of 64 up to {MAX_SKETCH}",
    _sketches, metavar="TEXTxNAMED", separator="x",
)  # fmt: skip
"""The sizes of a page's two sketches in bits."""
PATH: Final = ValueKind(
    "the path of a file", lambda value: _text(os.fspath(value)), metavar="FILE"
)
SECRET: Final = ValueKind("a non-empty string or bytes", _secret)
"""A secret as bytes, or as a string that is encoded in UTF-8."""
SELECTORS: Final = ValueKind(
    "a list of strings", lambda value: _entries(value, str), metavar="CSS", is_list=True
)
PATTERNS: Final = ValueKind("a list of regular expressions", _patterns, is_list=True)


def whole_number(what: str, value: Any, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int if it is a whole number from `least` to `most`."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        count = least - 1
    is_allowed = least <= count and (most is None or count <= most)
    if isinstance(value, bool | str) or count != value or not is_allowed:
        wanted = f", {least} or more" if most is None else f" from {least} to {most}"
        raise ConfigurationError(f"{what} must be a whole number{wanted}, not {value!r}")
    return count
