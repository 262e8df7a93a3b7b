"""Titles and headings as segments: ``Chapter 4 - The Handbook`` has two, a page's and a site's.

Which segments are the site's is learnt (`scrapy_neardup.site.titles`), and never enters what is
stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from scrapy_neardup.decision.evidence import MAX_SEGMENTS
from scrapy_neardup.fingerprints import digest

_SEPARATOR = re.compile(r"\s+[-|·•\u2013—:~/]+\s+|\s*[|»«·•—\u2013]\s*|:\s+")
"""What stands between the segments of a title."""
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,:/-]\d+)*(?![^\W_])")
"""A number that is a word of its own: that of a model, RTX3080, is no number."""


def segments_of(titles: Iterable[str], *, key: bytes | None) -> frozenset[int]:
    """Return the segments of titles and headings, hashed to 16 bits, not 0; digits are one digit.

    Beyond `MAX_SEGMENTS` - 1 they are one.
    """
    parts = dict.fromkeys(
        part
        for text in titles
        for each in _SEPARATOR.split(_NUMBER.sub("0", text.lower()))
        if (part := each.strip())
    )
    first, rest = list(parts)[: MAX_SEGMENTS - 1], list(parts)[MAX_SEGMENTS - 1 :]
    texts = [*first, *["\0".join(rest)] * bool(rest)]
    return frozenset([_hashed(text, key) for text in texts])


@lru_cache(maxsize=256)  # most pages of a site have some segments that others have
def _hashed(segment: str, key: bytes | None) -> int:
    return digest(segment, key=key, bits=32) & 0xFFFF or 1
