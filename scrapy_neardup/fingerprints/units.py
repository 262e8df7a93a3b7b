"""The units of a text from which shingles are made (Manku et al. 2007, sections 2 and 5.3)."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.hashing import digest, token_hashes
from scrapy_neardup.text import normalize

Unit = Literal["word", "char", "line", "sentence"]

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def units_of(text: str, unit: Unit) -> list[bytes]:
    """Return the units of a text in its order, in UTF-8. O(n).

    They are ``"word"``, as in `scrapy_neardup.text.normalize`; ``"char"``: their characters, and a
    space between two words; ``"line"``; ``"sentence"``, which ends with a line or at a period,
    exclamation or question mark before a space (COPS: Brin, Davis & Garcia-Molina, SIGMOD 1995).
    The last two are words with a space between them.
    """
    if unit == "word":
        return normalize(text).split()
    if unit == "char":
        return [each.encode() for each in b" ".join(normalize(text).split()).decode()]
    parts = _SENTENCE.split(text) if unit == "sentence" else text.splitlines()
    lines = (normalize(part).split() for part in parts)
    return [b" ".join(line) for line in lines if line]


def unit_hashes(text: str, unit: Unit = "word") -> NDArray[np.uint64]:
    """Return a hash of each unit, shape (n,); for words those of `token_hashes`."""
    if unit == "word":
        return token_hashes(text)
    return np.array([digest(each) for each in units_of(text, unit)], np.uint64)
