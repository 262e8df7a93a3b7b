"""From two pages to a decision.

1. All visible text counts, except for boilerplate: text that half of the pages of its host or
   folder share; text that differed between two responses to one request for a page of the same
   place; and elements named as boilerplate, if addresses agree (`_Judgement._stays_alike`).
2. Two pages are one if the resemblance of the text that counts is at least
   ``NEARDUP_MIN_RESEMBLANCE`` (.9). If their titles differ it must be .95, or .99 if the last
   parts of their addresses differ, too (only then a title's numbers count). No page is dropped if
   all visible text resembles the other's by less than .8, except for text that the site has shown
   not to count.
3. Pages are one if their rows are equal, in any order, and their titles are equal. Pages must be
   equal if almost no text counts (``NEARDUP_MIN_TOKENS``), and while too few pages of the folder
   are known.
4. Different media or embedded data make pages different if their titles differ, little text
   counts, or too few pages of the folder are known. So do different texts at the place by which
   records differ.

docs/quality.md has the exceptions, and what each sentence brings.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import NOTHING
from scrapy_neardup.judge.pair import AddressMatch, AtHand, Pair, Title, Views
from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.judge.sites import NOTHING_KNOWN
from scrapy_neardup.verdict import Candidate, Decide, Decided, Page

RETITLED: Final = 0.5
"""Share of the usual difference that pages with different titles may have: .95 instead of .9."""
RENAMED: Final = 0.1
"""The same share if the last parts of their addresses differ, too: .99."""
LEAST: Final = 0.8
"""Minimum resemblance of the text outside of named elements."""
MIN_TEXT: Final = 10
"""Minimum number of shingles outside of elements named as boilerplate for these to be left out."""
MIN_BESIDE_MEDIA: Final = 60
"""Number of shingles that count below which pages with different media are different."""
FAR: Final = 24
"""Hamming distance above which pages of one path aren't compared if their titles share nothing.
Pages of ``/item.php?id=`` are candidates of each other. Whole texts at 24 bits have J = .24."""

_LEFT: Final = 0.5
"""Estimated number of differing shingles below which nothing differs."""
_UNEQUAL: Final = 0.999
"""Maximum resemblance that is reported for unequal pages, because their sketches may be equal."""


class Rule(StrEnum):
    """Rule by which a page repeats a candidate."""

    EQUAL = "equal"
    ALIKE = "alike"
    RETITLED = "retitled"
    WITHIN_K = "within-k"
    SOFT_404 = "soft-404"
    """It repeats the answer to a URL that can't exist (`crawl.experiments.probe`)."""


class Refusal(StrEnum):
    """Why a page doesn't repeat a candidate."""

    UNLIKE = "unlike"
    UNEQUAL = "unequal"
    CHANGING = "changing"
    OTHER_MEDIA = "other-media"
    OTHER_RECORD = "other-record"
    OTHER_KIND = "other-kind"
    CANONICAL = "canonical"
    CHANGED = "changed"


_CHANGED: Final = Decided(is_same=False, rule=Refusal.CHANGED)
_FAR_APART: Final = Decided(is_same=False, rule=Refusal.UNLIKE)


