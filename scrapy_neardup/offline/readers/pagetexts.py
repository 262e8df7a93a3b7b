"""The texts of pages, read as `scan` reads them; one that can't be read has no text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.joins import words
from scrapy_neardup.offline.readers.record import Record
from scrapy_neardup.settings.catalogue import View
from scrapy_neardup.text import Extractor, looks_like_html, parse_html


class Texts:
    """The texts of records, read once; `names` and numbers of `tokens` are of the pages read.

    `view` is the part of a page that counts, ``"main"`` or ``"full"``, without the CSS selectors
    of `ignore`.
    """

    def __init__(
        self, records: Iterable[Record], view: View = "main", ignore: Sequence[str] = ()
    ) -> None:
        self._records = records
        self._extractor = Extractor(mode=view, ignore=tuple(ignore))
        self.names: list[str] = []
        self.tokens: list[int] = []

    def units(self, units: Callable[[str], list[bytes]] = words) -> Iterator[list[bytes]]:
        """Yield every page's words, or other `units` of its text."""
        for record, text in self.texts():
            found = units(text)
            self._remember(record, len(found))
            yield found

    def shingle_hashes(self, size: int) -> Iterator[NDArray[np.uint64]]:
        """Yield the hashes of every page's shingles of `size` words; distinct, increasing."""
        for record, text in self.texts():
            hashes = token_hashes(text)
            self._remember(record, len(hashes))
            yield features(hashes, shingle_size=size)[0]

    def _remember(self, record: Record, tokens: int) -> None:
        self.names.append(record.page)
        self.tokens.append(tokens)

    def texts(self) -> Iterator[tuple[Record, str]]:
        """Yield the records, each with its text."""
        for record in self._records:
            yield record, self._text(record)

    def _text(self, record: Record) -> str:
        if not record.html:
            return record.text or ""
        if not looks_like_html(record.html, record.content_type, record.page):
            return ""
        try:
            root = parse_html(record.html, record.encoding)
        except InputError:
            return ""
        return self._extractor.extract(root).text
