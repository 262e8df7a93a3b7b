"""The units of a text from which features are made (Manku et al. 2007, sections 2 and 5.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import groupby
from pkgutil import resolve_name
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import INSTALL, ConfigurationError
from scrapy_neardup.fingerprints.hashing import digest, token_hashes
from scrapy_neardup.text import normalize

Unit = Literal["word", "char", "line", "sentence", "phrase"]

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Units:
    """A function from a text to its units, a list of UTF-8 strings.

    The `unit` is ``"word"``, as in `scrapy_neardup.text.normalize`; ``"char"``: their
    characters, and a space between two words; ``"line"``; ``"sentence"``, which ends with a line
    or at a period, exclamation or question mark before a space (COPS: Brin, Davis & Garcia-Molina,
    SIGMOD 1995); ``"phrase"``: the words of a line between stop words (Rose et al., "Automatic
    keyword extraction from individual documents", 2010). The last three are words with a space
    between them. `stop_words` are left out; phrases without them are a `ConfigurationError`.
    `stem` is a function that `stemmer` returns.
    """

    def __init__(
        self,
        unit: Unit = "word",
        stop_words: Iterable[str] = (),
        stem: Callable[[str], str] | None = None,
    ) -> None:
        self._given = unit, tuple(stop_words), stem
        self._unit = unit
        self._stop_words = frozenset(normalize(" ".join(self._given[1])).split())
        self._stem = (
            lru_cache(1 << 16)(lambda word: stem(word.decode()).encode()) if stem else None
        )
        if unit == "phrase" and not self._stop_words:
            raise ConfigurationError("--unit phrase needs --stop-words, which end a phrase")

    def __reduce__(self) -> tuple[Any, ...]:
        return Units, self._given  # a cache can't be sent to another process

    def __call__(self, text: str) -> list[bytes]:
        """Return the units in the order of the text. O(n)."""
        if self._unit == "word":
            return self._kept(normalize(text).split())
        if self._unit == "char":
            return [
                each.encode() for each in b" ".join(self._kept(normalize(text).split())).decode()
            ]
        parts = _SENTENCE.split(text) if self._unit == "sentence" else text.splitlines()
        lines = (normalize(part).split() for part in parts)
        if self._unit == "phrase":
            lines = (
                list(run)
                for line in lines
                for _, run in groupby(line, self._stop_words.__contains__)
            )
        return [b" ".join(kept) for line in lines if (kept := self._kept(line))]

    def hashes(self, text: str) -> NDArray[np.uint64]:
        """Return a hash of each unit, shape (n,); for words those of `token_hashes`."""
        if self._unit != "word":
            return np.array([digest(each) for each in self(text)], np.uint64)
        is_plain = not (self._stop_words or self._stem)
        return token_hashes(text if is_plain else b" ".join(self(text)).decode())

    def _kept(self, words: list[bytes]) -> list[bytes]:
        if self._stop_words:
            words = [word for word in words if word not in self._stop_words]
        return [*map(self._stem, words)] if self._stem else words


def imported(option: str, path: str) -> Callable[..., Any]:
    """Return the function of an import path, ``package.module:function`` or dotted throughout.

    Raises a `ConfigurationError` that names the option if it can't be imported or called.
    """
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"{option} {path}: {error}") from error
    if not callable(found):
        raise ConfigurationError(f"{option} {path} isn't a function")
    return cast("Callable[..., Any]", found)


def stemmer(name: str) -> Callable[[str], str]:
    """Return Snowball's stemmer of a language, or the function of an import path.

    Raises `ConfigurationError` if there is none, or the package snowballstemmer isn't installed.
    """
    if "." in name or ":" in name:
        return imported("--stem", name)
    try:
        import snowballstemmer  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ConfigurationError(
            f"--stem needs the package snowballstemmer: {INSTALL.format('[stem]')}"
        ) from error
    if name not in (known := snowballstemmer.algorithms()):
        raise ConfigurationError(f"--stem must be one of {', '.join(known)}, not {name!r}")
    return cast("Callable[[str], str]", snowballstemmer.stemmer(name).stemWord)
