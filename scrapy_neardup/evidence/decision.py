"""Two pages to a decision: the table, once.

Rule of this module: pure; it sees what a store keeps of one page and what is at hand of the other,
and decides the same as ``lua/evidence.lua``.

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
less alike  more than    say so by more than a title        the same, if it is half as little
            alike
alike to    alike to     differ                             duplicate, `Rule.ALIKE`
99 %        99 %
equal       equal        say nothing, or differ, where      duplicate, `Rule.EQUAL_TEXT`
                         the site is hardly known
anything else                                               new
=========== ============ ================================== =====================================

Alike is a resemblance of .9 (``NEARDUP_MIN_RESEMBLANCE``); what is more than that, long enough,
and little, is in `DEMANDS`. Bins don't count in which both pages have the same value and it is
*furniture* of the site (`scrapy_neardup.evidence.furniture`). Where only one of the pages has most
of that furniture, as where the other is a printable version, none of its bins counts. By a title
alone only furniture of both is left out: posts of a thread quote each other under its title.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

from scrapy_neardup.evidence.layout import HEAD, LINKS, NAMED, Head
from scrapy_neardup.evidence.overlap import Overlap
from scrapy_neardup.verdict import Page

EQUAL = 0.003
"""Maximum share of bins that differ between texts that a sketch takes for equal."""

EQUAL_ROWS = 0.01
"""Maximum estimated share of rows that differ between equal cores."""

MIN_CORE_BINS = 24
"""Minimum number of bins of the core that count where it decides beside names that say more than a
title."""

MIN_TELLING_CORE_BINS = 128
"""Minimum number of bins of the core that count where titles say nothing more, or the contrary."""

MIN_BITS = 64
"""Minimum number of bits of the core that count where titles differ or say nothing, and of the
text where it is to be equal under another title."""

MIN_EQUAL_BITS = 512
"""Minimum number of bits of the text that count where a sketch alone tells that texts are equal;
with fewer, only pages of the same shingles are one."""


class Rule(StrEnum):
    """Which row of the table decided."""

    EQUAL = "equal"
    ALIKE = "alike"
    EQUAL_TEXT = "equal-text"
    SAME_CORE = "same-core"
    WITHIN_K = "within-k"


class Names(IntEnum):
    """What the titles and addresses of two pages say about them."""

    OTHER = 0
    """Two pages: titles differ, and so do the last parts of the addresses."""
    RETITLED = 1
    """Two pages: titles differ. The last part of the address is the same, as in a translation."""
    UNKNOWN = 2
    """Nothing: a title is missing, or is that of other pages, too."""
    TITLE = 3
    """One page: they share a title of their own."""
    NAMESAKE = 4
    """One page: they share a title of their own, and the path or its last part."""
    TRANSLATED = 5
    """One page by its address, as with `ADDRESS`; but titles differ."""
    ADDRESS = 6
    """One page: the address is the same but for parameters that were added, or for an edition."""
    RESPONSE = 7
    """One page: the address is the same but for a session."""


class Demand(NamedTuple):
    """What pages have in common that are one.

    Parameters
    ----------
    unlike
        Maximum share of texts and cores that differs, as a share of what may differ in alike ones.
        What follows is demanded of pages whose texts aren't as alike as that.
    differing
        Maximum estimated share of the core that differs, with names from `Names.NAMESAKE` on of
        its rows.
    counted
        Minimum number of its bins that count.
    named, links
        Maximum shares of the page in elements named as furniture, and in links, that are neither
        furniture of the site nor in the other page.
    nearly
        Maximum share of the core that differs where the page has half of that besides, as a share
        of what may differ in alike ones; 0 where that isn't enough.
    """

    unlike: float
    differing: float
    counted: int
    named: float
    links: float
    nearly: float


DEMANDS = {
    Names.OTHER: Demand(0.1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.RETITLED: Demand(1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.UNKNOWN: Demand(1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.TITLE: Demand(1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.NAMESAKE: Demand(1, EQUAL_ROWS, MIN_CORE_BINS, 0.25, 0.02, 0.7),
    Names.TRANSLATED: Demand(1, EQUAL_ROWS, MIN_CORE_BINS, 0.08, 0.02, 0.5),
    Names.ADDRESS: Demand(1, EQUAL_ROWS, MIN_CORE_BINS, 0.25, 0.02, 0.7),
    Names.RESPONSE: Demand(1, 0.1, MIN_CORE_BINS, 0.7, 0.7, 0.7),
}
"""Names -> what two pages must have in common to be one although their texts aren't alike."""

UNDER_ONE_TITLE = 0.7
"""Maximum share of cores that differs, as a share of what may differ in alike ones, under a title
alone; of texts, where fewer than `MIN_TELLING_CORE_BINS` of the core count."""


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


