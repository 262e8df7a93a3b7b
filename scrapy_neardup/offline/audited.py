"""The pages of audits that hold texts, as they were judged.

Rule of this room: what was left out of a judgement is told apart here as it was there.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.collection import ReadPage
from scrapy_neardup.offline.record import MAX_PAGE
from scrapy_neardup.reports.audit import Entry
from scrapy_neardup.text import OMITTED, Block, Content, Form

_FORMS = {why: form for form, why in OMITTED.items()}


def audited_pages(entries: Iterable[Entry]) -> Iterator[ReadPage]:
    """Yield the pages of audits with texts, each once: title, headings and text.

    Raises
    ------
    InputError
        There is no text in any of them.
    """
    names: set[str] = set()
    for entry in entries:
        if "text" in entry and entry["page"] not in names:
            names.add(entry["page"])
            headings = entry.get("headings") or ()
            yield ReadPage(
                entry["page"],
                Content(
                    title=entry.get("title") or "",
                    headings=(headings,) if isinstance(headings, str) else tuple(headings),
                    blocks=_blocks(unpacked(entry["text"]), entry.get("omitted") or ()),
                ),
            )
    if not names:
        raise InputError(
            "the audit holds no texts; the setting NEARDUP_AUDIT_TEXT = True puts them there"
        )


def unpacked(text: str) -> str:
    """Return a text of an audit, cut off at `MAX_PAGE` bytes; ``""`` for what is none."""
    try:
        packed = base64.b64decode(text, validate=True)
        return zlib.decompressobj().decompress(packed, MAX_PAGE).decode(errors="replace")
    except (ValueError, zlib.error):
        return ""


def _blocks(text: str, omitted: Iterable[object]) -> list[Block]:
    """Return a block for each form: an audit doesn't tell where in a page its lines stand."""
    parts: dict[Form, list[str]] = {Form.CONTENT: []}
    end = 0
    for part in omitted:
        match part:
            case [int(start), int(stop), str(why)] if end <= start < stop and why in _FORMS:
                parts[Form.CONTENT].append(text[end:start])
                parts.setdefault(_FORMS[why], []).append(text[start:stop])
                end = stop
    parts[Form.CONTENT].append(text[end:])
    return [Block("\n".join(said), form, 0) for form, said in parts.items()]
