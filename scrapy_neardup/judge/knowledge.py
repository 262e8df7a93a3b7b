"""What is known of a site, and which parts of its pages don't count by it.

A site has folders: ``//example.com/docs/4.1/`` is one, and so is each folder above it.

A new kind of knowledge is a subclass of `SiteRule`, an instance among a site's `rules`, and tests.
A rule applies only to pages of its own site: knowledge about one host never says anything about
pages of another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.counts import MIN_PAGES
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sketch import marked
from scrapy_neardup.settings.catalogue import OPTIONS
from scrapy_neardup.urls import MAX_DEPTH

MEDIA: Final = 0
"""The media of a page, among its DOM paths, which are never 0."""


class SharedShingles:
    """Shingles that pages share, and their sketches until they change."""

    def __init__(self) -> None:
        self.shingles: NDArray[np.uint64] = np.empty(0, np.uint64)
        """Those of both kinds, ascending; the low bit of each is its kind."""
        self.of_any_kind = self.shingles
        """The same with each low bit set."""
        self._sketches: dict[tuple[int, int], int] = {}

    def set(self, shingles: NDArray[np.uint64]) -> None:
        """Replace the shingles, ascending."""
        self.shingles, self.of_any_kind = shingles, shingles | np.uint64(1)
        self._sketches.clear()

    def sketch(self, size: int, level: int) -> int:
        """Return the bits of their sketch: of both kinds, as templates name other elements."""
        if (size, level) not in self._sketches:
            bits = marked(self.of_any_kind, size, level)
            self._sketches[size, level] = int.from_bytes(bits, "little")
        return self._sketches[size, level]

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up."""
        return 2 * self.shingles.nbytes + sum(size for size, _ in self._sketches)


def outside(rows: NDArray[np.uint64], shared: Sequence[SharedShingles]) -> NDArray[np.uint64]:
    """Return those of a page's shingles that no folder's pages share; all if none are left."""
    if not shared:
        return rows
    left, asked = rows, rows | np.uint64(1)
    for each in shared:
        known = each.of_any_kind
        kept = known.take(known.searchsorted(asked), mode="clip") != asked
        left, asked = left[kept], asked[kept]
    return left if len(left) else rows


class Excluded(NamedTuple):
    """The parts of a page that don't count, and those that tell pages apart."""

    segments: frozenset[int] = frozenset()
    """Segments of its title that belong to the site."""
    paths: frozenset[int] = frozenset()
    """DOM paths whose text changes with each response."""
    media: bool = False
    """Whether its media change with each response."""
    shared: tuple[SharedShingles, ...] = ()
    """Boilerplate of its folders, and text that changes with each response."""
    by: tuple[str, ...] = ()
    """Kinds of knowledge behind these exclusions."""
    records: frozenset[int] = frozenset()
    """DOM paths whose text tells records apart."""
    canonicals: bool = False
    """Whether canonical addresses of its site mean nothing."""

    def plus(self, other: Excluded) -> Excluded:
        """Return the union of two exclusions."""
        return Excluded(
            self.segments | other.segments,
            self.paths | other.paths,
            self.media or other.media,
            self.shared + other.shared,
            self.by + other.by,
            self.records | other.records,
            self.canonicals or other.canonicals,
        )


NOTHING: Final = Excluded()


class Knowledge:
    """Knowledge about sites; this class knows nothing, `scrapy_neardup.judge.sites` learns."""

    def exclude(self, evidence: Evidence) -> Excluded:  # noqa: ARG002
        """Return the parts of a page that don't count, by what its site has shown."""
        return NOTHING

    def has_few_pages(self, ours: Evidence, theirs: Evidence) -> bool:  # noqa: ARG002
        """Return whether too few pages are known to tell boilerplate from content of two pages.

        This is so if their deepest common folder has few kept pages; for pages of two hosts,
        if either host has few.
        """
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything on which a comparison depends besides the two pages."""

    knowledge: Knowledge = field(default_factory=Knowledge)
    min_resemblance: float = OPTIONS["min_resemblance"].default
    """Minimum resemblance of near-duplicates."""
    min_tokens: int = OPTIONS["min_tokens"].default
    """Number of shingles that count below which pages must be equal."""
    titles: str = OPTIONS["titles"].default
    """Whether titles count: ``"learn"``, ``"strict"``, ``"ignore"``."""
    is_exact: bool = False
    """Whether only equal pages are near-duplicates, apart from text that changes."""
    prefers_canonical: bool = False
    """Whether a page doesn't repeat another one that names it as its canonical page."""


