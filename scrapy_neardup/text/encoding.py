"""The encoding of a page that declares none.

A byte order mark, a declaration and UTF-8 come first; a page with a cut character or a few bad
bytes is still UTF-8. Otherwise a page is Windows-1252, as in browsers, unless its bytes look like
another script. (Scrapy before 2.18 always takes Windows-1252.) In a Western text bytes above 127
are single or in pairs: é, ß, «À. Runs of four or more that aren't drawn lines are words of another
script, in a one-byte encoding (Cyrillic, Greek, Hebrew, Arabic, Thai) or a multi-byte one
(Chinese, Japanese, Korean). Only then `chardet` guesses from a part of the page, and never an
encoding in which ASCII isn't ASCII. Central European and Turkish pages are read as
Windows-1252, too: a guess between Latin encodings is too uncertain for a short page, and pages of
one site would be read in two ways.
"""

from __future__ import annotations

import re
from codecs import charmap_decode
from itertools import islice

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

WINDOW_BYTES = 4096
"""Number of bytes, from the page's first foreign word on, from which the encoding is guessed."""

MIN_FOREIGN_BYTES = 24
"""Minimum number of bytes of words of another script in a page: eight letters, or four words."""

SEARCHED_BYTES = 1 << 20
"""Number of leading bytes of a page that are searched for foreign words: some 40 ms."""

_CUT_BYTES = 3
"""Maximum number of bytes that a cut character leaves."""
_MAX_BAD = 16
"""Minimum number of non-ASCII characters for each bad byte, if there are more bad bytes."""
_BAD = re.compile("[\udc80-\udcff]")
_NOT_ASCII = bytes(range(0x80, 0x100))

_WORD = re.compile(rb"[\x80-\xff]{4,}")
_MAX_WORDS = 256
"""Maximum number of words examined: drawn lines may fill a page."""
_MARKUP = b"<a href='b'>1</a>"
_MIN_DIFFERENT = 3
"""Minimum number of different bytes in a word: a drawn line repeats one or two."""


_WINDOWS = "".join([bytes([n]).decode("cp1252", "ignore") or chr(n) for n in range(256)])
"""The character of each byte in Windows-1252, or else the C1 control, as in browsers."""
_ESCAPED = re.compile("[\udc80-\udcff][\0-\x7f\udc80-\udcff]*+")
"""Escaped bytes, with ASCII among them: a whole text in a one-byte encoding."""


def unescaped(text: str) -> str:
    """Return a text with each escaped byte (PEP 383) as its character in Windows-1252. O(n)."""
    return _ESCAPED.sub(_in_windows, text)


def _in_windows(escaped: re.Match[str]) -> str:
    data = escaped[0].encode("ascii", "surrogateescape")
    return charmap_decode(data, "strict", _WINDOWS)[0]


def declares_encoding(body: bytes, content_type: str | None = None) -> bool:
    """Return whether a page declares its encoding: by HTTP header, byte order mark or markup."""
    return bool(
        http_content_type_encoding(content_type)
        or read_bom(body)[0]
        or html_body_declared_encoding(body)
    )


def guess_encoding(body: bytes) -> str:
    """Return the encoding of a page that doesn't declare it.

    O(n): some milliseconds for a megabyte, and 2 ms more if `chardet` guesses.
    """
    if _is_utf_8(body):
        return "utf-8"
    start = _foreign_words(body)
    return "cp1252" if start < 0 else _detect(body[start : start + WINDOW_BYTES])


def _is_utf_8(body: bytes) -> bool:
    """Return whether bytes are UTF-8, except for a cut character or a few bad bytes."""
    try:
        body.decode()
    except UnicodeDecodeError:
        text = body.decode(errors="surrogateescape")
        bad = len(_BAD.findall(text))
        others = len(text) - len(body.translate(None, _NOT_ASCII)) - bad
        return bad < others if bad <= _CUT_BYTES else bad * _MAX_BAD <= others
    return True


def _foreign_words(body: bytes) -> int:
    """Return the position of the first word in a script other than Latin, or -1."""
    start, size = -1, 0
    for found in islice(_WORD.finditer(body, 0, SEARCHED_BYTES), _MAX_WORDS):
        if len(set(found[0])) >= _MIN_DIFFERENT:
            start = found.start() if start < 0 else start
            size += len(found[0])
        if size >= MIN_FOREIGN_BYTES:
            return start
    return -1


def _detect(window: bytes) -> str:
    from chardet import detect_all  # noqa: PLC0415  (few pages need it)

    # Up to a tag, so that no character is cut: in no encoding is "<" a part of another one.
    window = window[: window.rfind(b"<")] if b"<" in window else window
    names = (found["encoding"] for found in detect_all(window))
    return next((name for name in names if name and _fits(name, window)), "cp1252")


def _fits(encoding: str, window: bytes) -> bool:
    """Return whether a part of a page can be decoded; in EBCDIC markup isn't markup."""
    try:
        window.decode(encoding)
        return _MARKUP.decode(encoding) == _MARKUP.decode()
    except (LookupError, ValueError):
        return False
