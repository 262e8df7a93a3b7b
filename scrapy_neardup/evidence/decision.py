"""Two pages to a decision: the table, once.

It is pure: it sees what a store keeps of one page and what is at hand of the other.

Let *text* be all of a page but furniture by tag, *core* the text without what by its form is
likely to be no content (links, elements named as furniture) and without the places that are known
to change with each response, and *rows* the core without what depends on their order. All are
estimated from one sketch: of the core those bins count whose minimum is in the core of both pages.

=========== ============ ================================== =====================================
text        core         titles and addresses               decision
=========== ============ ================================== =====================================
alike       alike        say that it is one page; by a      duplicate, `Rule.ALIKE`
                         title alone only where cores are
                         alike to 93 %
less alike  rows equal,  say that it is one page            duplicate, `Rule.SAME_CORE`, if what
            long enough                                     the page has besides is little
less alike  the same     say so by more than a title        the same; links of which the site has
            rows                                            most may be as many as they like
less alike  more than    say so by more than a title        the same, if it is half as little
            alike
alike to    alike to     differ                             duplicate, `Rule.ALIKE`
99 %        99 %
equal       equal        say nothing, or differ, where      duplicate, `Rule.EQUAL_TEXT`
                         the site is hardly known
anything else                                               new
=========== ============ ================================== =====================================

Alike is a resemblance of .9 (``NEARDUP_MIN_RESEMBLANCE``); what is more than that, long enough,
and little, is in `scrapy_neardup.evidence.demands`. That rows are the same is told by their sum,
without the places that are known to change, however few bins they have. Bins don't count in which
both pages have the same value and it is *furniture* of the site
(`scrapy_neardup.evidence.furniture`). Where only one of the pages has most of that furniture, as
where the other is a printable version, none of its bins counts. By a title alone only furniture of
both is left out: posts of a thread quote each other under its title.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from scrapy_neardup.evidence.context import NOTHING_KNOWN, SiteContext
from scrapy_neardup.evidence.demands import (
    DEMANDS,
    EQUAL,
    MIN_BITS,
    MIN_CORE_BINS,
    MIN_EQUAL_BITS,
    MIN_TELLING_CORE_BINS,
    SITE_LINKS,
    UNDER_ONE_TITLE,
    Names,
)
from scrapy_neardup.evidence.layout import HEAD, LINKS, NAMED, Head, Planes
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.evidence.overlap import Overlap
from scrapy_neardup.verdict import Candidate, Decide, Decided, Page


class Rule(StrEnum):
    """Row of the table by which a page repeats a candidate."""

    EQUAL = "equal"
    ALIKE = "alike"
    EQUAL_TEXT = "equal-text"
    SAME_CORE = "same-core"
    WITHIN_K = "within-k"


class Refusal(StrEnum):
    """Why a page doesn't repeat a candidate."""

    UNLIKE = "unlike"
    OTHER_MEDIA = "other-media"
    OTHER_KIND = "other-kind"


class Compared(NamedTuple):
    """How two pages compare: bins that differ, and bins that count, of texts, cores and rows."""

    text: tuple[int, int]
    core: tuple[int, int]
    rows: tuple[int, int]

    def is_alike(self, most: float) -> bool:
        """Return whether at most this share of the bins differs, of texts and of cores."""
        return all(differing <= most * counted for differing, counted in self[:2])

    def resemblance(self, bits: int) -> float:
        """Return the estimated resemblance, the lower one of text and core, not below 0.

        Of the bins in which the sets differ, one in 2^bits looks equal by accident (Li & König
        2010, theorem 1). 1.0 where no bin counts.
        """
        accident = 2.0**-bits
        return min(
            max(0.0, 1 - differing / counted / (1 - accident)) if counted else 1.0
            for differing, counted in self[:2]
        )


