"""Pages of a collection, read and named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.offline.record import Record
from scrapy_neardup.offline.scan import read
from scrapy_neardup.text import Content


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page of a collection, read.

    Parameters
    ----------
    name
        What it is called: its URL, or where it was found.
    content
        What it says; None where it can't be read.
    """

    name: str
    content: Content | None


def read_pages(records: Iterable[Record], analyser: Analyser) -> Iterator[ReadPage]:
    """Yield the pages of records, as `scan` reads them."""
    for record in records:
        content = read(record, analyser)
        yield ReadPage(record.page, content if isinstance(content, Content) else None)
