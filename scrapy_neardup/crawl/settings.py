"""The ``NEARDUP_*`` settings: read, checked, turned into plain values.

Rule of this module: every setting is one row of `SETTINGS`. A name that is not there and
a value that can't be used stop the crawl at start, with a message that says what would
be right. Strings are accepted wherever a command line or the environment can bring them
(``-s NEARDUP_MAX_DISTANCE=3``), as Scrapy does.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy.utils.misc import load_object

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.evidence.sites import LEARNABLE
from scrapy_neardup.parameters import PRESETS, SCOPES, TITLES, Parameters, dotted_name

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

PREFIX = "NEARDUP_"

DROP, DROP_LINKS, DROP_ITEMS, DEPRIORITIZE, FLAG = ACTIONS = (
    "drop",
    "drop-links",
    "drop-items",
    "deprioritize",
    "flag",
)

_SECRET = {"STORE", "HASH_KEY"}
"""Values that no message may show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """What the settings say, less what `Parameters` covers; names as in ``NEARDUP_*``.

    ``text_of`` is the user's callable behind ``NEARDUP_TEXT``, or None for ``"main"`` and
    ``"full"``.
    """

    parameters: Parameters
    text_of: Callable[[Response], str] | None
    store: str | None
    namespace: str | None
    expected_pages: int
    retention: float
    base: str | None
    action: str
    priority_adjust: int
    group_budget: int
    deny: Sequence[re.Pattern[str]]
    keep_start: bool
    on_error: str
    timeout: float
    pending_timeout: float
    audit: str | None
    audit_text: bool


def enabled(settings: BaseSettings) -> bool:
    """Return whether ``NEARDUP_ENABLED`` is on, or for `read_settings` to refuse."""
    try:
        return bool(_read(settings, "ENABLED"))
    except ConfigurationError:
        return True


def read_settings(settings: BaseSettings) -> CrawlSettings:
    """Read and check all of them.

    Raises
    ------
    ConfigurationError
        Naming the setting that is unknown or can't be used.
    """
    _reject_unknown(settings)
    preset = PRESETS[_read(settings, "PRESET")]
    values = {name.lower(): _read(settings, name) for name in SETTINGS}
    values |= {name: value for name, value in preset.items() if not _is_set(settings, name)}
    text = values["text"]
    if callable(text):
        values["text"] = dotted_name(text)
    if values["audit_text"] and not values["audit"]:
        raise ConfigurationError(
            "NEARDUP_AUDIT_TEXT writes into the audit file: set NEARDUP_AUDIT to its path"
        )
    if values["base"] and values["group_budget"] > 1:
        raise ConfigurationError(
            "NEARDUP_GROUP_BUDGET can't be kept with NEARDUP_BASE: nobody knows how many pages of"
            " a group the base has seen; load it into the store instead: scrapy-neardup load"
        )
    parameters = Parameters(**{field.name: values[field.name] for field in fields(Parameters)})
    own = {field.name for field in fields(CrawlSettings)} & values.keys()
    return CrawlSettings(
        parameters=parameters,
        text_of=text if callable(text) else None,
        **{name: values[name] for name in own},
    )


def resolve_namespace(template: str | None, *, bot: str, spider: str, now: str) -> str:
    """Return the namespace to use: ``BOT.SPIDER`` unless the setting says otherwise.

    ``%(time)s`` becomes `now`; everything outside ``[A-Za-z0-9._-]`` is percent-encoded.

    Raises
    ------
    ConfigurationError
        For another placeholder than ``%(time)s``.
    """
    if template is None:
        name = f"{bot}.{spider}"
    else:
        name = template.replace("%(time)s", now)
        if "%(" in name:
            raise ConfigurationError(
                f"NEARDUP_NAMESPACE: the only placeholder is '%(time)s', not as in {template!r}"
            )
    return quote(name, safe="").replace("~", "%7E")


def _is_set(settings: BaseSettings, name: str) -> bool:
    return settings.get(PREFIX + name.upper()) is not None


def _read(settings: BaseSettings, name: str) -> Any:
    default, parse = SETTINGS[name]
    value = settings.get(PREFIX + name)
    if value is None:
        return default
    try:
        return parse(value)
    except ValueError as error:
        shown = f"a {type(value).__name__}" if name in _SECRET else repr(value)
        raise ConfigurationError(f"{PREFIX}{name} must be {error}, not {shown}") from None


def _reject_unknown(settings: BaseSettings) -> None:
    for key in settings:
        name = str(key).removeprefix(PREFIX)
        if name != key and name not in SETTINGS:
            close = get_close_matches(name, SETTINGS, n=1)
            hint = (
                f"did you mean {PREFIX}{close[0]}?" if close else "docs/settings.md has them all"
            )
            raise ConfigurationError(f"{key} is not a setting of scrapy-neardup; {hint}")


# Parsers: value of a setting -> value to use, or ValueError("what it must be").


def _boolean(value: object) -> bool:
    words = {"1": True, "true": True, "0": False, "false": False}
    try:
        return words[str(value).strip().lower()]
    except KeyError:
        raise ValueError("True or False") from None


def _whole(least: float = -math.inf) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        with suppress(TypeError, ValueError):
            if not isinstance(value, (bool, float)) and (number := int(value)) >= least:
                return number
        raise ValueError("a whole number" + (f", {least} or more" if least > -math.inf else ""))

    return parse


