"""Reading and checking the lines of audit files, which ``crawl/audit.py`` writes."""

from __future__ import annotations

import json
import logging
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator
from datetime import datetime
from types import NoneType
from typing import Any

from scrapy_neardup.errors import InputError
from scrapy_neardup.verdict import Decision

_log = logging.getLogger(__name__)

Entry = dict[str, Any]
"""A line of an audit, a verdict or an event such as ``orphaned``, with the keys of the file, page
ids as numbers, and the time as a POSIX time in seconds."""

_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("time", "page", "id", "verdict", "reason", "action", "difference"), str),
    **dict.fromkeys(("kind", "showed", "followed"), str),
    **dict.fromkeys(("version", "spider", "store", "preset", "host", "place", "claim"), str),
    **dict.fromkeys(("of", "of_id", "detail", "rule", "found", "title"), (str, NoneType)),
    **dict.fromkeys(("text", "paths"), (str, NoneType)),
    **dict.fromkeys(("distance", "tokens", "links"), (int, NoneType)),
    **dict.fromkeys(("resemblance", "threshold"), (float, int, NoneType)),
    **dict.fromkeys(("headings", "learnt", "omitted"), (list, NoneType)),
    **dict.fromkeys(("pages", "rules", "part", "selectors", "changing"), list),
    **dict.fromkeys(("example", "counter"), (list, NoneType)),
    **dict.fromkeys(("count", "row", "ended", "covered", "withheld", "checks"), int),
    "settings": dict,
}
"""Key -> type of its value, if the key is present."""

_KEYS = {
    event: {"time", *keys.split()}
    for event, keys in {
        None: "page id verdict reason action",
        "orphaned": "of_id count pages",
        "differ": "of_id difference",
        "skipped": "page rules",
        "experiment": "kind page of showed followed",
        "refetched": "page place selectors changing",
        "claim": "host place part claim row ended covered withheld checks",
        "begun": "version spider store preset settings",
    }.items()
}
"""Event (None for a verdict) -> keys that its line must have."""

_DECISIONS = set(Decision)

MAX_TEXT = 1 << 26
"""Maximum size in bytes of a decompressed text."""


def entries(lines: Iterable[bytes], name: str) -> Iterator[Entry]:
    """Yield the entries of an audit from its lines in UTF-8; errors call it `name`.

    Lines that aren't JSON are left out with a warning, because a crash of the machine may have cut
    one; but the first one is an error.
    """
    number = torn = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            if number == 1:
                raise InputError(
                    f"{name}: not an audit, its first line is no JSON object"
                ) from None
            torn += 1
            continue
        if (fault := _fault(entry) or _converted(entry)) is not None:
            raise InputError(
                f"{name}, line {number}: not a line of an audit ({fault}); the setting"
                " NEARDUP_AUDIT names the file that a crawl of this version writes"
            )
        yield entry
    if not number:
        raise InputError(
            f"{name}: is empty; the setting NEARDUP_AUDIT fills it while a crawl runs"
        )
    if torn:
        _log.warning("%s: lines that a crash of the machine has cut, left out: %d", name, torn)


def unpacked(text: str) -> str:
    """Return a text of an audit, cut off at `MAX_TEXT` bytes; ``""`` for an invalid value."""
    try:
        packed = b64decode(text, validate=True)
        return zlib.decompressobj().decompress(packed, MAX_TEXT).decode(errors="replace")
    except (ValueError, zlib.error):
        return ""


def _fault(entry: object) -> str | None:
    """Return why an entry is wrong, or None."""
    if not isinstance(entry, dict):
        return "no JSON object"
    event = entry.get("event")
    if not isinstance(event, str | None) or event not in _KEYS:
        return f"unknown event {str(event)[:40]!r}"
    if missing := _KEYS[event] - entry.keys():
        return f'no "{min(missing)}"'
    for key, value in entry.items():
        if not isinstance(value, _KINDS.get(key, object)):
            return f'"{key}" is {str(value)[:40]!r}'
    if event is None and entry["verdict"] not in _DECISIONS:
        return f"unknown verdict {entry['verdict'][:40]!r}"
    return None


def _converted(entry: Entry) -> str | None:
    """Convert ids and the time into numbers; return why they are wrong, or None."""
    try:
        entry["time"] = datetime.fromisoformat(entry["time"]).timestamp()
        for key in ("id", "of_id"):
            if entry.get(key) is not None:
                entry[key] = int(entry[key], 16)
    except (ValueError, OverflowError) as error:
        return str(error)
    return None