class Decided(NamedTuple):
    """The rule by which a page repeats another one, and how the two compare."""

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
        "_bins", "_bits", "_head", "_most_differing", "_not_theirs", "_overlap", "_stored",
        "_title", "_weighing",
    )  # fmt: skip

    def __init__(self, page: Page, bins: int, bits: int) -> None:
        self._stored, self._weighing = page.evidence, page.weighing
        self._bins, self._bits = bins, bits
        self._head = Head.unpack(page.evidence)
        self._title = self._head.title - page.weighing.common
        self._not_theirs = page.weighing.changing | page.weighing.constant
        self._most_differing = (1 - page.weighing.min_resemblance) * (1 - 2.0**-bits)
        self._overlap: Overlap | None = None
        if len(page.evidence) > HEAD.size:
            marks: tuple[Any, ...] = ()
            if (furniture := page.weighing.furniture) is not None:
                marks = furniture.plane(), furniture.lacked(bits)
                if furniture.is_most():
                    self._most_differing = 0.0
            aside = _aside(self._head.places, page.weighing.changing)
            self._overlap = Overlap(page.evidence, bins, bits, aside, *marks)

    def decide(self, stored: bytes, *, same_embedded: bool = True) -> Decided | None:
        """Return by which rule the page repeats another one, or None if it doesn't.

        Parameters
        ----------
        stored
            What a store keeps of the other page; ``b""`` if it has lost it.
        same_embedded
            Whether media and embedded data are the same.
        """
        if len(stored) != len(self._stored):
            return None
        head = Head.unpack(stored)
        names = self._names(head)
        if not same_embedded and names < Names.TRANSLATED:
            return None
        if self._overlap is None:
            return None if names <= Names.RETITLED else Decided(Rule.EQUAL, None)
        compared, beside = self._compare(stored, head, names)
        rule = self._rule(compared, beside, names, same_text=head.text == self._head.text)
        return None if rule is None else Decided(rule, compared)

    def resemblance(self, stored: bytes) -> float | None:
        """Return the estimated resemblance of another page; None where one has no sketch."""
        if self._overlap is None or len(stored) != len(self._stored):
            return None
        head = Head.unpack(stored)
        compared, _ = self._compare(stored, head, self._names(head))
        return compared.resemblance(self._bits)

    def is_alike(self, stored: bytes) -> bool:
        """Return whether the core of another page with a sketch is alike."""
        head = Head.unpack(stored)
        compared, _ = self._compare(stored, head, self._names(head))
        differing, counted = compared.core
        return compared.rows[1] >= MIN_CORE_BINS and differing <= self._most_differing * counted

    def explain(self, stored: bytes) -> str:
        """Return how a page compares with another one, both with sketches, in words."""
        head = Head.unpack(stored)
        names = self._names(head)
        compared, beside = self._compare(stored, head, names)
        counts = ", ".join(
            f"{differing} of {counted} bins of {name}"
            for name, (differing, counted) in compared._asdict().items()
        )
        return f"{names.name}: {counts} differ; beside, {beside[0]} and {beside[1]}"

    def _rule(
        self, compared: Compared, beside: tuple[int, int], names: Names, *, same_text: bool
    ) -> Rule | None:
        most, differ = self._most_differing, 1 - 2.0**-self._bits
        if names <= Names.UNKNOWN and (
            self._weighing.young_folder or compared.core[1] * self._bits < MIN_BITS
        ):
            return self._equal(compared, names, same_text=same_text)
        demand = DEMANDS[names]
        differing, counted = compared.core
        if compared.is_alike(demand.unlike * most):
            unlike, of = compared.core if counted >= MIN_TELLING_CORE_BINS else compared.text
            if not self._by_title(names) or unlike <= UNDER_ONE_TITLE * most * of:
                return Rule.ALIKE
        besides = max(
            count / (share * differ * self._bins)
            for count, share in zip(beside, (demand.named, demand.links), strict=True)
        )
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
        if counted >= demand.counted and differing <= demand.differing * differ * counted:
            return Rule.SAME_CORE
        return None

    def _equal(self, compared: Compared, names: Names, *, same_text: bool) -> Rule | None:
        if names <= Names.RETITLED and self._weighing.young_site:
            return None
        differing, counted = compared.text
        # Of a page that is furniture throughout the text says nothing against another title.
        least = MIN_BITS if names <= Names.RETITLED else 0
        is_told = counted * self._bits >= (least if same_text else MIN_EQUAL_BITS)
        return Rule.EQUAL_TEXT if is_told and differing <= EQUAL * counted else None

    def _by_title(self, names: Names) -> bool:
        """Return whether a title alone says that it is one page, and titles count."""
        return names is Names.TITLE and self._weighing.titles != "ignore"

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
        weighing, ours = self._weighing, self._head
        theirs = head.title - weighing.common
        ignored = weighing.titles == "ignore"
        is_retitled = not ignored and self._title != theirs and head.title and ours.title
        is_one = head.path == ours.path and not (head.query and ours.query)
        if head.query == ours.query:
            if head.path == ours.path and head.name == ours.name:
                return Names.RESPONSE
            is_one = head.path == ours.path or (
                (ours.steps - head.steps) % 2**32 in weighing.editions
            )
        if is_one:
            return Names.TRANSLATED if is_retitled else Names.ADDRESS
        if ignored:
            return Names.TITLE
        if is_retitled:
            return Names.RETITLED if ours.name == head.name else Names.OTHER
        if not (self._title and theirs) or weighing.young_site:
            return Names.UNKNOWN
        return Names.NAMESAKE if ours.name == head.name or ours.path == head.path else Names.TITLE


def _aside(places: Sequence[int], known: frozenset[int]) -> int:
    """Return the owners that aren't in the core of a page, owner i as bit i.

    Parameters
    ----------
    places
        Its tracked places.
    known
        Places that aren't in a core.
    """
    aside = 1 << NAMED | 1 << LINKS
    for owner, place in enumerate(places, start=1):
        if place in known:
            aside |= 1 << owner
    return aside
