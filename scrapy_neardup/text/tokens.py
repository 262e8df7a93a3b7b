"""Text to tokens: the definition of a word.

A token is defined by character class, in the same way on every machine. All code reads text
through `normalize`.

================  =====================================================================
character         treatment
================  =====================================================================
letter, digit     part of a word, in lower case (one character for one; a final sigma is a
                  sigma)
``_``             part of a word: ``snake_case`` is one name (as in UAX #29)
mark              part of the word of its base (text is brought to NFC first)
CJK and others    Han, Hiragana, Katakana, Thai, Lao, Khmer, Burmese and the scripts
                  written like them put no spaces between words: every letter is a
                  token, with its marks. Hangul has spaces, and words.
invisible         soft hyphen, zero-width joiners, direction marks, variation selectors:
                  removed, so that a word goes on; only U+200B, zero width space, ends
                  one (as in Unicode's word boundaries, UAX #29, section 4.1).
symbol            currencies, stars, ticks, arrows, emoji, each half of a flag: one token
                  each. Drawn lines (U+2500 to U+257F) separate words.
sign              ``# $ % & * + - < = > @ ^ | ~``: a run of them that touches a word is a token
                  (``C++``, ``A-``, ``-5``, ``50%``), and so is a single ``+`` or ``=``; a hyphen
                  between two words, and any other run, separates words
anything else     separates words: spaces, other punctuation, private use
================  =====================================================================

If *every* character counts, as in the preset ``exact``, letters keep their case, and each
visible character outside of words is a token.

NFC, not NFKC: canonically equivalent texts are the same text; folding compatibility characters
(``x²`` into ``x2``, ``™`` into ``tm``) would make different texts equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 17
"""Number of characters normalised at once, which bounds the memory for any text."""

SIGNS = "#$%&*+-<=>@^|~"
"""ASCII characters that are tokens if they touch a word."""

_ASCII = bytes(
    ord(chr(c).lower()) if chr(c).isalnum() or chr(c) in f"_{SIGNS}" else 32 for c in range(128)
).ljust(256)
_SIGN = f"[{re.escape(SIGNS)}]".encode()
_PART = f"[^ {re.escape(SIGNS)}]".encode()
_HYPHEN = re.compile(b"(?<=%b)-(?=%b)" % (_PART, _PART))
_ALONE = re.compile(b"(?<![^ ])(?![+=](?![^ ]))%b+(?![^ ])" % _SIGN)
_RUN = re.compile(b"%b+" % _SIGN)

_GAP = re.compile(r"\s")

_MAX_MARKS = 30
"""Maximum number of combining marks that are ordered at once (Unicode's Stream-Safe Text Format,
UAX #15, section 13, allows as many): `unicodedata` takes quadratic time to order them."""
_RUN_OF_MARKS = re.compile(rf"[^\w\s\0-\x7f](?:[^\w\s\0-\x7f]{{{_MAX_MARKS},}}+)")
"""Places with more marks, perhaps: no mark is a word character. A pattern that begins with a set
of characters is twice as fast."""

_PLANES_0_AND_1 = 0x20000

_UNSPACED = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Burmese
    range(0x1780, 0x1800),  # Khmer
    range(0x1950, 0x19E0),  # Tai Le, New Tai Lue
    range(0x1A20, 0x1AB0),  # Tai Tham
    range(0x3005, 0x3008),  # ideographic iteration mark, closing mark, zero
    range(0x3021, 0x303D),  # numerals, repeat marks
    range(0x3041, 0x3100),  # Hiragana, Katakana
    range(0x31F0, 0x3200),  # Katakana
    range(0x3400, 0x4DC0),  # Han
    range(0x4E00, 0xA000),  # Han
    range(0xA9E0, 0xAA00),  # Burmese
    range(0xAA60, 0xAAE0),  # Burmese, Tai Viet
    range(0xF900, 0xFB00),  # Han
    range(0xFF66, 0xFFA0),  # half-width Katakana
    range(0x1AFF0, 0x1B170),  # Katakana, Hiragana
)
"""Letters in these blocks, and everything in planes 2 and 3 (Han), are tokens."""

