"""The knowledge about a site, which says which parts of its pages don't count.

A site has folders: ``//example.com/docs/4.1/`` is one, and so is each folder above it. All
knowledge about a site is in tables of one kind (`PageGroups`), with an entry for each group of its
pages. Most groups are folders. Other crawlers get the part that they need, and the crawl's next
run gets everything.

A new kind of knowledge is a subclass of `SiteRule`, an instance among a site's `rules`, and tests.
A rule applies only to pages of its own site: knowledge about one host is never used for pages of
another host.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sketch import SharedShingles
from scrapy_neardup.urls import MAX_DEPTH, Address

MEDIA: Final = 0
"""The media of a page in a set of DOM paths, which are never 0."""


class Excluded(NamedTuple):
    """The parts of a page that don't count, and those by which records differ."""

    segments: frozenset[int] = frozenset()
    """Segments of its title that belong to the site."""
    paths: frozenset[int] = frozenset()
    """DOM paths whose text changes with each response."""
    media: bool = False
    """Whether its media change with each response."""
    shared: tuple[SharedShingles, ...] = ()
    """Boilerplate of its folders, and text that changes with each response."""
    by: tuple[str, ...] = ()
    """Kinds of knowledge from which these exclusions follow."""
    records: frozenset[int] = frozenset()
    """DOM paths at which the texts of records differ."""
    canonicals: bool = False
    """Whether canonical addresses of its site mean nothing."""
    tells: frozenset[int] = frozenset()
    """DOM paths that evidence of pages of its folder should have."""
    editions: frozenset[int] = frozenset()
    """DOM paths at which pages of its name differ from folder to folder."""

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
            self.tells | other.tells,
            self.editions | other.editions,
        )


NOTHING: Final = Excluded()

MIN_PAGES: Final = 8
"""Minimum number of pages of a group for boilerplate. Of so few, all but one must have it."""
MAX_FOLDERS: Final = 256
"""Maximum number of groups of a table; those used last stay."""
MAX_STATE: Final = 8 << 20
"""Maximum size in bytes of a table that a crawl leaves for its next run."""
_MAX_COUNTED: Final = 4096
"""Maximum number of folders of a site whose pages are counted; those used last stay."""
ENTRY_BYTES: Final = 256
"""Upper bound of the bytes that an entry of a dict takes."""

UNREADABLE: Final = (ValueError, TypeError, KeyError, AttributeError, OverflowError, IndexError)
"""Exceptions that reading a dump may raise if it is damaged, or written by a stranger."""


