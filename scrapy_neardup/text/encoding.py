"""The encoding of a page that declares none.

A byte order mark, a declaration and valid UTF-8 decide before anything is guessed. Then a page is
taken for Windows-1252, as by browsers, unless the bytes look like another script. (Scrapy before
2.18 takes them all for Windows-1252.) In a Western text bytes above 127 stand alone or in pairs:
é, ß, «À. Runs of four and more that aren't drawn lines are words of another script, in a one-byte
encoding (Cyrillic, Greek, Hebrew, Arabic, Thai) or in one of several bytes (Chinese, Japanese,
Korean). Only there is `bs4.UnicodeDammit` asked, about a part of the page. Central European and
Turkish pages are read as Windows-1252, too: which of the Latin encodings a short page is in is too
uncertain to risk that pages of one site are read in two ways.
"""

from __future__ import annotations

import re
from itertools import islice

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

WINDOW_BYTES = 4096
"""Number of bytes, from the page's first foreign word on, from which the encoding is guessed."""

MIN_FOREIGN_BYTES = 24
"""Minimum bytes of words of another script in a page: eight letters, or four words."""

SEARCHED_BYTES = 1 << 20
"""Number of leading bytes of a page in which foreign words are looked for: some 40 ms."""

_WORD = re.compile(rb"[\x80-\xff]{4,}")
_MAX_WORDS = 256
"""Maximum number of words examined: drawn lines may fill a page."""
_MIN_DIFFERENT = 3
"""Minimum number of different bytes in a word: a drawn line repeats one or two."""


def declares_encoding(body: bytes, content_type: str | None = None) -> bool:
    """Whether a page says how it is encoded: by HTTP header, byte order mark or in its head."""
    return bool(
        http_content_type_encoding(content_type)
        or read_bom(body)[0]
        or html_body_declared_encoding(body)
    )


def guess_encoding(body: bytes) -> str:
    """Return the encoding of a page that doesn't declare it.

    Costs O(n), some milliseconds for a megabyte, and 2 ms where `bs4.UnicodeDammit` is asked.
    """
    try:
        body.decode()
    except UnicodeDecodeError:
        start = _foreign_words(body)
        return "cp1252" if start < 0 else _detect(body[start : start + WINDOW_BYTES])
    return "utf-8"


def _foreign_words(body: bytes) -> int:
    """Return where words of a script other than Latin begin, or -1."""
    start, size = -1, 0
    for found in islice(_WORD.finditer(body, 0, SEARCHED_BYTES), _MAX_WORDS):
        if len(set(found[0])) >= _MIN_DIFFERENT:
            start = found.start() if start < 0 else start
            size += len(found[0])
        if size >= MIN_FOREIGN_BYTES:
            return start
    return -1


def _detect(window: bytes) -> str:
    # Imported where they are needed, which is for one page in many.
    from bs4.dammit import UnicodeDammit  # noqa: PLC0415
    from chardet import detect  # noqa: PLC0415

    # Up to a tag, so that no character is cut in two: "<" is no part of one in any encoding.
    window = window[: window.rfind(b"<")] if b"<" in window else window
    # By itself UnicodeDammit asks whichever detector is installed: two machines would disagree.
    likely = detect(window)["encoding"]
    return UnicodeDammit(window, [likely] if likely else []).original_encoding or "cp1252"
