"""Checks of arguments that several modules of the joins make."""

from __future__ import annotations

from typing import Any

from scrapy_neardup.errors import ConfigurationError


def whole_number(what: str, value: Any, *, least: int) -> int:
    """Return `value` as an int.

    Raises
    ------
    ConfigurationError
        It is no whole number, or a smaller one than `least`; the message calls it `what`.
    """
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        count = least - 1
    if isinstance(value, bool | str) or count != value or count < least:
        raise ConfigurationError(f"{what} must be a whole number, {least} or more, not {value!r}")
    return count
