"""Tokens, hashes and simhash once more, in plain Python and from their definitions.

Slow and simple, one character and one bit at a time; the package must agree bit for bit.
"""

import math
import unicodedata
from collections import Counter
from fractions import Fraction
from hashlib import blake2b

WORD = 1 << 64

UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF),
    (0x3005, 0x3007), (0x3021, 0x303C), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xA9E0, 0xA9FF), (0xAA60, 0xAADF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F),
    (0x1AFF0, 0x1B16F),
)  # fmt: skip
SYMBOLS = ((0x2000, 0x2BFF), (0x2E00, 0x2E7F), (0x1CC00, 0x1CEBF), (0x1F000, 0x1FBFF))
SIGNS = "#$%&*+-<=>@^|~"
WIDE = "\u2030\u2031\uff03\uff05\uff06\uff0a\uff20"
NEW_SYMBOLS = ((0x20A0, 0x20CF), (0x2100, 0x2BFF), *SYMBOLS[2:])


def within(character: str, blocks: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(character) <= last for first, last in blocks)


def kind(character: str) -> str:  # noqa: C901, PLR0911  (a list of rules)
    """'drop', 'mark', 'token' (a character that is one by itself), 'word', 'sign' or 'space'."""
    code = ord(character)
    category = unicodedata.category(character)
    if code >= 0xF0000:
        return "space"
    if code >> 16 == 0xE:
        return "drop"
    if code >> 16 >= 4:
        return "space"
    if code >> 16 >= 2:
        return "token"
    if (category == "Cf" and character != "\u200b") or 0xFE00 <= code <= 0xFE0F:
        return "drop"
    if category.startswith("M"):
        return "mark"
    if category.startswith("L"):
        return "token" if within(character, UNSPACED) else "word"
    if category.startswith("N") or character == "_":
        return "word"
    if character in SIGNS:
        return "sign"
    if category == "Cn":
        if within(character, NEW_SYMBOLS) and not within(character, ((0x2500, 0x257F),)):
            return "token"
        return "space" if within(character, SYMBOLS) else "word"
    if code < 0x80 or character == "\ufffd" or 0x2500 <= code <= 0x257F:
        return "space"
    is_symbol = category in ("Sc", "Sm", "So") or 0x1F3FB <= code <= 0x1F3FF
    return "token" if is_symbol or character in WIDE else "space"


def tokens(text: str) -> list[str]:
    # Words and runs of signs, None for what is between.
    parts: list[tuple[str, str] | None] = [None]
    closed = False  # the last token takes nothing but marks
    for character in unicodedata.normalize("NFC", text):
        what = kind(character)
        if what == "drop":
            continue
        last = parts[-1]
        if what == "space":
            parts.append(None)
            closed = False
            continue
        lower = character.lower()[0] if what == "word" else character
        lower = "\u03c3" if lower == "\u03c2" else lower  # a final sigma is a sigma
        group = "sign" if what == "sign" else "word"
        goes_on = last is not None and last[0] == group and (what == "mark" or not closed)
        if goes_on and what != "token":
            parts[-1] = (group, last[1] + lower)
        else:
            if closed or what == "token":
                parts.append(None)
            parts.append((group, lower))
            closed = what == "token"
    parts.append(None)
    found = []
    for before, part, after in zip(parts, parts[1:], parts[2:], strict=False):
        if part is None:
            continue
        what, run = part
        if what == "sign":
            between = before is not None and after is not None
            if (run == "-" and between) or not (before or after or run in ("+", "=")):
                continue
        found.append(run)
    return found


def secret(key: bytes | None) -> bytes:
    return b"" if key is None else blake2b(key, person=b"neardup-key").digest()


def constants(key: bytes | None) -> tuple[int, int, int]:
    if key is None:
        return 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
    stream = blake2b(digest_size=24, key=secret(key), person=b"neardup-mixer").digest()
    seed, m1, m2 = (int.from_bytes(stream[i : i + 8], "little") for i in (0, 8, 16))
    return seed, m1 | 1, m2 | 1


def mix(value: int, m1: int = 0xBF58476D1CE4E5B9, m2: int = 0x94D049BB133111EB) -> int:
    value ^= value >> 30
    value = value * m1 % WORD
    value ^= value >> 27
    value = value * m2 % WORD
    return value ^ value >> 31


def token_hash(token: str, key: bytes | None = None) -> int:
    data = token.encode()
    if len(data) > 64:
        state = blake2b(data, digest_size=8, key=secret(key), person=b"neardup-token")
        return int.from_bytes(state.digest(), "little")
    value, m1, m2 = constants(key)
    for start in range(0, len(data), 8):
        value = mix(value ^ int.from_bytes(data[start : start + 8], "little"), m1, m2)
    return value


def shingle_hash(hashes: list[int]) -> int:
    value = 0
    for token in hashes:
        value = value * 0xD6E8FEB86659FD93 % WORD
        value = ((value ^ value >> 32) + token) % WORD
    return mix(value)


def shingles(text: str, size: int = 3, key: bytes | None = None) -> Counter[int]:
    hashes = [token_hash(token, key) for token in tokens(text)]
    size = min(size, len(hashes))
    runs = range(len(hashes) - size + 1) if hashes else ()
    return Counter(shingle_hash(hashes[start : start + size]) for start in runs)


WEIGHTS = {
    "set": lambda count: 1,
    "tf": lambda count: count,
    "sqrt": math.sqrt,
    "log": lambda count: 1 + math.log(count),
}


def simhash_of(weights: dict[int, float]) -> int:
    """Vote on every bit, with exact arithmetic; a tie leaves it clear."""
    result = 0
    for bit in range(64):
        votes = Fraction(0)
        for feature, weight in weights.items():
            rounded = Fraction(round(Fraction(weight) * 2**16), 2**16)
            votes += rounded if feature >> bit & 1 else -rounded
        result |= (votes > 0) << bit
    return result


def simhash(text: str, size: int = 3, weights: str = "set", key: bytes | None = None) -> int:
    weigh = WEIGHTS[weights]
    return simhash_of({h: weigh(count) for h, count in shingles(text, size, key).items()})
