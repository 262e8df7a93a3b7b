"""Records of a site: pages of one template that differ in the text at one place.

Examples are jobs, prices and quotes. Two conditions must hold for a DOM path. First, at least
`SHOWN` pages that repeat one page (or the pages of several small groups in a folder or below it)
have texts there that no other page has, and each has a word that the page dropped before it lacks.
Second, two responses to one request, made twice for this if need be, have shown that the text
there doesn't change by itself. From then on, pages that differ there are different pages, and
those that were dropped before are requested again, except copies of the repeated page. For pages
whose addresses differ only in a folder the conditions are others (`judge.editions`).
"""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.editions import Editions
from scrapy_neardup.judge.evidence import MAX_PATHS, Evidence, bits_of
from scrapy_neardup.judge.knowledge import ENTRY_BYTES, MEDIA, NOTHING, Excluded, Folders, SiteRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.judge.analysis import AnalysedPage
    from scrapy_neardup.judge.shingling import Text

SHOWN: Final = 5
"""Minimum number of pages whose texts at a DOM path differ, including the kept page."""
OWN: Final = 0.9
"""Minimum share of the pages with a DOM path that have their own text there."""

_FEW: Final = 3
"""Minimum number of texts at a DOM path in a small group: those of the kept page and of two
others, because a printed copy of each page would make two."""
_MAX_MEMBERS: Final = 64
"""Maximum number of pages of a group that are requested again; those dropped last."""
_MAX_PLACES: Final = 64
"""Maximum number of DOM paths of a group's pages at which records may differ."""
_MAX_WORDS: Final = 4096
"""Maximum number of words of a page that are compared with those of another."""


class _Group:
    """The pages of a folder that were dropped as duplicates of one page."""

    def __init__(self) -> None:
        self.folder = 0
        """The folder that has their records."""
        self.rows: dict[int, dict[int, int]] = {}
        """DOM path -> sum of the rows there -> number of pages."""
        self.members: BoundedDict[int, tuple[int, int]] = BoundedDict(_MAX_MEMBERS)
        """Pages that may be other records than the kept page -> their text and media, which differ
        from those of the kept page."""
        self.words: NDArray[np.uint64] = np.empty(0, np.uint64)
        """Words of the page that was dropped last, in their order."""
        self.last: dict[int, int] = {}
        """DOM path -> sum of the rows there on that page."""

    def add(self, page: AnalysedPage, excluded: Excluded, theirs: Evidence) -> None:
        if page.id in self.members:
            return
        ours, before = page.known, self.last
        content = _content(ours, excluded)
        if content == _content(theirs, excluded):
            return
        is_copy = content in self.members.values()
        self.members[page.id] = content
        if is_copy:  # such as a record under another session
            return
        self._count(MEDIA, ours.embedded, {theirs.embedded})
        if ours.rows != theirs.rows and self._says_more(ours, page.text, excluded):
            # Evidence has few DOM paths. Others count once two dropped pages differ there.
            self.last = page.text.rows_by_path()
            for path, own in self.last.items():
                last = before.get(path, own)
                if path in ours.paths or path in self.rows or last != own:
                    self._count(path, own, {theirs.rows_at(path)} | ({last} - {own}))

    def _count(self, path: int, own: int, others: set[int]) -> None:
        """Count a page by its text at a DOM path; `others` came before the first text there.

        A page with the text of the kept page, which is among them, doesn't count.
        """
        of_path = self.rows.get(path)
        if of_path is None:
            if len(self.rows) == _MAX_PLACES:
                return
            of_path = self.rows[path] = dict.fromkeys(others, 1)
        if own not in others and (own in of_path or len(of_path) <= _MAX_MEMBERS):
            of_path[own] = of_path.get(own, 0) + 1

    def may_differ(self, path: int) -> bool:
        """Return whether the pages may have other texts at a DOM path than the kept page."""
        return len(self.rows.get(path, ())) > 1 or path in self.last

    def _says_more(self, ours: Evidence, text: Text, excluded: Excluded) -> bool:
        """Return whether a page has a word that the page before it lacks.

        Words in boilerplate don't count, nor do those in text that changes by itself. For example,
        a list of all cities beside each job is boilerplate.
        """
        before, words = self.words, text.words[:_MAX_WORDS].copy()  # the page goes
        self.words = words
        counts = text.counted(bits_of([*ours.paths], excluded.paths), excluded.shared)[:_MAX_WORDS]
        left = Counter(before.tolist()) - Counter(words[~counts].tolist())
        return any(word not in left for word in words[counts].tolist())

    def dump(self, *, complete: bool) -> list[Any]:  # noqa: ARG002
        rows = self.rows.items()
        members = [[page, *content] for page, content in self.members.items()]
        return [self.folder, members, [[path, *each.items()] for path, each in rows]]

    @classmethod
    def load(cls, dump: list[Any]) -> Self:
        group, (folder, members, rows) = cls(), dump
        group.folder = int(folder)
        group.members.update({int(page): (int(a), int(b)) for page, a, b in members})
        group.rows = {int(path): {int(a): int(b) for a, b in each} for path, *each in rows}
        return group

    @property
    def nbytes(self) -> int:
        entries = len(self.members) + len(self.last) + sum(map(len, self.rows.values()))
        return ENTRY_BYTES * entries + self.words.nbytes


