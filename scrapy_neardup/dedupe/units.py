"""A text to its lines, paragraphs or runs of words: where they are, and a digest of each."""

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

_LINE = re.compile(r"[^\n]*\S[^\n]*\n?")
_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+(?:[^\S\n]*\n)*")
_WORD = re.compile(r"\S+\s*")

_word_digest: Callable[[str], int] = lru_cache(1 << 16)(digest)


def units_of(text: str, kind: Unit, size: int) -> tuple[Spans, Hashes]:
    """Return where the units of a text are, and their digests.

    Parameters
    ----------
    kind
        ``"lines"``: lines that aren't blank, without the white space around them;
        ``"paragraphs"``: runs of such lines; ``"substrings"``: all runs of `size` words, which
        overlap.

    Returns
    -------
    spans : ndarray of int64, shape (units, 2)
        Beginning and end, in characters, the white space behind a unit included.
    digests : ndarray of uint64, shape (units,)
        Equal for equal units.
    """
    if kind == "substrings":
        words = [(match.start(), match.end()) for match in _WORD.finditer(text)]
        if len(words) < size:
            return np.empty((0, 2), np.int64), np.empty(0, np.uint64)
        digests = [_word_digest(text[start:end].rstrip()) for start, end in words]
        spans = np.array(words, np.int64)
        runs = np.stack([spans[: len(spans) - size + 1, 0], spans[size - 1 :, 1]], axis=1)
        return runs, shingle_hashes(np.array(digests, np.uint64), size)
    pattern = _LINE if kind == "lines" else _PARAGRAPH
    found = [(match.start(), match.end()) for match in pattern.finditer(text)]
    own = [digest(text[start:end].strip()) for start, end in found]
    return np.array(found, np.int64).reshape(-1, 2), np.array(own, np.uint64)


def merged(spans: Spans) -> list[tuple[int, int]]:
    """Return spans, in the order of their beginnings, with those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, end in spans.tolist():
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text without some of its parts, as `merged` returns them."""
    kept = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])
