"""The units of a text (lines, paragraphs, runs of words), and cutting them out of a row.

Units are cut out, or marked; no other byte of the row changes. Ranges are in characters.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from functools import cache
from io import StringIO

import numpy as np

from scrapy_neardup.fingerprints import digest, token_hashes
from scrapy_neardup.fingerprints.hashing import Hashes, Integers
from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.offline.dedupe.joboptions import Unit
from scrapy_neardup.offline.readers.textual import DECODER, Header
from scrapy_neardup.text import normalize

Spans = Sequence[tuple[int, int]]

MARKS = "neardup_repeated"
"""Column of the marks: pairs of start and end, in characters."""

_ESCAPED = re.compile(
    r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\."
)
"""A character that is escaped in a string of JSON."""
_QUOTED = re.compile('""')
"""A quotation mark in a field of CSV."""
_value = DECODER.raw_decode


def without(text: str, spans: Spans) -> str:
    """Return a text without some ranges."""
    kept = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def cut_object(raw: str, column: str, spans: Spans) -> str:
    """Return a JSON object with ranges of a string cut out; of repeated keys the last counts."""
    start, end = _place(raw, column)
    return raw[:start] + _cut(raw[start:end], _ESCAPED, spans) + raw[end:]


def mark_object(raw: str, spans: Spans) -> str:
    """Return a JSON object with the ranges as one more value."""
    end = raw.rindex("}")
    comma = "" if raw[:end].rstrip().endswith("{") else ", "
    return f"{raw[:end]}{comma}{json.dumps(MARKS)}: {json.dumps(spans)}{raw[end:]}"


def cut_record(raw: str, column: str, header: Header, spans: Spans) -> str:
    """Return a CSV record with ranges of a field cut out; of repeated columns the last counts."""
    names, delimiter = header
    number = len(names) - 1 - names[::-1].index(column)
    (values,) = csv.reader(StringIO(raw, newline=""), delimiter=delimiter)
    at, mark = 0, re.escape(delimiter)
    field = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"{mark}\r\n]*))(?={mark}|[\r\n]|\Z)')
    for value in values[: number + 1]:
        found = field.match(raw, at)
        if not found or (found[2] if found[1] is None else found[1].replace('""', '"')) != value:
            return _written_anew(raw, number, values, delimiter, spans)  # not RFC 4180
        at = found.end() + 1
    assert found is not None  # noqa: S101  (a row has its columns)
    start, end = found.span(2 if found[1] is None else 1)
    return raw[:start] + _cut(raw[start:end], _QUOTED, spans) + raw[end:]


def mark_record(raw: str, delimiter: str, spans: Spans | None) -> str:
    """Return a CSV record with the ranges as one more field; with None, the header line."""
    row = raw.rstrip("\r\n")
    value = MARKS if spans is None else f'"{json.dumps(spans)}"'
    return f"{row}{delimiter}{value}{raw[len(row) :]}"


def _place(raw: str, column: str) -> tuple[int, int]:
    """Return the range of the string of a key, without its quotes."""
    place = 0, 0
    at = _next(raw, raw.index("{") + 1)
    while raw[at] != "}":
        name, at = _value(raw, at)
        start = _next(raw, raw.index(":", at) + 1)
        _, at = _value(raw, start)
        if name == column:
            place = start + 1, at - 1
        at = _next(raw, at)
        at = _next(raw, at + 1) if raw[at] == "," else at
    return place


def _next(raw: str, at: int) -> int:
    """Return the place of the next character that isn't white space."""
    while raw[at] in " \t\n\r":
        at += 1
    return at


def _cut(written: str, escape: re.Pattern[str], spans: Spans) -> str:
    """Return the source of a string without ranges of its value; an escape is one character."""
    places = (place for found in escape.finditer(written) for place in found.span())
    starts, ends = np.fromiter(places, np.int64).reshape(-1, 2).T
    longer = np.cumsum(np.append(0, ends - starts - 1))
    edges = np.array(spans, np.int64).reshape(-1, 2)
    edges += longer[np.searchsorted(starts - longer[:-1], edges)]
    return without(written, [(start, end) for start, end in edges.tolist()])


def _written_anew(
    raw: str, number: int, values: Sequence[str], delimiter: str, spans: Spans
) -> str:
    row, end = [*values], raw[len(raw.rstrip("\r\n")) :]
    row[number] = without(row[number], spans)
    csv.writer(target := StringIO(), delimiter=delimiter, lineterminator=end).writerow(row)
    return target.getvalue()


