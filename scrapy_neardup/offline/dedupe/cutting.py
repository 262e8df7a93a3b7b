"""Cutting parts of a text out of a row, or marking them; no other byte of the row changes.

Ranges are in characters of the text; `spans` are those of `within.merged`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from io import StringIO

from scrapy_neardup.offline.readers.textual import DECODER

Spans = Sequence[tuple[int, int]]

MARKS = "neardup_repeated"
"""Column of the marks: pairs of start and end, in characters."""

_ESCAPED = re.compile(
    r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
"""A character in a string of JSON."""
_QUOTED = re.compile(r'""|[^"]', re.DOTALL)
"""A character in a field of CSV."""
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
    return raw[:start] + _cut(raw[start:end], _ESCAPED, "\\", spans) + raw[end:]


def mark_object(raw: str, spans: Spans) -> str:
    """Return a JSON object with the ranges as one more value."""
    end = raw.rindex("}")
    comma = "" if raw[:end].rstrip().endswith("{") else ", "
    return f"{raw[:end]}{comma}{json.dumps(MARKS)}: {json.dumps(spans)}{raw[end:]}"


def cut_record(raw: str, number: int, values: Sequence[str], delimiter: str, spans: Spans) -> str:
    """Return a CSV record with ranges of one field cut out."""
    at, mark = 0, re.escape(delimiter)
    field = re.compile(rf'(?:"((?:""|[^"])*)"|([^"{mark}\r\n]*))(?={mark}|[\r\n]|\Z)')
    for value in values[: number + 1]:
        found = field.match(raw, at)
        if not found or (found[2] if found[1] is None else found[1].replace('""', '"')) != value:
            return _written_anew(raw, number, values, delimiter, spans)  # no RFC 4180
        at = found.end() + 1
    assert found is not None  # noqa: S101  (a row has its columns)
    start, end = found.span(2 if found[1] is None else 1)
    return raw[:start] + _cut(raw[start:end], _QUOTED, '"', spans) + raw[end:]


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


def _cut(written: str, character: re.Pattern[str], escape: str, spans: Spans) -> str:
    """Return the source of a string without ranges of its value."""
    if escape not in written:
        return without(written, spans)
    starts = [found.start() for found in character.finditer(written)]
    starts.append(len(written))
    return without(written, [(starts[start], starts[end]) for start, end in spans])


def _written_anew(
    raw: str, number: int, values: Sequence[str], delimiter: str, spans: Spans
) -> str:
    row, end = [*values], raw[len(raw.rstrip("\r\n")) :]
    row[number] = without(row[number], spans)
    csv.writer(target := StringIO(), delimiter=delimiter, lineterminator=end).writerow(row)
    return target.getvalue()