_SYMBOLS = (
    range(0x2000, 0x2C00),
    range(0x2E00, 0x2E80),
    range(0x1CC00, 0x1CEC0),
    range(0x1F000, 0x1FC00),
)
"""Blocks to which Unicode adds symbols and punctuation. In other blocks an unassigned character
counts as a letter, as most future characters will be letters. So Pythons with different versions
of Unicode read the same tokens."""


_NEW_SYMBOLS = (range(0x20A0, 0x20D0), range(0x2100, 0x2C00), *_SYMBOLS[2:])
"""Those of these blocks that have hardly any punctuation."""
_OTHER_SYMBOLS = frozenset(map(ord, "\u2030\u2031\uff03\uff05\uff06\uff0a\uff20"))
"""Per mille, and the wide forms of signs, which Unicode calls punctuation."""


def _is_in(blocks: tuple[range, ...], code: int) -> bool:
    return any(code in block for block in blocks)


# Entries of the table of characters: the character itself, with one of these in bits 24-25.
_MARK, _DROPPED, _TOKEN = (np.uint32(kind << 24) for kind in (1, 2, 3))
_CHARACTER = np.uint32(0x1FFFFF)
_SPACE = np.uint32(32)

CHARACTERS = np.zeros(_PLANES_0_AND_1 + 1, np.uint32)
"""Treatment of each character of planes 0 and 1, uint32; 0 until `classify` has noted it, for the
first text that contains it. One more entry is for all other characters."""
CHARACTERS[-1] = _SPACE
EVERY_CHARACTER = CHARACTERS.copy()
"""The same table for texts in which every character counts, filled by `classify_every`."""


def normalize(text: str) -> bytes:
    """Return the tokens of `text` as UTF-8, separated by one or more spaces.

    The result has only tokens and spaces: ``.split()`` lists them. No byte is zero. A lone
    surrogate separates words. O(n): 0.7 ns a character for ASCII, 5 for other words, 25 for
    Chinese. Temporary memory is bounded, unless a long text has no space.
    """
    return b"".join(normalized_chunks(text))


def normalized_chunks(text: str, *, every: bool = False) -> Iterator[bytes]:
    """Yield ``normalize(text)`` in parts of some 100 kB; no token spans two of them.

    With `every`, every character of the text counts.
    """
    for chunk in _chunks(text):
        if every and chunk:
            yield _normalize_unicode(chunk, EVERY_CHARACTER, classify_every)
        elif chunk.isascii():
            yield _with_signs(chunk.encode("ascii").translate(_ASCII))
        else:
            yield _with_signs(_normalize_unicode(chunk, CHARACTERS, classify))


def _with_signs(words: bytes) -> bytes:
    """Separate signs that count from words, and remove the others."""
    if not _RUN.search(words):
        return words
    return _RUN.sub(rb" \g<0> ", _ALONE.sub(b"", _HYPHEN.sub(b" ", words)))


def has_tokens(texts: Collection[str], minimum: int) -> bool:
    """Return whether texts have `minimum` tokens; stops as soon as it knows."""
    for chunk in chain.from_iterable(map(normalized_chunks, texts)):
        minimum -= len(chunk.split())
        if minimum <= 0:
            return True
    return False


