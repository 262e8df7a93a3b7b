"""Two pages to a decision: the table, once.

Rule of this module: pure; it sees what a store keeps of one page and what is at hand of the other,
and decides the same as ``lua/evidence.lua``.

Let *text* be all of a page but furniture by tag, *core* the text without what by its form is
likely to be no content (links, elements named as furniture) and without the places that are known
to change with each response, and *rows* the core without what depends on their order. All are
estimated from one sketch: of the core those bins count whose minimum is in the core of both pages.

=========== =========== ==================================== ====================================
text        core        titles and addresses                 decision
=========== =========== ==================================== ====================================
alike       alike       say that it is one page              duplicate, `Rule.ALIKE`
less alike  rows equal, say that it is one page              duplicate, `Rule.SAME_CORE`, if what
            long enough                                      the page has besides is little
equal       equal       say nothing, or another title        duplicate, `Rule.EQUAL_TEXT`
anything else                                                new
=========== =========== ==================================== ====================================

Alike is a resemblance of .9 (``NEARDUP_MIN_RESEMBLANCE``). Bins don't count in which both pages
have the same value and it is *furniture* of the site (`scrapy_neardup.evidence.furniture`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple

from scrapy_neardup.evidence.layout import BORDER, HEAD, LINKS, NAMED, Head, Planes
from scrapy_neardup.verdict import Page

EQUAL = 0.003
"""Maximum share of bins that differ between texts that a sketch takes for equal."""

EQUAL_ROWS = 0.01
"""Maximum estimated share of rows that differ between equal cores."""

MIN_CORE_BINS = 24
"""Minimum number of bins of the core that count where it decides alone."""

MIN_BITS = 64
"""Minimum number of bits of the core that count before a sketch tells pages apart whose titles
don't."""

MIN_TELLING_CORE_BINS = 128
"""The same where titles say nothing, or something else."""

_MIN_TELLING = 16
"""Minimum number of bits that count before a sketch tells anything."""


class Rule(StrEnum):
    """Which row of the table decided."""

    EQUAL = "equal"
    ALIKE = "alike"
    EQUAL_TEXT = "equal-text"
    SAME_CORE = "same-core"
    WITHIN_K = "within-k"


class Names(IntEnum):
    """What the titles and addresses of two pages say of them."""

    OTHER = 0
    """Two pages: titles differ."""
    UNKNOWN = 1
    """Nothing: there is no title, or it is that of other pages, too."""
    TITLE = 2
    """One page: they share a title of their own."""
    NAMESAKE = 3
    """One page: they share a title of their own, and the path or its last part."""
    ADDRESS = 4
    """One page: the address is the same but for parameters that were added, or for an edition."""
    RESPONSE = 5
    """One page: the address is the same but for a session."""


MAX_BESIDE = {
    Names.OTHER: (0.015, 0.015),
    Names.UNKNOWN: (0.015, 0.015),
    Names.TITLE: (0.015, 0.015),
    Names.NAMESAKE: (0.25, 0.05),
    Names.ADDRESS: (0.12, 0.06),
    Names.RESPONSE: (0.7, 0.7),
}
"""Maximum shares of a page in elements named as furniture, and in links or places that change,
that are neither furniture of the site nor in the other page."""


class Compared(NamedTuple):
    """Texts and cores of two pages, in bins."""

    text_differing: int
    text_counted: int
    core_differing: int
    core_counted: int
    rows_differing: int
    rows_counted: int

    def is_alike(self, most: float) -> bool:
        """Return whether at most this share of the bins differs, of texts and of cores."""
        return (
            self.text_differing <= most * self.text_counted
            and self.core_differing <= most * self.core_counted
        )

    def resemblance(self, bits: int) -> float:
        """Return the estimated resemblance, the lower one of text and core, not below 0.

        Of the bins in which the sets differ, one in 2^bits looks equal by accident (Li & König
        2010, theorem 1). 1.0 where no bin counts.
        """
        accident = 2.0**-bits
        return min(
            max(0.0, 1 - differing / counted / (1 - accident)) if counted else 1.0
            for differing, counted in (self[:2], self[2:4])
        )


