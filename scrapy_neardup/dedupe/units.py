"""Lines, paragraphs or runs of words of a text: their ranges, and a digest of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints import digest
from scrapy_neardup.fingerprints.shingles import shingle_hashes

Unit = Literal["lines", "paragraphs", "substrings"]
Hashes = NDArray[np.uint64]
Spans = NDArray[np.int64]

_PATTERNS: dict[Unit, re.Pattern[str]] = {
    "lines": re.compile(r"[^\n]*\S[^\n]*\n?"),
    "paragraphs": re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+(?:[^\S\n]*\n)*"),
    "substrings": re.compile(r"\S+\s*"),
}

_word_digest: Callable[[str], int] = lru_cache(1 << 16)(digest)


def spans_of(text: str, kind: Unit, size: int) -> Spans:
    """Return the ranges of the units of a text.

    Parameters
    ----------
    kind
        ``"lines"``: lines that aren't blank; ``"paragraphs"``: runs of such lines;
        ``"substrings"``: all runs of `size` words, which overlap.

    Returns
    -------
    ndarray of int64, shape (units, 2)
        Beginning and end, in characters, with the white space after a unit.
    """
    spans = _matches(_PATTERNS[kind], text)
    if kind != "substrings":
        return spans
    if len(spans) < size:
        return spans[:0]
    return np.stack([spans[: len(spans) - size + 1, 0], spans[size - 1 :, 1]], axis=1)


def digests_of(text: str, kind: Unit, size: int) -> Hashes:
    """Return digests of the units of a text, equal for equal units; shape (units,)."""
    if kind == "substrings":
        words = np.array([_word_digest(word) for word in text.split()], np.uint64)
        return shingle_hashes(words, size) if len(words) >= size else words[:0]
    spans = _matches(_PATTERNS[kind], text).tolist()
    return np.array([digest(text[start:end].strip()) for start, end in spans], np.uint64)


def _matches(pattern: re.Pattern[str], text: str) -> Spans:
    found = [match.span() for match in pattern.finditer(text)]
    return np.array(found, np.int64).reshape(-1, 2)


def merged(spans: Spans) -> list[tuple[int, int]]:
    """Return spans, in the order of their beginnings, with touching ones merged."""
    found: list[tuple[int, int]] = []
    for start, end in spans.tolist():
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text without some ranges, as `merged` returns them."""
    kept = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])