def _chunks(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _CHUNK and (gap := _GAP.search(text, start + _CHUNK)):
        yield text[start : gap.start()]
        start = gap.start()
    yield text[start:]


def composed(text: str) -> str:
    """Return `text` in NFC, except for the order of over `_MAX_MARKS` marks in a row. O(n)."""
    marks = unicodedata.combining
    cuts = [
        cut
        for run in _RUN_OF_MARKS.finditer(text)
        for cut in range(run.start() + _MAX_MARKS, run.end(), _MAX_MARKS)
        if marks(text[cut - 1]) and marks(text[cut])
    ]
    parts = pairwise([0, *cuts, len(text)])
    return "".join([unicodedata.normalize("NFC", text[start:end]) for start, end in parts])


def _normalize_unicode(
    text: str, characters: NDArray[np.uint32], note: Callable[[int], int]
) -> bytes:
    codes = np.frombuffer(composed(text).encode("utf-32-le", "surrogatepass"), "<u4")
    found = characters.take(codes, mode="clip")
    if not found.all():
        for code in np.unique(codes[found == 0]).tolist():
            note(code)
        found = characters.take(codes, mode="clip")
    if codes.max() >= _PLANES_0_AND_1:
        han = (codes >= _PLANES_0_AND_1) & (codes < 0x40000)
        found[han] = codes[han] | _TOKEN
        found[codes >> 16 == 0xE] = _DROPPED  # variation selectors, tags
    kinds = found.max()
    if kinds >= _DROPPED:
        found = found[found >> 24 != _DROPPED >> 24]
        if kinds >= _TOKEN:
            found = _part(found)
    if kinds >= _MARK:
        found &= _CHARACTER
    return found.astype("<u4", copy=False).tobytes().decode("utf-32-le").encode()


def _part(found: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Put a space before every character that is a token by itself, and after its marks."""
    bases = np.flatnonzero(found >> 24 != _MARK >> 24)
    token = found[bases] >= _TOKEN
    starts = token.copy()
    starts[1:] |= token[:-1]
    return np.insert(found, bases[starts], _SPACE)


def classify(code: int) -> int:
    """Classify a character of planes 0 and 1, and note the result in `CHARACTERS`."""
    CHARACTERS[code] = entry = _entry(chr(code))
    return entry


def classify_every(code: int) -> int:
    """Do the same for texts in which every character counts, in `EVERY_CHARACTER`."""
    EVERY_CHARACTER[code] = entry = _entry_of_every(chr(code))
    return entry


def _entry(character: str) -> int:
    code, category = ord(character), unicodedata.category(character)
    if (shared := _shared_entry(code, category)) is not None:
        return shared
    if character in SIGNS:
        return code
    if _is_symbol(code, category):
        return int(_TOKEN) | code
    is_other = category != "Cn" or _is_in(_SYMBOLS, code)
    if category[0] not in "LN" and is_other and character != "_":
        return int(_SPACE)
    lower = ord(character.lower()[0])
    return 0x3C3 if lower == 0x3C2 else lower  # sigma, whatever its place in the word


def _entry_of_every(character: str) -> int:
    code, category = ord(character), unicodedata.category(character)
    if (shared := _shared_entry(code, category)) is not None:
        return shared
    if category[0] == "Z" or category in {"Cc", "Cf", "Cs"}:
        return int(_SPACE)
    is_word = category[0] in "LN" or category == "Cn" or character == "_"
    return code if is_word else int(_TOKEN) | code


def _shared_entry(code: int, category: str) -> int | None:
    """Return the entry of a character that counts in the same way in both tables."""
    if (category == "Cf" and code != 0x200B) or 0xFE00 <= code <= 0xFE0F:
        return int(_DROPPED)
    if category[0] == "M":
        return int(_MARK) | code
    if category[0] == "L" and _is_in(_UNSPACED, code):
        return int(_TOKEN) | code
    return None


def _is_symbol(code: int, category: str) -> bool:
    if code < 0x80 or code == 0xFFFD or 0x2500 <= code < 0x2580:  # undecodable; drawn lines
        return False
    if category == "Cn":
        return _is_in(_NEW_SYMBOLS, code)
    return category in {"Sc", "Sm", "So"} or 0x1F3FB <= code < 0x1F400 or code in _OTHER_SYMBOLS
