"""The scripts: one file of ``lua/`` for each verb, sent as it is."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

_TEXTS: dict[str, str] = {}


@cache
def text(verb: str) -> str:
    """Return the text of a script."""
    return files("scrapy_neardup.stores.redis").joinpath(f"lua/{verb}.lua").read_text("utf-8")


@cache
def sha(verb: str) -> str:
    """Return the name by which a server that knows the script calls it."""
    digest = hashlib.sha1(text(verb).encode(), usedforsecurity=False).hexdigest()
    _TEXTS[digest] = text(verb)
    return digest


def with_text(words: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an EVALSHA for a server that doesn't know the script: it is new, or was restarted."""
    return "EVAL", _TEXTS[words[1]], *words[2:]