class Shown(Protocol):
    """What the pages of one group have shown; bounded."""

    def dump(self, *, complete: bool) -> Any:
        """Return it as values for JSON: all of it, or the part that other crawlers need."""

    @classmethod
    def load(cls, dump: Any) -> Self:
        """Return the entry of a dump; raise one of `UNREADABLE` if it isn't one."""

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up, besides that of an empty entry."""


S = TypeVar("S", bound=Shown)


class PageGroups(Generic[S]):
    """Groups of a site's pages, and what they have shown to this crawler and to others."""

    name: ClassVar[str]
    """Its name in a site's dump."""
    shown: type[S]
    most: int = MAX_FOLDERS
    """Maximum number of groups; those used last stay."""

    def __init__(self) -> None:
        self.own: BoundedDict[int, S] = BoundedDict(self.most)
        self.others: dict[int, list[S]] = {}

    def used(self, group: int) -> S:
        """Return the own entry of a group, which becomes the newest; make it if it is missing."""
        return self.own.used(group, self.shown)

    def of(self, group: int) -> list[S]:
        """Return all entries of a group: the own one first."""
        own, others = self.own.get(group), self.others.get(group, ())
        return [*others] if own is None else [own, *others]

    def is_shared(self, group: int) -> bool:  # noqa: ARG002
        """Return whether other crawlers get the entry of a group."""
        return True

    def refresh(self, groups: Iterable[int]) -> None:
        """Compute what follows from all entries of some groups."""

    def dump(self, *, complete: bool) -> list[Any]:
        """Return what other crawlers need, or everything up to `MAX_STATE`, as values for JSON."""
        found, left = [], MAX_STATE
        for group, entry in reversed(self.own.items()):
            if complete or self.is_shared(group):
                left -= entry.nbytes if complete else 0
                if left < 0:
                    break
                found.append([group, entry.dump(complete=complete)])
        return found[::-1]

    def restore(self, dump: list[Any]) -> None:
        """Continue from a dump; raise one of `UNREADABLE` for anything else."""
        read = self._read(dump)
        self.own.update(read)
        self.refresh(read)

    def add_others(self, dumps: list[Any]) -> int:
        """Replace the dumps of other crawlers by newer ones; return how many are unreadable."""
        before, self.others, unreadable = self.others, {}, 0
        for dump in dumps:
            try:
                read = self._read(dump)
            except UNREADABLE:
                unreadable += 1
                continue
            for group, entry in read.items():
                self.others.setdefault(group, []).append(entry)
        self.refresh(before.keys() | self.others.keys())
        return unreadable

    def _read(self, dump: list[Any]) -> dict[int, S]:
        return {int(group): self.shown.load(entry) for group, entry in dump[: self.most]}

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up. O(entries)."""
        entries = chain(self.own.values(), *self.others.values())
        return sum([ENTRY_BYTES + each.nbytes for each in entries])

    def shrink(self, most: int) -> int:
        """Forget the groups used longest ago until `nbytes` is at most `most`; return it."""
        left = self.nbytes
        while left > most and len(self.own) > 1:
            _, entry = self.own.popitem(last=False)
            left -= ENTRY_BYTES + entry.nbytes
        return left


@dataclass(slots=True)
class SiteFolder:
    """A folder of a site."""

    chain: tuple[int, ...] = ()
    """The folders from the host to this folder, both included."""
    pages: int = 0
    """Number of kept pages of the folder and of the folders below it."""
    place: int = 0
    """The place (`Address.place`) of its pages; 0 for none."""
    records: frozenset[int] = frozenset()
    """DOM paths at which its records differ."""

    def dump(self, *, complete: bool) -> list[Any]:  # noqa: ARG002
        """See `Shown`."""
        return [self.pages, self.place, [*self.chain], [*self.records]]

    @classmethod
    def load(cls, dump: list[Any]) -> Self:
        """See `Shown`."""
        pages, place, chain, records = dump
        if len(chain) > MAX_DEPTH + 1 or any(
            type(each) is not int for each in (pages, place, *chain, *records)
        ):
            raise ValueError("not a folder")
        return cls(tuple(chain), min(max(pages, 0), 1 << 32), place, frozenset(records))

    @property
    def nbytes(self) -> int:
        """See `Shown`."""
        return ENTRY_BYTES * len(self.records)


_UNMET: Final = SiteFolder()


class Folders(PageGroups[SiteFolder]):
    """The folders of a site."""

    name = "folders"
    shown = SiteFolder
    most = _MAX_COUNTED

    def place(self, folder: int) -> int:
        """Return the place of a folder's pages; for an unknown folder, the folder."""
        return self.own.get(folder, _UNMET).place or folder

    def meet(self, address: Address) -> None:
        """Note the folders above a page's folder, before its pages are compared."""
        known = self.used(address.folders[-1])
        known.chain, known.place = address.folders, address.place

    def learn(self, folders: tuple[int, ...]) -> None:
        """Count a kept page in the last of these folders; each is within the one before."""
        for depth, folder in enumerate(folders, start=1):
            known = self.used(folder)
            known.chain = folders[:depth]
            known.pages += 1

    def chain(self, host: int, folder: int) -> tuple[int, ...]:
        """Return the folders that lead to a folder, host first; for an unknown one the host."""
        return self.own.get(folder, _UNMET).chain or (host,)

    def levels(self, host: int, folder: int) -> Iterator[int]:
        """Yield a folder and the folders above it, up to the first with enough known pages.

        So a folder of few pages, such as ``/offers/17/``, uses the knowledge of the folder above.
        """
        for each in reversed(self.chain(host, folder)):
            yield each
            if not self.has_few_pages(each):
                break

    def section(self, host: int, folder: int) -> int:
        """Return the last of the `levels` of a folder."""
        return [*self.levels(host, folder)][-1]

    def pages(self, folder: int) -> int:
        """Return the number of a folder's pages that were kept here."""
        return self.own.get(folder, _UNMET).pages

    def has_few_pages(self, folder: int) -> bool:
        """Return whether too few pages of a folder are known to learn what they share.

        Of what other crawlers' pages share, this one gets only the part about the host.
        """
        is_host = self.chain(folder, folder) == (folder,)
        known = self.of(folder) if is_host else [self.own.get(folder, _UNMET)]
        return sum([each.pages for each in known]) < MIN_PAGES

    def refresh(self, groups: Iterable[int]) -> None:
        """Take over the chains and places of folders that only other crawlers have met."""
        for folder in groups:
            for other in self.others.get(folder, ()):
                known = self.used(folder)
                known.chain, known.place = known.chain or other.chain, known.place or other.place


class SiteRule(PageGroups[S], ABC):
    """One kind of knowledge about one site; `name` is as in ``NEARDUP_LEARN``."""

    sentence: ClassVar[str]
    """The sentence that is logged with the first such knowledge."""
    host_alone: ClassVar[bool] = False
    """Whether other crawlers get only the knowledge about the host, not that about its folders."""

    def __init__(self, folders: Folders) -> None:
        super().__init__()
        self.folders = folders

    def is_shared(self, group: int) -> bool:
        """See `PageGroups.is_shared`."""
        return not self.host_alone or self.folders.chain(group, group) == (group,)

    def learn(self, evidence: Evidence, text: Text) -> bool:  # noqa: ARG002
        """Learn from a kept page with these shingles; return whether something new is known."""
        return False

    @abstractmethod
    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page of the site that don't count when it is compared."""