_PATTERNS: dict[Unit, re.Pattern[str]] = {
    # Only the beginnings of lines are tried, so a run of blanks takes linear time.
    "lines": re.compile(r"^[^\n]*\S[^\n]*\n?", re.MULTILINE),
    "paragraphs": re.compile(r"(?:^[^\n]*\S[^\n]*(?:\n|\Z))+(?:^[^\S\n]*\n)*", re.MULTILINE),
}


def spans_of(text: str, kind: Unit, size: int) -> Integers:
    """Return the ranges of the units of a text, int64 (units, 2), in characters.

    Lines that aren't blank, paragraphs (runs of such lines), or all runs of `size` tokens, which
    overlap; each with the white space after it.
    """
    if kind == "substrings":
        starts = np.append(token_starts(text), len(text))
        return np.stack([starts[:-size], starts[size:]], axis=1)
    found = [match.span() for match in _PATTERNS[kind].finditer(text)]
    return np.array(found, np.int64).reshape(-1, 2)


def digests_of(text: str, kind: Unit, size: int) -> Hashes:
    """Return digests of the units of a text, equal for equal units; shape (units,)."""
    if kind == "substrings":
        tokens = token_hashes(text)
        return shingle_hashes(tokens, size) if len(tokens) >= size else tokens[:0]
    spans = spans_of(text, kind, size).tolist()
    return np.array([digest(text[start:end].strip()) for start, end in spans], np.uint64)


def merged(spans: Integers) -> list[tuple[int, int]]:
    """Return spans, in the order of their beginnings, with touching ones merged."""
    found: list[tuple[int, int]] = []
    for start, end in spans.tolist():
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


_SEPARATES, _DROPPED, _MARK, _LETTER, _ALONE = range(5)
"""The effect of a character: ends a word, none, continues any word, continues a word of letters,
is a token."""


@cache
def _kind(character: str) -> int:
    """Return the effect of a character, as `normalize` shows between neighbours."""
    tokens = len(normalize(f"a{character}a").split())
    if not normalize(character).strip():
        return _SEPARATES if tokens == 2 else _DROPPED
    if tokens == 3:
        return _ALONE
    return _MARK if len(normalize(f"\u4e00{character}").split()) == 1 else _LETTER


def token_starts(text: str) -> Integers:
    """Return the position of each token of a text in characters, int64 (tokens,). O(n).

    `text.tokens.normalize`, which makes tokens, doesn't return it. White space belongs to the
    token before it, other characters between two tokens to the token that they touch.
    """
    if not text:
        return np.empty(0, np.int64)
    codes, inverse = np.unique(
        np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"), return_inverse=True
    )
    characters = [*map(chr, codes.tolist())]
    kinds = np.array([*map(_kind, characters)], np.int8)[inverse]
    is_space = np.array([each.isspace() for each in characters])[inverse]
    (places,) = np.nonzero(kinds != _DROPPED)
    kinds = kinds[places]
    is_mark = kinds == _MARK
    # A mark counts like its base; without a base it counts like a letter.
    bases = np.maximum.accumulate(np.where(is_mark, -1, np.arange(len(kinds))))
    same = np.where(bases < 0, _SEPARATES, kinds[bases]) if len(kinds) else kinds
    before = np.concatenate([[_SEPARATES], same[:-1]])
    after_mark = np.concatenate([[False], is_mark[:-1]])
    is_word = (kinds == _LETTER) | (is_mark & (same == _SEPARATES))
    goes_on = (before == _LETTER) | ((before == _SEPARATES) & after_mark)
    starts = places[(kinds == _ALONE) | (is_word & ~goes_on)]
    if len(starts) != len(token_hashes(text)):  # marks that together make another character
        starts = _by_space(text)
    since_space = np.maximum.accumulate(np.where(is_space, np.arange(len(text)) + 1, 0))[starts]
    before = np.concatenate([[-1], starts[:-1]])
    found: Integers = np.where(since_space > before, since_space, starts)
    return found


def _by_space(text: str) -> Integers:
    """Return token positions if tokens without a space between them share the first position."""
    found: list[int] = []
    at = 0
    for part in text.split():
        at = text.index(part, at)
        found += [at] * len(token_hashes(part))
        at += len(part)
    return np.array(found, np.int64)
