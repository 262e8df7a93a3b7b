"""Two pages to a decision.

1. All visible text counts, except for boilerplate: text that half of the pages of its host or
   folder share; text that differed between two responses to one request for a page of the same
   place; and, where addresses agree, elements named as boilerplate, if the two pages are alike to
   .8 with them, or if the links there lead to pages of the same names on both.
2. Two pages are one if the resemblance of the text that counts is at least
   ``NEARDUP_MIN_RESEMBLANCE`` (.9). If their titles differ it must be .95, or .99 if the last
   parts of their addresses differ, too (only then a title's numbers count). No page is dropped
   below .8 of all visible text, except for text that the site has shown not to count. A key of its
   address that a page shows is part of its title. A canonical address counts as a page's path only
   if titles agree, and until pages of its site with different titles name the same one.
   Where titles agree, and header or footer differ as the boilerplate of two folders does, shingles
   that reach into them don't count.
3. Pages are one if their rows are equal, in any order, and their titles are equal. Pages must be
   equal if almost nothing counts (``NEARDUP_MIN_TOKENS``), and while too few pages of the folder
   are known.
4. Other media or embedded data make pages different if their titles differ, little text counts, or
   too few pages of the folder are known. So do different texts at the place that tells records
   apart.

The constants are measured in docs/quality.md.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Final

from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import MEDIA, NOTHING_KNOWN, Context, Excluded
from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.judge.shingling import NAMED, TEXT, Text, bits_of
from scrapy_neardup.judge.sketch import Sketch
from scrapy_neardup.judge.views import Views, joints, views_of
from scrapy_neardup.verdict import Candidate, Decide, Decided, Page

RETITLED: Final = 0.5
"""Share of the usual difference that pages with different titles may have: .95 instead of .9."""
RENAMED: Final = 0.1
"""The same if the last parts of their addresses differ, too: .99."""
LEAST: Final = 0.8
"""Minimum resemblance of the text outside of named elements."""
MIN_TEXT: Final = 10
"""Number of shingles outside of elements named as boilerplate below which those elements count."""
MIN_BESIDE_MEDIA: Final = 60
"""Number of shingles that count below which other media contradict."""

_LEFT: Final = 0.5
"""Number of shingles below which nothing differs: sketches estimate it."""
_UNEQUAL: Final = 0.999
"""Maximum resemblance that is reported for unequal pages, because their sketches may be equal."""


class Rule(StrEnum):
    """Rule by which a page repeats a candidate."""

    EQUAL = "equal"
    ALIKE = "alike"
    RETITLED = "retitled"
    WITHIN_K = "within-k"


class Refusal(StrEnum):
    """Why a page doesn't repeat a candidate."""

    UNLIKE = "unlike"
    UNEQUAL = "unequal"
    OTHER_MEDIA = "other-media"
    OTHER_RECORD = "other-record"
    OTHER_KIND = "other-kind"
    CANONICAL = "canonical"


class Title(StrEnum):
    """How two titles compare."""

    SAME = "same title"
    OTHER = "other title"
    UNKNOWN = "no title of their own"


class AddressMatch(StrEnum):
    """How two addresses compare."""

    RESPONSE = "same address"
    PATH = "same path"
    NAME = "same name"
    OTHER = "other path"


