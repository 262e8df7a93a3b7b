# ruff: noqa: E501, B905, INP001, SLF001, RUF001, S101, I001, C901, B008, PLR0911, RUF100
"""Two pages to a decision.

1. *What counts* of a page is its visible text without boilerplate: what its tags say is boilerplate
   (never read at all); what half of its folder's kept pages share, or those of a folder above; what
   stands in elements that are named as boilerplate, where the addresses agree; and what stands at
   DOM paths that are known to change with each response, where addresses agree, too.
2. Two pages are one if what counts is alike to `NEEDED`, under another title to `RETITLED`, at the
   same address but for a session to `MET_AGAIN`.
3. Where hardly anything counts, or hardly anything is known of the pages' folder, they must be equal.
4. Other media and embedded data contradict where little text counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from context import Site
from evidence import KINDS, MAIN, NAMED, SIZES, Evidence, Text
from sketch import Overlap, overlap

NEEDED: Final = 0.9
"""Resemblance of two pages that are one (``NEARDUP_MIN_RESEMBLANCE``)."""
RETITLED: Final = 0.95
"""The same, under another title."""
MET_AGAIN: Final = 0.8
"""The same, at the same address but for a session. Nothing less is ever dropped."""
MIN_SHINGLES: Final = 20
"""Number of shingles that count below which texts must be equal."""
MIN_MAIN: Final = 10
"""Number of shingles that count without named elements below which these count, too."""
MIN_BESIDE_MEDIA: Final = 60
"""Number of shingles that count below which other media or data contradict."""
MAX_NAMED: Final = 0.4
"""Maximum share in which pages may differ with elements left out that are named as boilerplate."""


class Rule(StrEnum):
    """What decided."""

    EQUAL = "equal"
    ALIKE = "alike"
    RETITLED = "retitled"
    MET_AGAIN = "met-again"


class Decision(NamedTuple):
    """Whether two pages are one, by which rule, how alike they are, and how alike they'd have to be."""

    is_same: bool
    rule: Rule
    resemblance: float
    needed: float


@dataclass(frozen=True, slots=True)
class Page:
    """A page at hand: its address, evidence, text, and digest of media and embedded data."""

    url: str
    evidence: Evidence
    text: Text
    embedded: int = 0


class Knowledge(NamedTuple):
    """Which kinds of knowledge count (``NEARDUP_LEARN``)."""

    boilerplate: bool = True
    paths: bool = True
    titles: bool = True