class Comparison:
    """A page at hand, made ready to be compared with what a store keeps of many others.

    Parameters
    ----------
    page
        The page.
    bins, bits
        Of the sketches.
    """

    __slots__ = (
        "_bins", "_bits", "_context", "_head", "_most_differing", "_not_theirs", "_overlap",
        "_rows", "_stored", "_title",
    )  # fmt: skip

    def __init__(
        self, page: Page, bins: int, bits: int, context: SiteContext = NOTHING_KNOWN
    ) -> None:
        self._stored, self._context = page.evidence, context
        self._bins, self._bits = bins, bits
        self._head = Head.unpack(page.evidence)
        self._title = self._head.title - context.common
        self._rows = self._head.rows_without(context.changing)
        self._not_theirs = context.changing | context.constant
        self._most_differing = (1 - context.min_resemblance) * (1 - 2.0**-bits)
        self._overlap: Overlap | None = None
        if len(page.evidence) > HEAD.size:
            marks: tuple[Any, ...] = ()
            if (furniture := context.furniture) is not None:
                marks = furniture.plane(), furniture.lacked(bits)
                if furniture.is_most():
                    self._most_differing = 0.0
            aside = _aside(self._head.places, context.changing)
            self._overlap = Overlap(page.evidence, bins, bits, aside, *marks)

    def decide(self, candidate: Candidate) -> Decided:
        """Return whether the page repeats a candidate, and why."""
        if _contradicts(candidate):
            return Decided(is_same=False, rule=Refusal.OTHER_MEDIA)
        stored = candidate.evidence
        if len(stored) != len(self._stored):
            return Decided(is_same=False, rule=Refusal.OTHER_KIND)
        head = Head.unpack(stored)
        if self._context.is_exact:
            return self._decide_equality(candidate, head)
        names = self._names(head)
        if self._overlap is None:
            if not candidate.same_content and names < Names.TRANSLATED:
                return Decided(is_same=False, rule=Refusal.OTHER_MEDIA, identity=names.name)
            is_same = names > Names.RETITLED
            return Decided(is_same, Rule.EQUAL if is_same else Refusal.UNLIKE, identity=names.name)
        compared, beside = self._compare(stored, head, names)
        rule: Rule | Refusal | None = Refusal.OTHER_MEDIA
        if candidate.same_content or names >= Names.TRANSLATED:
            rule = self._rule(compared, beside, names, head)
        is_same = isinstance(rule, Rule)
        needed = self._needed(compared, names) if rule in (Rule.ALIKE, None) else None
        return Decided(
            is_same,
            rule or Refusal.UNLIKE,
            compared.resemblance(self._bits),
            needed,
            names.name,
            tuple([(name, *counts) for name, counts in compared._asdict().items()]),
        )

    def _decide_equality(self, candidate: Candidate, head: Head) -> Decided:
        """Return whether a candidate equals the page but for places known to change.

        Where none of them is on the pages, the sums of all shingles and all bins tell; else those
        of rows elsewhere, as a shingle on the border of such a place changes with it.
        """
        is_same, changing = candidate.same_title and candidate.same_content, self._context.changing
        if self._overlap is not None:
            ours, theirs = (_owned(each.places, changing) for each in (self._head, head))
            overlap = Overlap(self._stored, self._bins, self._bits, ours)
            text, _, rows, _ = overlap.counts(candidate.evidence, theirs)
            if ours | theirs:
                is_same = is_same and not rows[0] and self._has_rows_of(head)
            else:
                is_same = is_same and not text[0] and head.text == self._head.text
        rule = Rule.EQUAL if is_same else Refusal.UNLIKE
        return Decided(is_same, rule, float(is_same), 1.0)

    def is_alike(self, stored: bytes) -> bool:
        """Return whether the core of another page with a sketch is alike."""
        head = Head.unpack(stored)
        compared, _ = self._compare(stored, head, self._names(head))
        differing, counted = compared.core
        return compared.rows[1] >= MIN_CORE_BINS and differing <= self._most_differing * counted

    def _needed(self, compared: Compared, names: Names) -> float:
        """Return the resemblance from which on texts and cores are alike."""
        unlike = DEMANDS[names].unlike
        if self._by_title(names) and compared.core[1] >= MIN_TELLING_CORE_BINS:
            unlike = min(unlike, UNDER_ONE_TITLE)
        return 1 - unlike * self._most_differing / (1 - 2.0**-self._bits)

    def _rule(
        self, compared: Compared, beside: tuple[int, int], names: Names, head: Head
    ) -> Rule | None:
        most, differ = self._most_differing, 1 - 2.0**-self._bits
        if names <= Names.UNKNOWN and (
            self._context.young_folder or compared.core[1] * self._bits < MIN_BITS
        ):
            return self._equal(compared, names, same_text=head.text == self._head.text)
        demand = DEMANDS[names]
        differing, counted = compared.core
        if compared.is_alike(demand.unlike * most):
            unlike, of = compared.core if counted >= MIN_TELLING_CORE_BINS else compared.text
            if not self._by_title(names) or unlike <= UNDER_ONE_TITLE * most * of:
                return Rule.ALIKE
        same_rows = names >= Names.NAMESAKE and self._has_rows_of(head)
        named, links = beside
        if same_rows and self._has_links_of_site():
            links = 0
        besides = max(named / demand.named, links / demand.links) / (differ * self._bins)
        if besides > 1:
            return None
        if (
            demand.nearly
            and besides <= 0.5
            and counted >= demand.counted
            and differing <= demand.nearly * most * counted
        ):
            return Rule.SAME_CORE
        if names >= Names.NAMESAKE:
            differing, counted = compared.rows
        is_equal = counted >= demand.counted and differing <= demand.differing * differ * counted
        return Rule.SAME_CORE if is_equal or (same_rows and counted) else None

    def _equal(self, compared: Compared, names: Names, *, same_text: bool) -> Rule | None:
        if names <= Names.RETITLED and self._context.young_site:
            return None
        differing, counted = compared.text
        # Of a page that is furniture throughout the text says nothing against another title.
        least = MIN_BITS if names <= Names.RETITLED else 0
        is_told = counted * self._bits >= (least if same_text else MIN_EQUAL_BITS)
        return Rule.EQUAL_TEXT if is_told and differing <= EQUAL * counted else None

    def _has_rows_of(self, head: Head) -> bool:
        """Return whether the rows of both pages are the same, but for places known to change."""
        return self._rows > 0 and self._rows == head.rows_without(self._context.changing)

    def _has_links_of_site(self) -> bool:
        """Return whether the links of the page at hand are its site's."""
        if (furniture := self._context.furniture) is None:
            return False
        planes = Planes.unpack(self._stored, self._bins, self._bits)
        links = planes.owned_by(LINKS, (1 << self._bins) - 1)
        return (links & furniture.plane()).bit_count() >= SITE_LINKS * links.bit_count()

    def _by_title(self, names: Names) -> bool:
        """Return whether a title alone says that it is one page, and titles count."""
        return names is Names.TITLE and self._context.titles != "ignore"

    def _compare(
        self, stored: bytes, head: Head, names: Names
    ) -> tuple[Compared, tuple[int, int]]:
        """Return how the pages compare, and how many bins only this page has: named, and links."""
        assert self._overlap is not None  # noqa: S101  (for the type checker)
        by_title = self._by_title(names)
        aside = _aside(head.places, frozenset() if by_title else self._not_theirs)
        *compared, beside = self._overlap.counts(stored, aside, by_title)
        return Compared(*compared), beside

    def _names(self, head: Head) -> Names:
        context, ours = self._context, self._head
        theirs = head.title - context.common
        ignored = context.titles == "ignore"
        is_retitled = not ignored and self._title != theirs and head.title and ours.title
        is_one = head.path == ours.path and not (head.query and ours.query)
        if head.query == ours.query:
            if head.path == ours.path and head.name == ours.name:
                return Names.RESPONSE
            is_one = head.path == ours.path or (
                (ours.steps - head.steps) % 2**32 in context.editions
            )
        if is_one:
            return Names.TRANSLATED if is_retitled else Names.ADDRESS
        if ignored:
            return Names.TITLE
        if is_retitled:
            return Names.RETITLED if ours.name == head.name else Names.OTHER
        if not (self._title and theirs) or context.young_site:
            return Names.UNKNOWN
        return Names.NAMESAKE if ours.name == head.name or ours.path == head.path else Names.TITLE