class Comparison:
    """A page at hand, and the candidates that it was compared with.

    Without `at_hand`, the page's own data, it repeats any candidate. If the page `renews` its
    entry of an earlier crawl and `differs` from it, it repeats none, so that the store gets its
    new content.
    """

    def __init__(self, page: Page, at_hand: AtHand | None, *, renews: bool = False) -> None:
        self.asked: dict[int, tuple[Candidate, Decided]] = {}
        """Page id -> a candidate so far, with its decision."""
        self._page, self._at_hand = page, at_hand
        self._renews, self._is_changed = renews, False

    def decide(self, candidate: Candidate) -> Decided:
        """Return whether the page repeats a candidate, and why. Some 20 µs."""
        is_own = self._renews and candidate.page_id == self._page.id
        if self._is_changed and not is_own:
            return _CHANGED
        decided = self._decided(candidate)
        self.asked[candidate.page_id] = candidate, decided
        if is_own and decided.is_same and self.differs(candidate):
            self._is_changed = True
            return _CHANGED
        return decided

    def _decided(self, candidate: Candidate) -> Decided:
        if self._at_hand is None:
            return Decided(is_same=True, rule=Rule.WITHIN_K)
        # While a store waits for its server, other pages show what doesn't count.
        at_hand = self._at_hand = self._at_hand.today()
        if len(candidate.evidence) != len(self._page.evidence):
            return Decided(is_same=False, rule=Refusal.OTHER_KIND)
        ours, of_theirs = at_hand.evidence, at_hand.excluded
        theirs = Evidence.unpack(candidate.evidence, at_hand.sizes)
        in_titles = (ours.segments & theirs.segments) - of_theirs.segments
        may_be_other = ours.path == theirs.path and ours.title != theirs.title and not in_titles
        if may_be_other and candidate.distance > FAR:
            return _FAR_APART
        if (ours.host, ours.folder, ours.segments, ours.paths.keys()) != (
            theirs.host, theirs.folder, theirs.segments, theirs.paths.keys()
        ):  # fmt: skip
            of_theirs = at_hand.context.knowledge.exclude(theirs)
        return _Judgement(at_hand, theirs, of_theirs).decide()

    def stands(self, page_id: int) -> bool:
        """Return whether the page still repeats one, by what was learnt since the comparison."""
        at_hand = self._at_hand
        if at_hand is None or at_hand.today() is at_hand:
            return True
        return self._decided(self.asked[page_id][0]).is_same

    def would_repeat(self, without: frozenset[int]) -> bool:
        """Return whether the page repeats a candidate without what is at these DOM paths."""
        if self._at_hand is None:
            return False
        other = Comparison(self._page, self._at_hand.today().without(without))
        return any(other.decide(candidate).is_same for candidate, _ in self.asked.values())

    def differs(self, own: Candidate) -> bool:
        """Return whether a page that was seen again has another title or new rows.

        Text at DOM paths that change with each response doesn't count. Without evidence,
        fingerprints decide, which may miss one line in thousands of words.
        """
        if (at_hand := self._at_hand) is None:
            return own.distance != 0
        ours, theirs = at_hand.evidence, Evidence.unpack(own.evidence, at_hand.sizes)
        rows = {each.rows_without(at_hand.excluded.paths)[0] for each in (ours, theirs)}
        return ours.title != theirs.title or len(rows) > 1