class Comparison:
    """A page at hand, and the candidates that it was compared with.

    `sizes` are the bits of the sketches that a store keeps of pages. If it keeps none, or the
    page has no evidence, the page repeats any candidate. If they are known already,
    `text` has the page's shingles, `excluded` its parts that don't count, and `ours` its evidence.
    """

    def __init__(  # noqa: PLR0917  (as they come to be known)
        self,
        page: Page,
        sizes: tuple[int, int] | None,
        context: Context = NOTHING_KNOWN,
        text: Text | None = None,
        excluded: Excluded | None = None,
        ours: Evidence | None = None,
    ) -> None:
        self.context, self.sizes = context, sizes or (0, 0)
        self.asked: list[tuple[Candidate, Decided]] = []
        """The candidates so far, each with its decision."""
        self._page, self.text, self._excluded, self._ours = page, text, excluded, ours
        self._size = len(page.evidence) if sizes else 0
        self._sketches: dict[int, tuple[Sketch, ...]] = {}

    def decide(self, candidate: Candidate) -> Decided:
        """Return whether the page repeats a candidate, and why. Some 20 µs."""
        if not self._size:
            decided = Decided(is_same=True, rule=Rule.WITHIN_K)
        elif len(candidate.evidence) != self._size:
            decided = Decided(is_same=False, rule=Refusal.OTHER_KIND)
        else:
            decided = _Pair(self, Evidence.unpack(candidate.evidence, self.sizes)).decide()
        self.asked.append((candidate, decided))
        return decided

    @cached_property
    def ours(self) -> Evidence:
        """The page's evidence."""
        return self._ours or Evidence.unpack(self._page.evidence, self.sizes)

    @cached_property
    def excluded(self) -> Excluded:
        """The parts of the page that don't count."""
        return self._excluded or self.context.knowledge.exclude(self.ours)

    def sketches(self, changing: frozenset[int]) -> tuple[Sketch, ...]:
        """Return the sketches of the page without the text at some DOM paths."""
        if self.text is None or not (excluded := bits_of([*self.ours.paths], changing)):
            return self.ours.sketches
        if excluded not in self._sketches:
            self._sketches[excluded] = self.text.sketches(self.sizes, excluded)
        return self._sketches[excluded]


def compare_addresses(ours: Evidence, theirs: Evidence) -> AddressMatch:
    """Return how the addresses of two pages compare."""
    if ours.path == theirs.path:
        names_canonical = ours.has_canonical or theirs.has_canonical
        if ours.query == theirs.query and not names_canonical:
            return AddressMatch.RESPONSE
        # Parameters that only one of two addresses has may mean nothing.
        if ours.query == theirs.query or not (ours.query and theirs.query):
            return AddressMatch.PATH
    return AddressMatch.NAME if ours.name == theirs.name else AddressMatch.OTHER