def deciding(page: Page, matching: Matching, context: SiteContext = NOTHING_KNOWN) -> Decide:
    """Return the function that compares `page` with candidates.

    A page costs some 15 microseconds from the first candidate on, and each candidate another 12
    (512 bins of 2 bits); compiled 7 and 5.
    """
    if not (matching.bins and page.evidence):
        return _within_k
    comparison: Comparison | None = None

    def decide(candidate: Candidate) -> Decided:
        nonlocal comparison
        if comparison is None:
            comparison = Comparison(page, matching.bins, matching.bits, context)
        return comparison.decide(candidate)

    return decide


def _within_k(candidate: Candidate) -> Decided:
    if _contradicts(candidate):
        return Decided(is_same=False, rule=Refusal.OTHER_MEDIA)
    return Decided(is_same=True, rule=Rule.WITHIN_K)


def _contradicts(candidate: Candidate) -> bool:
    """Return whether equal text is no evidence: both title and embedded content differ.

    Application shells, photo pages and pages that keep their data in a script element show equal
    text.
    """
    return not (candidate.same_title or candidate.same_content)


def _aside(places: Sequence[int], known: frozenset[int]) -> int:
    """Return the owners that aren't in the core of a page, owner i as bit i.

    Parameters
    ----------
    places
        Its tracked places.
    known
        Places that aren't in a core.
    """
    return 1 << NAMED | 1 << LINKS | _owned(places, known)


def _owned(places: Sequence[int], known: frozenset[int]) -> int:
    """Return the owners that are some known places of a page, owner i as bit i."""
    return sum(1 << owner for owner, place in enumerate(places, start=1) if place in known)