class Records(SiteRule[_Group]):
    """The pages that were dropped for each kept page, by its id, and where they differ.

    Pages of another folder have a group of their own if they have the kept page's name, because
    they may be editions, or only the host in common with it: they may be translations.
    """

    name = "records"
    sentence = "the text at one place of its pages says which record a page shows"
    shown = _Group

    def __init__(self, folders: Folders, changing: Changing) -> None:
        super().__init__(folders)
        self._changing = changing
        self.editions = Editions(changing)
        self._open: BoundedDict[tuple[int, int], Evidence] = BoundedDict(_MAX_MEMBERS)
        """Sections and DOM paths whose text may or may not change by itself -> the page that is
        requested again."""
        self._heard: tuple[int, ...] = ()
        """Dropped pages that are records, as another crawler has found."""
        self.has_asked = True
        """Whether no page was dropped since this crawler asked what other crawlers have found."""

    def is_shared(self, group: int) -> bool:  # noqa: ARG002
        """Return False: only the next run needs the dropped pages."""
        return False

    def learn_drop(
        self, page: AnalysedPage, excluded: Excluded, kept_id: int, theirs: Evidence
    ) -> tuple[int, ...]:
        """Learn from a page that was dropped for a kept one; its `excluded` parts don't count.

        Return the ids of pages that were dropped although they are records, including this one:
        they must be requested again.
        """
        ours = page.known
        if ours.host != theirs.host:
            return ()
        self.has_asked = False
        if ours.is_edition_of(theirs):
            return self.editions.learn_drop(page, theirs)
        section, is_apart = self._section_of(ours, theirs)
        apart = section if is_apart else 0
        if ours.has_name_in_other_folder(theirs):
            apart = ours.folder
        group_id = kept_id ^ apart
        group = self.used(group_id)
        group.folder = section
        group.add(page, excluded, theirs)
        found, near = set[int](), cache(partial(self._near, ours.host, section))
        for path, rows in group.rows.items():
            is_large = _are_own({group_id: group}, path, 0)
            if is_large or (len(rows) >= _FEW and _are_own(near(), path)):
                stays = self._changing.stays(ours, path)
                asks, question = path in {MEDIA, *group.last}, (section, path)
                if stays:
                    found.add(path)
                elif stays is None and asks and self._changing.questions.add(question, page.id):
                    self._open[question] = ours
        return self._release(ours.host, section, found)

    def settle(self) -> tuple[int, ...]:
        """Close the questions that a second response has answered; return pages that are records.

        They were dropped, and must be requested again.
        """
        released = self.editions.settle()
        for (section, path), page in [*self._open.items()]:
            if (stays := self._changing.stays(page, path)) is not None:
                del self._open[section, path]
                near = self._near(page.host, section)
                is_large = any(_are_own({kept: each}, path, 0) for kept, each in near.items())
                if stays and (is_large or _are_own(near, path)):
                    released += self._release(page.host, section, {path})
        return released

    def add_others(self, dumps: list[Any]) -> int:
        """Learn at which DOM paths other crawlers have found records, from what folders have."""
        for folder, others in self.folders.others.items():
            found = {path for each in others for path in each.records}
            found -= self.folders.used(folder).records
            self._heard += self._release(self.folders.chain(0, folder)[0], folder, found)
        return super().add_others(dumps)

    def heard(self) -> tuple[int, ...]:
        """Return the pages that were dropped before another crawler found that they are records.

        They must be requested again.
        """
        heard, self._heard, self.editions.heard = self._heard + self.editions.heard, (), ()
        return heard

    def _release(self, host: int, section: int, found: set[int]) -> tuple[int, ...]:
        """Note DOM paths at which records differ; return the pages that were dropped wrongly."""
        if not found:
            return ()
        self.folders.used(section).records |= found
        near = self._near(host, section)
        shown = [kept_id for kept_id, each in near.items() if any(map(each.may_differ, found))]
        return tuple([page for kept_id in shown for page in self.own.pop(kept_id).members])

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the DOM paths at which records like this page differ."""
        above = self.folders.chain(evidence.host, evidence.folder)[1:]
        folders = {evidence.folder, self.folders.section(evidence.host, evidence.folder), *above}
        each_known = [each.records for folder in folders for each in self.folders.of(folder)]
        editions = self.editions.places(evidence.name)
        if not (known := frozenset[int]().union(*each_known)) and not editions:
            return NOTHING
        # If the evidence is full, some of the page's DOM paths may be missing.
        found = known & {*evidence.paths, MEDIA} if len(evidence.paths) < MAX_PATHS else known
        editions &= evidence.paths.keys()
        by = (self.name,) if found or editions else ()
        tells = (known | editions) - {MEDIA}
        return Excluded(records=found, by=by, tells=tells, editions=frozenset(editions))

    def _near(self, host: int, section: int) -> dict[int, _Group]:
        """Return the groups whose pages are in a section, by today's knowledge.

        When the first pages of a section were dropped, a folder above may have had their records.
        """
        of, above = cache(partial(self.folders.section, host)), self.folders.chain(host, section)
        return {
            kept: each
            for kept, each in self.own.items()
            if each.folder in above or of(each.folder) == section
        }

    def _section_of(self, ours: Evidence, theirs: Evidence) -> tuple[int, bool]:
        """Return the folder that has the records of both pages, and whether there is none.

        Then it is that of the page at hand: only their host is above both.
        """
        own, other = (
            self.folders.chain(each.host, self.folders.section(each.host, each.folder))
            for each in (ours, theirs)
        )
        above = [each for each, at_other in zip(own, other, strict=False) if each == at_other]
        is_apart = own != other and len(above) == 1
        return own[-1] if is_apart else above[-1], is_apart


def _content(page: Evidence, excluded: Excluded) -> tuple[int, int]:
    """Return the text and the media of a page, without those that change by themselves."""
    return page.rows_without(excluded.paths)[0], 0 if excluded.media else page.embedded


def _are_own(groups: dict[int, _Group], path: int, least: int = _FEW) -> bool:
    """Return whether at least `SHOWN` pages have their own texts at a DOM path.

    Only groups that have at least `least` texts there count.
    """
    texts = Counter[int]()
    for each in groups.values():
        if len(rows := each.rows.get(path, {})) >= least:
            texts.update(rows)
    texts[0] = min(texts[0], 1)  # kept pages without such a DOM path
    return len(+texts) >= max(SHOWN, OWN * texts.total())
