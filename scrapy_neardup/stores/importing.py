"""Stores by the names of their classes, imported when one is opened."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.urls import redact_store


def imported(place: str, uri: str) -> Any:
    """Return the object at ``"module:name"``, for the store at `uri`.

    Raises
    ------
    ConfigurationError
        It needs redis-py, which isn't installed.
    """
    try:
        return resolve_name(place)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "redis":
            raise
        raise ConfigurationError(
            f"NEARDUP_STORE: {redact_store(uri)} needs the package redis, which isn't installed:"
            ' pip install "scrapy-neardup[redis]"'
        ) from None
