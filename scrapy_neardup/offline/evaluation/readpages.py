"""The pages of a collection or an audit as they are judged: names and contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.jobs.scanning import read
from scrapy_neardup.offline.readers.record import Record
from scrapy_neardup.reports.auditlines import Entry, unpacked
from scrapy_neardup.text import OMITTED, Block, Content, Form

_FORMS = {why: form for form, why in OMITTED.items()} | {"named as furniture": Form.NAMED}
"""Reason in an audit -> form of the text; the last is one of earlier versions."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page: its URL, or where it was found, and its content; None where it can't be read."""

    name: str
    content: Content | None


def read_pages(records: Iterable[Record], analyser: Analyser) -> Iterator[ReadPage]:
    """Yield the pages of records, as `scan` reads them."""
    for record in records:
        content = read(record, analyser)
        yield ReadPage(record.page, content if isinstance(content, Content) else None)


def audited_pages(entries: Iterable[Entry]) -> Iterator[ReadPage]:
    """Yield the pages of audits with texts, each once: title, headings and text."""
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


def _blocks(text: str, omitted: Iterable[object]) -> list[Block]:
    """Return a block for each form: an audit doesn't say where in a page its lines are."""
    parts: dict[Form, list[str]] = {Form.CONTENT: []}
    end = 0
    for part in omitted:
        match part:
            case [int(start), int(stop), str(why)] if end <= start < stop and why in _FORMS:
                parts[Form.CONTENT].append(text[end:start])
                parts.setdefault(_FORMS[why], []).append(text[start:stop])
                end = stop
    parts[Form.CONTENT].append(text[end:])
    return [Block("\n".join(texts), form, 0) for form, texts in parts.items()]