class _Judgement(Pair):
    """The decision about a page at hand and a stored one."""

    _views: Views | None = None
    _unequal = Refusal.UNEQUAL

    def decide(self) -> Decided:
        """Return whether the two are one page, and why."""
        ours, theirs, settings = self.ours, self.theirs, self.context.parameters
        has_canonical = theirs.has_canonical > ours.has_canonical
        if self.context.prefers_canonical and self.has_one_path and has_canonical:
            return self._decided(Refusal.CANONICAL)
        if self.are_records():
            return self._decided(Refusal.OTHER_RECORD)
        has_equal_title = ours.title == theirs.title
        if settings.is_exact or (settings.titles == "strict" and not has_equal_title):
            is_same = self.has_equal_rows and self.has_equal_named and self.has_equal_media
            return self._equal(is_same and (has_equal_title or not settings.is_exact))
        views = self.views()
        is_response = self.address is AddressMatch.RESPONSE
        if self.changing and views.all.smaller < MIN_TEXT and not is_response:
            self.leave_out()
            self._unequal = Refusal.CHANGING
            views = self.views()
        self._views = views
        if self._media_contradict(views):
            return self._decided(Refusal.OTHER_MEDIA)
        if (is_equal := self._may_be_equal(views)) is not None:
            return self._equal(is_equal)
        return self._alike(views)

    def _media_contradict(self, views: Views) -> bool:
        if self.has_equal_media:
            return False
        if self._has_little(views):
            return True
        if self.has_one_path or self.has_changing_media:
            return False
        if self.title is Title.OTHER or views.text.smaller < MIN_BESIDE_MEDIA:
            return True
        return self.context.knowledge.has_few_pages(self.ours, self.theirs)

    def _may_be_equal(self, views: Views) -> bool | None:
        """Return whether the pages are equal, if equality decides; otherwise None."""
        is_equal = self.has_equal_rows and self.has_equal_named
        if self.title is Title.SAME or self.ours.segments == self.theirs.segments:
            is_response = self.address is AddressMatch.RESPONSE and self.has_equal_rows
            if is_equal or (is_response and self._stays_alike(views)):
                return True
        if self._is_cold():
            return is_equal and self.title is not Title.OTHER
        return self._differs_at_joints(views) if self._has_little(views) else None

    def _differs_at_joints(self, views: Views) -> bool:
        """Return whether all that differs is that headers or footers reach into the text."""
        text = views.text
        if not self.has_equal_named or text.smaller < MIN_TEXT or text.resemblance < LEAST:
            return False
        left = text.without(self.joints())
        return left.ours + left.theirs < _LEFT

    def _has_little(self, views: Views) -> bool:
        return views.all.smaller < self.context.parameters.min_tokens

    def _is_cold(self) -> bool:
        """Return whether too little is known about the pages' site to trust their resemblance.

        Pages of two hosts with one title are judged like any others, because hosts share no
        template.
        """
        ours, theirs, context = self.ours, self.theirs, self.context
        if self.has_one_path or not (ours.title or theirs.title):
            return False
        if context.parameters.titles == "ignore":
            return False
        may_share_template = ours.host == theirs.host or self.title is not Title.SAME
        return may_share_template and context.knowledge.has_few_pages(ours, theirs)

    def _alike(self, views: Views) -> Decided:
        rule, needed = Rule.ALIKE, self.context.parameters.min_resemblance
        if self.title is Title.OTHER:
            share = RENAMED if self.address is AddressMatch.OTHER else RETITLED
            rule, needed = Rule.RETITLED, 1 - share * (1 - needed)
        if max(views.all.resemblance, views.text.resemblance) < LEAST:  # nor does it stay alike
            return self._decided(Refusal.UNLIKE, views.all.resemblance, needed)
        counting, stays_alike = views.all, self._stays_alike(views)
        has_text = views.text.smaller >= MIN_TEXT
        if self.address is not AddressMatch.OTHER and has_text and stays_alike:
            counting = views.text
        if stays_alike and LEAST <= counting.resemblance < needed:
            counting = counting.without(self.joints())
        is_same = counting.resemblance >= needed and stays_alike
        if has_text and views.text.resemblance < min(LEAST, needed):
            is_same = False
        return self._decided(rule if is_same else Refusal.UNLIKE, counting.resemblance, needed)

    def _stays_alike(self, views: Views) -> bool:
        """Return whether elements named as boilerplate may be left out of the comparison.

        Links that lead to pages of the same names on both pages are navigation, in any
        language; words beside them may be content.
        """
        if views.least() >= LEAST:
            return True
        ours, theirs = self.ours, self.theirs
        leads_alike = ours.links == theirs.links != 0
        return leads_alike and views.least_beside(ours.labels, theirs.labels) >= LEAST

    def _equal(self, is_equal: bool) -> Decided:
        if is_equal:
            return self._decided(Rule.EQUAL, 1.0, 1.0)
        resemblance = min(self._views.all.resemblance, _UNEQUAL) if self._views else 0.0
        return self._decided(self._unequal, resemblance, 1.0)

    def _decided(
        self, rule: Rule | Refusal, resemblance: float | None = None, needed: float | None = None
    ) -> Decided:
        views = self._views
        shown = (("text", views.text), ("all", views.all)) if views else ()
        learnt = dict.fromkeys(self.of_ours.by + self.of_theirs.by)
        if rule is Rule.EQUAL:  # if all is equal, what was learnt didn't matter
            learnt.pop("boilerplate", None)
            if self.ours.rows == self.theirs.rows:
                learnt.pop("changing", None)
            if self.ours.segments == self.theirs.segments:
                learnt.pop("titles", None)
        return Decided(
            isinstance(rule, Rule),
            rule,
            resemblance,
            needed,
            f"{self.address}, {self.title}",
            tuple([(name, round(at.ours + at.theirs), round(sum(at))) for name, at in shown]),
            tuple(learnt),
        )


def deciding(page: Page, matching: Matching) -> Decide:
    """Return the function that compares `page` with candidates, by what a store keeps of both."""
    at_hand, sizes = None, matching.sketch
    if sizes and page.evidence:
        ours = Evidence.unpack(page.evidence, sizes)
        at_hand = AtHand(ours, NOTHING, None, sizes, NOTHING_KNOWN)
    return Comparison(page, at_hand).decide