def _seconds(*, or_zero: bool = False) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        with suppress(TypeError, ValueError):
            number = math.nan if isinstance(value, bool) else float(value)
            if 0 < number < math.inf or (or_zero and number == 0):
                return number
        raise ValueError("0 or a number of seconds" if or_zero else "a number of seconds above 0")

    return parse


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _share(value: Any) -> float:
    with suppress(TypeError, ValueError):
        if not isinstance(value, bool) and 0 <= (number := float(value)) <= 1:
            return number
    raise ValueError("a number from 0 to 1")


def _numbers(wanted: str) -> Callable[[Any], tuple[int, ...]]:
    """Accept whole numbers in a list, or parted by ``,`` or ``x``."""

    def parse(value: Any) -> tuple[int, ...]:
        parts = re.split("[,x]", value) if isinstance(value, str) else value
        with suppress(TypeError, ValueError):
            if not any(isinstance(part, (bool, float)) for part in parts):
                return tuple(int(part) for part in parts)
        raise ValueError(wanted)

    return parse


def _duration(value: Any) -> float:
    """Accept seconds, or a text with a unit of `_UNITS`; whole seconds, as stores count them."""
    with suppress(TypeError, ValueError, OverflowError):
        text = str(value).strip().lower()
        unit = _UNITS.get(text[-1:])
        seconds = float(text[:-1]) * unit if unit else float(text)
        if not isinstance(value, bool) and (seconds == 0 or 1 <= seconds < math.inf):
            return float(round(seconds))
    raise ValueError("0 or a time such as 3600, '90s', '45m', '12h', '30d' or '2w'")


def _one_of(*words: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise ValueError(" or ".join((", ".join(map(repr, words[:-1])), repr(words[-1]))))

    return parse


def _string(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError("a text that is not empty")


def _path(value: object) -> str:
    if isinstance(value, (str, os.PathLike)) and (path := os.fspath(value)):
        return str(path)
    raise ValueError("the path of a file")


def _strings(value: object) -> tuple[str, ...]:
    """Accept a list, a JSON list, or a text that separates its entries by commas."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = None
        value = parsed if isinstance(parsed, list) else _split(value)
    if isinstance(value, Iterable):
        entries = tuple(value)
        if all(isinstance(entry, str) for entry in entries):
            return entries
    raise ValueError("a list of texts")


def _split(text: str) -> list[str]:
    """Split at commas that stand outside brackets: ``a{1,3}`` and ``:is(a, b)`` stay whole."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _patterns(value: object) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(map(re.compile, _strings(value)))
    except re.error as error:
        raise ValueError(f"a list of regular expressions ({error}: {error.pattern!r})") from None


def _key(value: object) -> bytes:
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes) and value:
        return value
    raise ValueError("a text or bytes that is not empty")


def _store_urls(value: object) -> bool | str:
    if value == "hash":
        return "hash"
    try:
        return _boolean(value)
    except ValueError:
        raise ValueError("True, False or 'hash'") from None


def _callable_or(*words: str) -> Callable[[object], str | Callable[..., Any]]:
    wanted = f"{', '.join(map(repr, words))}, or a callable or the dotted path of one"

    def parse(value: object) -> str | Callable[..., Any]:
        if isinstance(value, str) and value in words:
            return value
        if isinstance(value, str):
            try:
                value = load_object(value)
            except (ImportError, NameError, ValueError) as error:
                raise ValueError(f"{wanted} ({error})") from None
        if callable(value):
            return value
        raise ValueError(wanted)

    return parse


SETTINGS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "ENABLED": (True, _boolean),
    "STORE": (None, _string),
    "NAMESPACE": (None, _string),
    "EXPECTED_PAGES": (1_000_000, _whole(1)),
    "RETENTION": (0.0, _duration),
    "BASE": (None, _path),
    "PRESET": ("best", _one_of(*PRESETS)),
    "METHOD": ("both", _one_of("simhash", "minwise", "both")),
    "MAX_DISTANCE": (3, _whole()),
    "FEATURES": ((8, 8, 1), _numbers("three numbers such as '6,14,2'")),
    "MIN_RESEMBLANCE": (0.9, _share),
    "TITLES": ("learn", _one_of(*TITLES)),
    "LEARN": (LEARNABLE, _strings),
    "SKETCH": ((512, 2), _numbers("bins and bits such as '512x2'")),
    "ACTION": (DROP, _one_of(*ACTIONS)),
    "PRIORITY_ADJUST": (-10, _whole()),
    "GROUP_BUDGET": (1, _whole(1)),
    "SHINGLE_SIZE": (4, _whole()),
    "WEIGHTS": ("set", _callable_or("set", "tf", "sqrt", "log")),
    "TEXT": ("main", _callable_or("main", "full")),
    "IGNORE": ((), _strings),
    "MIN_TOKENS": (32, _whole()),
    "SCOPE": ("all", _one_of(*SCOPES)),
    "DENY": ((), _patterns),
    "HASH_KEY": (None, _key),
    "STORE_URLS": (True, _store_urls),
    "KEEP_START": (True, _boolean),
    "ON_ERROR": ("keep", _one_of("keep", "close")),
    "TIMEOUT": (5.0, _seconds()),
    "PENDING_TIMEOUT": (10.0, _seconds(or_zero=True)),
    "AUDIT": (None, _path),
    "AUDIT_TEXT": (False, _boolean),
}
"""Name without its prefix -> (default, parser)."""
