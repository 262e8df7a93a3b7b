"""Names of columns, and the pages in rows with these columns, in any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import MAX_PAGE, FoundPage, printable, unicode_of
from scrapy_neardup.urls import redact


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of columns; ``metadata.url`` is the field ``url`` of the column ``metadata``.

    A file needs `html` or `text`; None means that there is no such column. A page's name is its
    `id`, if one is named, or its `url`, or ``FILE:ROW``. `others` are read, too. `hint` tells the
    user of a file with neither content how to name another column.
    """

    html: str | None = "html"
    text: str | None = "text"
    url: str = "url"
    id: str | None = None
    others: tuple[str, ...] = ()
    hint: str = ""

    @property
    def contents(self) -> tuple[str, ...]:
        """The columns of content; a file needs one of them."""
        return tuple(name for name in (self.html, self.text) if name)

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that the user has named; a file needs all of them."""
        named = self.id, self.url if self.url != "url" else None
        return (*filter(None, named), *self.others)

    @property
    def names(self) -> tuple[str, ...]:
        """All distinct columns."""
        return tuple(dict.fromkeys((*self.contents, self.url, *self.required)))

    def quoted(self) -> str:
        """Return the names of the contents, for an error message."""
        return " or ".join(f'"{name}"' for name in self.contents) + self.hint


USUAL = Columns()
"""The columns that `scrapy-neardup scan` reads by default."""


def present(known: Sequence[str], path: str, columns: Columns) -> list[str]:
    """Return the columns to read, in the order of the file."""
    others = shorten(", ".join(known), 200)
    missing = [] if {*columns.contents} & {*known} else [columns.quoted()]
    missing += [f'"{name}"' for name in columns.required if name not in known]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]} but {others}")
    wanted = [name for name in known if name in columns.names]
    if len(set(wanted)) < len(wanted):
        raise InputError(f"{path}: has several columns of one name: {others}")
    return wanted


_MISSING = object()


def inside(item: Any, name: str) -> Any:
    """Return the value of an object's key, or of a field of it: ``a.b``."""
    if not isinstance(item, dict):
        return _MISSING
    outer, _, inner = name.partition(".")
    if name in item or not inner:
        return item.get(name, _MISSING)
    return inside(item.get(outer), inner)


def page_of(item: Any, columns: Columns, where: str, path: str, number: int) -> FoundPage:
    """Return the page of a JSON object; the objects of its file are numbered from 1."""
    found = {name: inside(item, name) for name in columns.names}
    values = {name: value for name, value in found.items() if value is not _MISSING}
    if not values.keys() & set(columns.contents):
        if isinstance(item, dict) and {"time", "event"} <= item.keys():
            raise InputError(f"{where}: an audit, not pages; report and tune --audit read audits")
        others = (
            f" but {shorten(', '.join(map(str, item)), 200)}" if isinstance(item, dict) else ""
        )
        raise InputError(f"{where}: not an object with {columns.quoted()}{others}")
    for name in columns.required:
        if name not in values:
            raise InputError(f'{where}: has no "{name}"')
    return record_of(values, columns, where, path, number)


def record_of(
    item: Mapping[str, Any],
    columns: Columns,
    where: str,
    path: str,
    number: int,
    *,
    encoding: str | None = None,
) -> FoundPage:
    """Return the page of a row, which may lack values; `encoding` is that of HTML in bytes."""
    url = _string(item, columns.url, where)
    html = (columns.html and _string(item, columns.html, where)) or None
    text = _string(item, columns.text, where) if columns.text else None
    name = item.get(columns.id) if columns.id else None
    if isinstance(name, bytes):  # the original one is written
        name = name.decode("utf-8", "surrogateescape")
    content: dict[str, Any] = {}
    if len(html or text or "") <= MAX_PAGE:
        content = {
            "html": unicode_of(html).encode() if isinstance(html, str) else html,
            "text": unicode_of(text or "") if html is None else None,
            "content_type": None if html is None else "text/html",
            "encoding": encoding if isinstance(html, bytes) else "utf-8",
        }
    return FoundPage(
        page=redact(unicode_of(url)) if url else f"{printable(path)}:{number}",
        url=None if url is None else unicode_of(url),
        row=number - 1,
        id=None if name is None or name == "" else str(name),
        values={name: item.get(name) for name in columns.others} if columns.others else None,
        **content,
    )


def _string(item: Mapping[str, Any], key: str, where: str) -> str | bytes | None:
    value = item.get(key)
    if value is not None and not isinstance(value, str | bytes):
        raise InputError(f'{where}: "{key}" must be a string, not {type(value).__name__}')
    return value
