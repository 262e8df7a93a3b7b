"""The URLs of a host that are known, and the contents that they show.

They are kept as hashes, each under its own key and without each of its parameters, so that its
relatives are found by some look-ups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scrapy_neardup.claims.hashtable import HashTable
from scrapy_neardup.claims.part import PARAMETER, PATH_PARAMETER, Part, parts_of
from scrapy_neardup.claims.urlparts import Parts, key_of

MAX_DERIVED: Final = 4_096
"""Maximum number of cells for URLs without the parts that claims in force are about."""


class KnownUrls:
    """The known URLs of one host."""

    __slots__ = ("_derived", "_fetched")

    def __init__(self) -> None:
        self._fetched = HashTable()
        self._derived = HashTable(MAX_DERIVED)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self._fetched.nbytes + self._derived.nbytes

    def is_fetched(self, page: Parts) -> bool:
        """Whether this very URL was fetched."""
        return self._fetched.get(key_of(page)) is not None

    def shows(self, page: Parts) -> int | None:
        """Return the content of a URL; None if it isn't known."""
        return self._get(key_of(page))

    def with_part(self, part: Part, without: Parts) -> int | None:
        """Return the content of a URL that has a part, with any value, that `without` lacks."""
        return self._get(part.key(without))

    def relatives(self, part: Part, without: Parts) -> Iterator[int]:
        """Yield the contents of URLs that differ from a page in a part alone."""
        found = [self.shows(without)]
        if part.kind in {PARAMETER, PATH_PARAMETER}:
            found.append(self.with_part(part, without))
        yield from dict.fromkeys(each for each in found if each is not None)

    def add(self, page: Parts, canonical: Parts, content: int) -> None:
        """Note the content of a URL, and of it without the parts that have no effect."""
        for each, table in {canonical: self._derived, page: self._fetched}.items():
            table.put(key_of(each), content)
            for part in parts_of(each):
                table.put(part.key(part.without(each)), content)

    def forget(self, page: Parts) -> int | None:
        """Forget the content of a URL, and with it all URLs that have it; return its number."""
        if (content := self.shows(page)) is not None:
            self._fetched.discard(content)
            self._derived.discard(content)
        return content

    def forget_derived(self) -> None:
        """Forget what claims have said, as one of them has ended."""
        self._derived.clear()

    def _get(self, key: int) -> int | None:
        shown = self._fetched.get(key)
        return self._derived.get(key) if shown is None else shown