class Judgement:
    """A page at hand, compared with stored ones.

    Parameters
    ----------
    page
        The page.
    site
        What is known of its site.
    titles
        ``strict``: another title, numbers included, needs equal text; ``ignore``: titles don't count.
    exact
        Whether only pages are one that are equal but for what changes with each response.
    """

    def __init__(
        self,
        page: Page,
        site: Site,
        *,
        titles: Literal["learn", "strict", "ignore"] = "learn",
        exact: bool = False,
        needed: float = NEEDED,
        learn: Knowledge = Knowledge(),
    ) -> None:
        self._page, self._site, self._learn = page, site, learn
        self._titles, self._exact, self._needed = titles, exact, needed
        self._sketches = {0: page.evidence.sketches}

    def decide(self, url: str, theirs: Evidence, embedded: int = 0) -> Decision:
        """Decide whether the page repeats a stored one at `url`. Some 20 µs."""
        ours = self._page.evidence
        same_path = ours.path == theirs.path
        met_again = same_path and ours.query == theirs.query
        # Parameters that only one of two addresses has may mean nothing.
        same_address = same_path and (met_again or not (ours.query and theirs.query))
        same_name = same_address or ours.name == theirs.name
        title = self._same_title(url, theirs)
        changing: frozenset[int] = frozenset()
        if self._learn.paths and (met_again or (title == "own" and ours.name == theirs.name)):
            changing = self._site.changing(self._page.url, url)
        is_equal = self._has_rows_of(theirs, changing)
        same_named = ours.named_rows == theirs.named_rows
        same_words = ours.title == theirs.title
        same_embedded = self._page.embedded == embedded
        if self._exact:
            return _equality(is_equal and same_named and same_words and same_embedded)
        if not ours.sketches:
            return _equality(
                is_equal and same_named and same_embedded and title != "other"
                and (title == "own" or ours.segments == theirs.segments)
            )  # fmt: skip
        if self._titles == "strict" and not same_words:
            return _equality(is_equal and same_named and same_embedded)
        main, everything = self._overlaps(url, theirs, changing)
        if not same_embedded and not same_address and main.least < MIN_BESIDE_MEDIA:
            return _equality(False)
        if is_equal and ours.segments == theirs.segments and (same_named or met_again):
            return _equality(True)  # the same rows, if in another order
        has_titles = ours.title or theirs.title
        if has_titles and not same_address and self._site.is_young(self._page.url, url):
            return _equality(is_equal and same_named)
        if everything.least < MIN_SHINGLES:
            return _equality(False)
        rule, needed = Rule.ALIKE, self._needed
        if title == "other":
            rule, needed = Rule.RETITLED, max(RETITLED, needed)
        elif met_again:
            rule, needed = Rule.MET_AGAIN, min(MET_AGAIN, needed)
        found = everything
        if same_name and everything.resemblance >= 1 - MAX_NAMED and main.least >= MIN_MAIN:
            found = main
        resemblance = found.resemblance
        return Decision(resemblance >= needed, rule, resemblance, needed)

    def _same_title(self, url: str, theirs: Evidence) -> Literal["own", "other", "unknown"]:
        """Return whether two pages have one title of their own, other titles, or neither."""
        a, b = self._page.evidence.segments, theirs.segments
        if self._titles == "ignore" or not (a and b):
            return "unknown"
        own_a, own_b = a, b
        if self._learn.titles:
            own_a = self._site.own_segments(self._page.url, a)
            own_b = self._site.own_segments(url, b)
        if a != b and (own_a - b or own_b - a):
            return "other"
        return "own" if own_a & b else "unknown"

    def _has_rows_of(self, theirs: Evidence, changing: frozenset[int]) -> bool:
        ours = self._page.evidence
        if changing & (ours.paths.keys() | theirs.paths.keys()):
            return ours.rows_without(changing) == theirs.rows_without(changing)
        return ours.rows == theirs.rows

    def _overlaps(
        self, url: str, theirs: Evidence, changing: frozenset[int]
    ) -> tuple[Overlap, Overlap]:
        """Return how texts compare without elements named as boilerplate, and with them."""
        left_out = sum(
            1 << number
            for number, path in enumerate(self._page.evidence.paths)
            if path in changing
        )
        if left_out not in self._sketches:
            self._sketches[left_out] = self._page.text.sketches(left_out)
        found = []
        urls = (self._page.url, url)
        for kind, a, b in zip(KINDS, self._sketches[left_out], theirs.sketches):
            boilerplate = 0
            if self._learn.boilerplate:
                boilerplate = self._site.boilerplate(urls, kind, max(a.level, b.level))
            found.append(overlap(a, b, boilerplate, SIZES[kind]))
        # Of the stored page it isn't known which shingles stand there, but how many.
        spared = sum(at.shingles for path, at in theirs.paths.items() if path in changing)
        main = found[MAIN].without(spared)
        return main, main.plus(found[NAMED])


def helped(judgement: Judgement, url: str, theirs: Evidence, embedded: int) -> tuple[str, ...]:
    """Return the kinds of knowledge without which two pages that are one would be two."""
    page, site = judgement._page, judgement._site
    return tuple(
        kind
        for kind in Knowledge._fields
        if not Judgement(page, site, learn=judgement._learn._replace(**{kind: False}))
        .decide(url, theirs, embedded).is_same
    )  # fmt: skip


def _equality(is_equal: bool) -> Decision:
    """Return the decision where only equal pages are one."""
    return Decision(is_equal, Rule.EQUAL, float(is_equal), 1.0)