class Decided(NamedTuple):
    """That a page repeats another one."""

    rule: Rule
    compared: Compared | None


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
        "_aside", "_bins", "_bits", "_border", "_full", "_furniture", "_head", "_most_differing",
        "_named", "_not_theirs", "_planes", "_stored", "_title", "_weighing",
    )  # fmt: skip

    def __init__(self, page: Page, bins: int, bits: int) -> None:
        self._stored, self._weighing = page.evidence, page.weighing
        self._bins, self._bits = bins, bits
        self._full = (1 << bins) - 1
        self._head = Head.unpack(page.evidence)
        self._title = self._head.title - page.weighing.common
        self._not_theirs = page.weighing.changing | page.weighing.constant
        self._planes: Planes | None = None
        self._aside = self._border = self._named = self._furniture = 0
        self._most_differing = (1 - page.weighing.min_resemblance) * (1 - 2.0**-bits)
        if len(page.evidence) > HEAD.size:
            self._planes = Planes.unpack(page.evidence, bins, bits)
            self._aside = self._aside_of(self._planes, self._head.places, page.weighing.changing)
            self._named = self._planes.owned_by(NAMED, self._full)
            self._border = self._planes.owned_by(BORDER, self._full)
            if (furniture := page.weighing.furniture) is not None:
                self._furniture = furniture.plane()
                if furniture.is_most():
                    self._most_differing = 0.0

    def decide(
        self, stored: bytes, distance: int, *, same_embedded: bool = True
    ) -> Decided | None:
        """Return that the page repeats another one, or None.

        Parameters
        ----------
        stored
            What a store keeps of the other page; ``b""`` if it has lost it.
        distance
            Of the fingerprints, in bits.
        same_embedded
            Whether media and embedded data are the same.
        """
        if len(stored) != len(self._stored):
            return None
        head = Head.unpack(stored)
        names = self._names(head)
        if not same_embedded and names < Names.ADDRESS:
            return None
        if self._planes is None:
            return None if names is Names.OTHER else Decided(Rule.EQUAL, None)
        compared, beside = self._compare(stored, head)
        rule = self._rule(compared, beside, distance, names)
        return None if rule is None else Decided(rule, compared)

    def is_alike(self, stored: bytes) -> bool:
        """Return whether the core of another page with a sketch is alike."""
        compared, _ = self._compare(stored, Head.unpack(stored))
        return compared.rows_counted >= MIN_CORE_BINS and (
            compared.core_differing <= self._most_differing * compared.core_counted
        )

    def explain(self, stored: bytes) -> str:
        """Return how a page compares with another one, both with sketches, in words."""
        head = Head.unpack(stored)
        compared, beside = self._compare(stored, head)
        return (
            f"{self._names(head).name},"
            f" text {compared.text_differing} of {compared.text_counted} bins differ,"
            f" core {compared.core_differing} of {compared.core_counted},"
            f" rows {compared.rows_differing} of {compared.rows_counted}, beside {beside}"
        )

    def _rule(
        self, compared: Compared, beside: tuple[int, ...], distance: int, names: Names
    ) -> Rule | None:
        most, differ = self._most_differing, 1 - 2.0**-self._bits
        if names <= Names.UNKNOWN and (
            self._weighing.young_folder or compared.core_counted * self._bits < MIN_BITS
        ):
            return self._equal(compared, distance, names)
        if compared.is_alike(most):
            return Rule.ALIKE
        if any(
            count > share * differ * self._bins
            for count, share in zip(beside, MAX_BESIDE[names], strict=True)
        ):
            return None
        if names >= Names.ADDRESS:
            differing, counted, least = *compared[4:], MIN_CORE_BINS
            if compared.core_counted >= least and (
                compared.core_differing <= most / 2 * compared.core_counted
            ):
                return Rule.SAME_CORE
        else:
            differing, counted = compared[2:4]
            least = MIN_CORE_BINS if names is Names.TITLE else MIN_TELLING_CORE_BINS
        if counted >= least and differing <= EQUAL_ROWS * differ * counted:
            return Rule.SAME_CORE
        return None

    def _equal(self, compared: Compared, distance: int, names: Names) -> Rule | None:
        if compared.text_differing > EQUAL * compared.text_counted:
            return None
        if compared.text_counted * self._bits < _MIN_TELLING and distance:
            return None
        if names is Names.OTHER and self._weighing.young_site:
            return None
        return Rule.EQUAL_TEXT

    def _compare(self, stored: bytes, head: Head) -> tuple[Compared, tuple[int, int]]:
        """Return how the pages compare, and how many bins hold what only this page has besides.

        That is in elements named as furniture; and in links, places that change and, unless the
        pages are two responses with one page, on the borders of rows.
        """
        ours = self._planes
        assert ours is not None  # noqa: S101  (for the type checker)
        theirs = Planes.unpack(stored, self._bins, self._bits)
        differing = 0
        for mine, other in zip(ours.values, theirs.values, strict=True):
            differing |= mine ^ other
        counted = self._full & (~self._furniture | differing)
        core = ~(self._aside | self._aside_of(theirs, head.places, self._not_theirs))
        rows = core & ~(self._border | theirs.owned_by(BORDER, self._full))
        beside = differing & ~self._furniture & self._aside
        return Compared(
            *(
                (kind & bins).bit_count()
                for bins in (-1, core, rows)
                for kind in (differing, counted)
            )
        ), ((beside & self._named).bit_count(), (beside & ~self._named).bit_count())

    def _aside_of(self, planes: Planes, places: Sequence[int], known: frozenset[int]) -> int:
        """Return the bins whose minimum isn't in the core, given places that aren't."""
        aside = planes.owned_by(NAMED, self._full) | planes.owned_by(LINKS, self._full)
        for owner, place in enumerate(places, start=1):
            if place in known:
                aside |= planes.owned_by(owner, self._full)
        return aside

    def _names(self, head: Head) -> Names:  # noqa: PLR0911  (a table)
        weighing, ours = self._weighing, self._head
        if head.query == ours.query:
            if head.path == ours.path:
                return Names.RESPONSE if head.name == ours.name else Names.ADDRESS
            if (ours.steps - head.steps) % 2**32 in weighing.editions:
                return Names.ADDRESS
        elif head.path == ours.path and not (head.query and ours.query):
            return Names.ADDRESS
        if weighing.titles == "ignore":
            return Names.TITLE
        theirs = head.title - weighing.common
        if self._title != theirs and head.title and ours.title:
            return Names.OTHER
        if not (self._title and theirs) or weighing.young_site:
            return Names.UNKNOWN
        return Names.NAMESAKE if ours.name == head.name or ours.path == head.path else Names.TITLE