NOTHING_KNOWN: Final = Context()


MAX_FOLDERS: Final = 256
"""Maximum number of folders of a site with knowledge; those used last stay."""

_MAX_COUNTED: Final = 4096
"""Maximum number of folders of a site whose pages are counted; those used last stay."""


class Folders:
    """The number of kept pages in each folder of a site, including folders below it."""

    def __init__(self) -> None:
        # Folder -> its chain, pages.
        self._known: BoundedDict[int, tuple[tuple[int, ...], int]] = BoundedDict(_MAX_COUNTED)
        self._others: dict[int, int] = {}
        self._places: BoundedDict[int, int] = BoundedDict(_MAX_COUNTED)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._known) + len(self._others) + len(self._places)

    def note(self, folder: int, place: int) -> None:
        """Note the place (`Address.place`) of a folder's pages."""
        if self._places.get(folder) != place:
            self._places[folder] = place

    def place(self, folder: int) -> int:
        """Return the place of a folder's pages; for an unknown folder, the folder."""
        return self._places.get(folder, folder)

    def learn(self, chain: tuple[int, ...]) -> None:
        """Count a kept page."""
        for depth, folder in enumerate(chain, start=1):
            _, pages = self._known.get(folder, ((), 0))
            self._known[folder] = chain[:depth], pages + 1
            self._known.move_to_end(folder)

    def chain(self, host: int, folder: int) -> tuple[int, ...]:
        """Return the folders that lead to a folder, host first; for an unknown one the host."""
        return self._known.get(folder, ((host,), 0))[0]

    def pages(self, folder: int) -> int:
        """Return the number of a folder's pages that were counted here."""
        return self._known.get(folder, ((), 0))[1]

    def has_few_pages(self, folder: int) -> bool:
        """Return whether too few pages of a folder are known to tell what they share."""
        return self.pages(folder) + self._others.get(folder, 0) < MIN_PAGES

    def dump(self) -> list[list[Any]]:
        """Return the counts, and the places of the folders; 0 for none."""
        return [
            [*chain, pages, self._places.get(folder, 0)]
            for folder, (chain, pages) in self._known.items()
        ]

    def restore(self, dump: list[list[int]]) -> None:
        """Continue from a `dump`; raise ValueError or TypeError for anything else."""
        for chain, pages, place in map(_checked, dump):
            self._known[chain[-1]] = chain, pages
            self._learn_place(chain[-1], place)

    def add_others(self, dumps: list[list[list[int]]]) -> None:
        """Replace the counts of other crawlers by newer ones."""
        summed: dict[int, int] = {}
        for dump in dumps:
            for chain, pages, place in map(_checked, dump[:_MAX_COUNTED]):
                summed[chain[-1]] = summed.get(chain[-1], 0) + pages
                self._known.setdefault(chain[-1], (chain, 0))
                self._learn_place(chain[-1], place)
        self._others = summed

    def _learn_place(self, folder: int, place: int) -> None:
        if place:
            self._places.setdefault(folder, place)


class SiteRule(ABC):
    """One kind of knowledge about one site; bounded, and shared by crawlers of one store."""

    name: ClassVar[str]
    """Its name, as in ``NEARDUP_LEARN`` and ``neardup/learnt/NAME``."""
    sentence: ClassVar[str]
    """The sentence that is logged with the first such knowledge."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders

    def learn(self, evidence: Evidence, text: Text | None) -> bool:  # noqa: ARG002
        """Learn from a kept page; return whether something new is known.

        `text` has its shingles; None if the rule has learnt from the page before.
        """
        return False

    @abstractmethod
    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page of the site that don't count when it is compared."""

    @abstractmethod
    def dump(self, *, complete: bool) -> Any:
        """Return the knowledge as values for JSON: all of it, or the part that others need."""

    @abstractmethod
    def restore(self, dump: Any) -> None:
        """Continue from a `dump`; raise ValueError, TypeError, KeyError for anything else."""

    @abstractmethod
    def add_others(self, dumps: list[Any]) -> None:
        """Replace the dumps of other crawlers by newer ones; raise as `restore`."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory in bytes, rounded up."""


def _checked(entry: list[int]) -> tuple[tuple[int, ...], int, int]:
    *chain, pages, place = entry
    if not 1 <= len(chain) <= MAX_DEPTH + 1 or any(type(each) is not int for each in entry):
        raise ValueError("not a folder")
    return tuple(chain), min(max(pages, 0), 1 << 32), place
