"""Editions: folders or hosts whose pages repeat each other, one by one, under the same names.

Rule of this module: two folders are editions if several pages of one resemble the pages of the
same name in the other. Then their titles need not agree: an edition has another version or
language, or another site's name, in its titles.
"""

from __future__ import annotations

from scrapy_neardup.bounded import BoundedDict

SHOWN, SHOWN_LATER = 8, 3
"""Number of pages that must resemble the page of the same name in another folder: for the first
pair of folders of a site, and for further pairs."""

_MAX_PAIRS = 256
"""Maximum number of pairs of folders that are counted, those met last."""
_MAX_KNOWN = 2048
"""Maximum number of pairs of folders that are known for editions."""


class Editions:
    """What is known of the editions on one site."""

    def __init__(self) -> None:
        # What the steps of two addresses differ by -> pages.
        self._pages: BoundedDict[int, set[int]] = BoundedDict(_MAX_PAIRS)
        self.known: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """Return how many entries are held."""
        return len(self.known) + sum(map(len, self._pages.values()))

    def is_known(self, ours: int, theirs: int) -> bool:
        """Return whether pages of these steps teach nothing: of one edition, or of known ones."""
        apart = (ours - theirs) % 2**32
        return not apart or apart in self.known

    def learn(self, ours: int, theirs: int) -> bool:
        """Note that two pages of these steps resemble each other; return whether that is new."""
        if self.is_known(ours, theirs):
            return False
        apart = (ours - theirs) % 2**32
        pages = self._pages.setdefault(min(apart, -apart % 2**32), set())
        self._pages.move_to_end(min(apart, -apart % 2**32))
        pages.add(min(ours, theirs))
        if len(pages) < (SHOWN_LATER if self.known else SHOWN):
            return False
        # Editions of editions are editions: a third language, another version in it.
        both = {apart, -apart % 2**32}
        if len(self.known) < _MAX_KNOWN:
            both |= {(one + other) % 2**32 for one in self.known for other in both}
        self.known |= both - {0}
        return True

    def dump(self) -> list[int]:
        """Return what is known."""
        return sorted(self.known)

    def state(self) -> tuple[list[int], list[tuple[int, list[int]]]]:
        """Return what is known, and the pages that have been seen for what isn't yet."""
        return self.dump(), [(apart, sorted(pages)) for apart, pages in self._pages.items()]

    def restore(self, state: tuple[list[int], list[tuple[int, list[int]]]]) -> None:
        """Go on from a `state`."""
        known, seen = state
        self.known = frozenset(known)
        self._pages.update((apart, set(pages)) for apart, pages in seen)

    def add_others(self, dumps: list[list[int]]) -> None:
        """Take over what others know."""
        self.known = self.known.union(*dumps)
