"""The scripts: one file of ``lua/`` for each verb, sent as it is."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

VERBS: Final = ("check_and_add", "repeat", "confirm", "renew", "withdraw", "over")
"""Verbs of a home, loaded when a store is opened."""


@cache
def text(verb: str) -> str:
    """Return the text of a script."""
    return files("scrapy_neardup.stores.redis").joinpath(f"lua/{verb}.lua").read_text("utf-8")