class _Pair:
    """A page at hand and a stored one."""

    def __init__(self, comparison: Comparison, theirs: Evidence) -> None:
        context, ours = comparison.context, comparison.ours
        self._comparison, self._context = comparison, context
        self._ours, self._theirs = ours, theirs
        self._of_ours = comparison.excluded
        self._of_theirs = (
            self._of_ours
            if (ours.host, ours.folder, ours.segments, ours.paths.keys())
            == (theirs.host, theirs.folder, theirs.segments, theirs.paths.keys())
            else context.knowledge.exclude(theirs)
        )
        self.address = compare_addresses(ours, theirs)
        names_canonical = ours.has_canonical or theirs.has_canonical
        if self.address is AddressMatch.PATH and names_canonical:  # a hint, where titles agree
            self.address = AddressMatch.OTHER
            self.title = self._compare_titles()
            if self._believes_canonical():
                self.address = AddressMatch.PATH
        else:
            self.title = self._compare_titles()
        self._leave_out(*((self._of_ours, self._of_theirs) if self._may_change() else ()))
        self._has_one_path = self.address in {AddressMatch.RESPONSE, AddressMatch.PATH}
        self._has_equal_media = ours.embedded == theirs.embedded

    def decide(self) -> Decided:
        """Return whether the two are one page."""
        ours, theirs, context = self._ours, self._theirs, self._context
        has_canonical = theirs.has_canonical > ours.has_canonical
        if context.prefers_canonical and self._has_one_path and has_canonical:
            return self._decided(Refusal.CANONICAL, None)
        if self._are_records():
            return self._decided(Refusal.OTHER_RECORD, None)
        has_equal_title = ours.title == theirs.title
        if context.is_exact or (context.titles == "strict" and not has_equal_title):
            is_same = self._has_equal_rows and self._has_equal_named and self._has_equal_media
            return self._equal(is_same and (has_equal_title or not context.is_exact))
        views = self._overlaps()
        is_response = self.address is AddressMatch.RESPONSE
        if self._changing and views.all.smaller < MIN_TEXT and not is_response:
            self._leave_out()
            views = self._overlaps()
        if self._media_contradict(views):
            return self._decided(Refusal.OTHER_MEDIA, views)
        if (is_equal := self._may_be_equal(views)) is not None:
            return self._equal(is_equal, views)
        return self._alike(views)

    def _media_contradict(self, views: Views) -> bool:
        if self._has_equal_media:
            return False
        if self._has_little(views):
            return True
        if self._has_one_path or self._has_changing_media:
            return False
        if self.title is Title.OTHER or views.text.smaller < MIN_BESIDE_MEDIA:
            return True
        return self._context.knowledge.has_few_pages(self._ours, self._theirs)

    def _may_be_equal(self, views: Views) -> bool | None:
        """Return whether pages are equal, where equality decides; else None."""
        is_equal = self._has_equal_rows and self._has_equal_named
        if self.title is Title.SAME or self._ours.segments == self._theirs.segments:
            is_response = self.address is AddressMatch.RESPONSE and self._has_equal_rows
            if is_equal or (is_response and self._stays_alike(views)):
                return True
        if self._is_cold():
            return is_equal and self.title is not Title.OTHER
        return self._differs_at_joints(views) if self._has_little(views) else None

    def _differs_at_joints(self, views: Views) -> bool:
        """Return whether all that differs is that headers or footers reach into the text."""
        text = views.text
        if not self._has_equal_named or text.smaller < MIN_TEXT or text.resemblance < LEAST:
            return False
        left = text.without(self._joints())
        return left.ours + left.theirs < _LEFT

    def _has_little(self, views: Views) -> bool:
        return views.all.smaller < self._context.min_tokens

    def _is_cold(self) -> bool:
        """Return whether too little is known about the pages' site to trust their resemblance.

        Two hosts share no template, so their pages with one title are judged like any others.
        """
        ours, theirs, context = self._ours, self._theirs, self._context
        if self._has_one_path or not (ours.title or theirs.title) or context.titles == "ignore":
            return False
        may_share_template = ours.host == theirs.host or self.title is not Title.SAME
        return may_share_template and context.knowledge.has_few_pages(ours, theirs)

    def _alike(self, views: Views) -> Decided:
        rule, needed = Rule.ALIKE, self._context.min_resemblance
        if self.title is Title.OTHER:
            share = RENAMED if self.address is AddressMatch.OTHER else RETITLED
            rule, needed = Rule.RETITLED, 1 - share * (1 - needed)
        counting, stays_alike = views.all, self._stays_alike(views)
        has_text = views.text.smaller >= MIN_TEXT
        if self.address is not AddressMatch.OTHER and has_text and stays_alike:
            counting = views.text
        if stays_alike and LEAST <= counting.resemblance < needed and (joint := self._joints()):
            counting = counting.without(joint)
        is_same = counting.resemblance >= needed and stays_alike
        if has_text and views.text.resemblance < min(LEAST, needed):
            is_same = False
        return self._decided(
            rule if is_same else Refusal.UNLIKE, views, counting.resemblance, needed
        )

    def _stays_alike(self, views: Views) -> bool:
        """Return whether elements named as boilerplate may be left out of the comparison.

        Links that lead to pages of the same names on both pages are navigation, in any
        language; words beside them may be content.
        """
        if views.least() >= LEAST:
            return True
        ours, theirs = self._ours, self._theirs
        leads_alike = ours.links == theirs.links != 0
        return leads_alike and views.least_beside(ours.labels, theirs.labels) >= LEAST

    def _equal(self, is_equal: bool, views: Views | None = None) -> Decided:
        if is_equal:
            return self._decided(Rule.EQUAL, views, 1.0, 1.0)
        resemblance = 0.0 if views is None else min(views.all.resemblance, _UNEQUAL)
        return self._decided(Refusal.UNEQUAL, views, resemblance, 1.0)

    def _decided(
        self,
        rule: Rule | Refusal,
        views: Views | None,
        resemblance: float | None = None,
        needed: float | None = None,
    ) -> Decided:
        shown = () if views is None else (("text", views.text), ("all", views.all))
        learnt = dict.fromkeys(self._of_ours.by + self._of_theirs.by)
        if rule is Rule.EQUAL:  # what was learnt didn't matter where all is equal
            learnt.pop("boilerplate", None)
            if self._ours.rows == self._theirs.rows:
                learnt.pop("changing", None)
            if self._ours.segments == self._theirs.segments:
                learnt.pop("titles", None)
        return Decided(
            isinstance(rule, Rule),
            rule,
            resemblance,
            needed,
            f"{self.address}, {self.title}",
            tuple(
                [(name, round(each.ours + each.theirs), round(sum(each))) for name, each in shown]
            ),
            tuple(learnt),
        )

    def _are_records(self) -> bool:
        """Return whether the place that tells records apart has different texts."""
        ours, theirs = self._ours, self._theirs
        if ours.folder != theirs.folder:
            return False
        places = self._of_ours.records & self._of_theirs.records
        if MEDIA in places and not self._has_equal_media:
            return True
        return not self._has_equal_rows and any(
            ours.paths[path].rows != theirs.paths[path].rows for path in places - {MEDIA}
        )

    def _believes_canonical(self) -> bool:
        if self._of_ours.canonicals or self._of_theirs.canonicals:
            return False
        return self.title is Title.SAME or self._ours.title == self._theirs.title

    def _compare_titles(self) -> Title:
        ours, theirs = self._ours.segments, self._theirs.segments
        if self._context.titles == "ignore" or not (ours and theirs):
            return Title.UNKNOWN
        is_renumbered = ours == theirs and self._ours.title != self._theirs.title
        if is_renumbered and self.address is AddressMatch.OTHER:
            return Title.OTHER
        own, other = ours - self._of_ours.segments, theirs - self._of_theirs.segments
        if own - theirs or other - ours:
            return Title.OTHER
        return Title.SAME if own & theirs else Title.UNKNOWN

    def _leave_out(self, *known: Excluded) -> None:
        """Leave out text and media that change by one of these."""
        self._changing = frozenset[int]().union(*[each.paths for each in known])
        self._has_changing_media = any(each.media for each in known)
        self._has_equal_rows, self._has_equal_named = self._compare_rows()

    def _may_change(self) -> bool:
        """Return whether text at the DOM paths that change is left out.

        Other pages of the place may have their content there, so the addresses must say
        that the two are one page.
        """
        ours, theirs = self._ours, self._theirs
        return self.title is not Title.OTHER and (
            ours.path == theirs.path
            or ours.name == theirs.name
            or (ours.query == theirs.query and bool(ours.query))
        )

    def _compare_rows(self) -> tuple[bool, bool]:
        """Return whether the rows of text are equal, and those of named elements."""
        ours, theirs = self._ours, self._theirs
        if not self._changing:
            return ours.rows == theirs.rows, ours.named_rows == theirs.named_rows
        own, other = (each.rows_without(self._changing) for each in (ours, theirs))
        return own[TEXT] == other[TEXT], own[NAMED] == other[NAMED]

    def _overlaps(self) -> Views:
        shared = dict.fromkeys(self._of_ours.shared + self._of_theirs.shared)
        ours, sizes = self._comparison.sketches(self._changing), self._comparison.sizes
        is_named_equal = self._has_equal_named
        return views_of(ours, self._theirs, sizes, shared, self._changing, is_named_equal)

    def _joints(self) -> int:
        """Return the number of each page's shingles that a header or footer spoils."""
        text = self._comparison.text
        own, other = ({*each.shared} for each in (self._of_ours, self._of_theirs))
        if text is None or self.title is not Title.SAME or own <= other or other <= own:
            return 0
        theirs, size = self._theirs.sketches[TEXT], self._comparison.sizes[TEXT]
        return joints(text, theirs, size, own - other, other - own)


def deciding(page: Page, matching: Matching, context: Context = NOTHING_KNOWN) -> Decide:
    """Return the function that compares `page` with candidates."""
    return Comparison(page, matching.sketch, context).decide
