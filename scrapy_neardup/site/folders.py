"""The folders of a site: ``//example.com/docs/4.1/`` is one, and so is each folder above it."""

from __future__ import annotations

from typing import Any, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.site.counts import MIN_PAGES
from scrapy_neardup.urls import MAX_DEPTH

MAX_FOLDERS: Final = 256
"""Maximum number of folders of a site of which something is known: those used last."""

_MAX_COUNTED: Final = 4096
"""Maximum number of folders of a site whose pages are counted, those used last."""


class Folders:
    """How many kept pages each folder of a site has, those below it included."""

    def __init__(self) -> None:
        # Folder -> its chain, pages.
        self._known: BoundedDict[int, tuple[tuple[int, ...], int]] = BoundedDict(_MAX_COUNTED)
        self._others: dict[int, int] = {}

    def __len__(self) -> int:
        """Return how many entries are held."""
        return len(self._known) + len(self._others)

    def learn(self, chain: tuple[int, ...]) -> None:
        """Count a kept page."""
        for depth, folder in enumerate(chain, start=1):
            _, pages = self._known.get(folder, ((), 0))
            self._known[folder] = chain[:depth], pages + 1
            self._known.move_to_end(folder)

    def chain(self, host: int, folder: int) -> tuple[int, ...]:
        """Return the folders that lead to one, its host first; of an unknown one the host."""
        return self._known.get(folder, ((host,), 0))[0]

    def pages(self, folder: int) -> int:
        """Return the number of a folder's kept pages that were counted here."""
        return self._known.get(folder, ((), 0))[1]

    def has_few_pages(self, folder: int) -> bool:
        """Return whether too few pages are known to tell what those of a folder share."""
        return self.pages(folder) + self._others.get(folder, 0) < MIN_PAGES

    def dump(self) -> list[list[Any]]:
        """Return the counts made here."""
        return [[*chain, pages] for chain, pages in self._known.values()]

    def restore(self, dump: list[list[int]]) -> None:
        """Continue from a `dump`; raise ValueError or TypeError for anything else."""
        for chain, pages in map(_checked, dump):
            self._known[chain[-1]] = chain, pages

    def add_others(self, dumps: list[list[list[int]]]) -> None:
        """Take over what others have counted, in place of what they had before."""
        summed: dict[int, int] = {}
        for dump in dumps:
            for chain, pages in map(_checked, dump[:_MAX_COUNTED]):
                summed[chain[-1]] = summed.get(chain[-1], 0) + pages
                self._known.setdefault(chain[-1], (chain, 0))
        self._others = summed


def _checked(entry: list[int]) -> tuple[tuple[int, ...], int]:
    *chain, pages = entry
    if not 1 <= len(chain) <= MAX_DEPTH + 1 or any(type(each) is not int for each in entry):
        raise ValueError("this is no folder")
    return tuple(chain), min(max(pages, 0), 1 << 32)
