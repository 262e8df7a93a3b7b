"""Two pages side by side: addresses, titles, and the parts of their texts that count.

Text that changes with each response, boilerplate and joints of both (`Pair.joints`) don't count.
Texts are compared by their sketches. `scrapy_neardup.judge.comparison` decides by the rest.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from math import sqrt
from operator import eq
from typing import Final, NamedTuple

import numpy as np

from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.judge.evidence import KINDS, NAMED, TEXT, Evidence, bits_of
from scrapy_neardup.judge.knowledge import MEDIA, Excluded
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sites import Context
from scrapy_neardup.judge.sketch import Overlap, Sketch, marked, overlap

_DEVIATIONS: Final = 2.0
"""Number of standard deviations by which a sampled resemblance may be too high."""
_UNSEEN: Final = 3.0
"""Number of sampled shingles that may differ although none was seen to, with 95 % confidence."""


_ANY_KIND: Final = np.uint64(1)
"""The low bit of a shingle, as in `SharedShingles.of_any_kind`."""


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


def compare_addresses(ours: Evidence, theirs: Evidence) -> AddressMatch:
    """Return how the addresses of two pages compare."""
    has_one_query = ours.query == theirs.query
    # Parameters that only one of two addresses has may have no effect.
    if ours.path == theirs.path and (has_one_query or not (ours.query and theirs.query)):
        names_canonical = ours.has_canonical or theirs.has_canonical
        is_response = has_one_query and not names_canonical
        return AddressMatch.RESPONSE if is_response else AddressMatch.PATH
    has_one_name = has_one_query and ours.name == theirs.name
    return AddressMatch.NAME if has_one_name else AddressMatch.OTHER


class Views(NamedTuple):
    """How two texts compare: without elements named as boilerplate, and with them."""

    text: Overlap
    all: Overlap
    text_scale: float
    """Number of shingles for each compared one: sketches sample, and boilerplate hides some."""
    all_scale: float
    """The same for both kinds, on average: most named elements are sampled more coarsely."""
    unseen: float
    """Number of shingles of named elements that may differ although no sampled one does."""

    def least(self) -> float:
        """Return a lower bound of the resemblance of all text, which holds in 39 cases of 40."""
        return _least(self.all.plus(Overlap(0.0, self.unseen, 0.0)), self.all_scale)

    def least_beside(self, ours: int, theirs: int) -> float:
        """Return the same bound if so many words of each page match none of the other page."""
        return _least(self.text.plus(Overlap(0.0, ours, theirs)), self.text_scale)


def _least(view: Overlap, scale: float) -> float:
    found, union = view.resemblance, max(1.0, sum(view))
    return found - _DEVIATIONS * sqrt(max(0.0, found * (1 - found) * (scale - 1) / union))


class AtHand:
    """A page at hand: its evidence, the parts that don't count, and its shingles if known.

    `sizes` are the bits of its sketches.
    """

    def __init__(
        self,
        evidence: Evidence,
        excluded: Excluded,
        text: Text | None,
        sizes: tuple[int, int],
        context: Context,
    ) -> None:
        self.evidence, self.excluded, self.text = evidence, excluded, text
        self.sizes, self.context = sizes, context
        self._version = context.knowledge.version
        self._sketches: dict[int, tuple[Sketch, ...]] = {0: evidence.sketches}

    def today(self) -> AtHand:
        """Return the page with today's knowledge, which may be newer than its own."""
        knowledge, ours, text = self.context.knowledge, self.evidence, self.text
        if knowledge.version == self._version:
            return self
        excluded = knowledge.exclude(ours)
        if text is not None and (told := text.telling(excluded.tells)) is not text:
            ours, text = ours._replace(paths=told.standing), told
            excluded = knowledge.exclude(ours)
        return AtHand(ours, excluded, text, self.sizes, self.context)

    def without(self, paths: frozenset[int]) -> AtHand:
        """Return the page if the text at some more DOM paths, or its media, don't count."""
        excluded = self.excluded.plus(Excluded(paths=paths - {MEDIA}, media=MEDIA in paths))
        return AtHand(self.evidence, excluded, self.text, self.sizes, self.context)

    def sketches(self, changing: Collection[int]) -> tuple[Sketch, ...]:
        """Return the page's sketches without the text at some DOM paths, if it is known."""
        left_out = bits_of([*self.evidence.paths], changing)
        if left_out not in self._sketches and self.text is not None:
            self._sketches[left_out] = self.text.sketches(self.sizes, left_out)
        return self._sketches[left_out]


class Pair:
    """A page at hand and a stored one; `of_theirs` has the stored one's parts that don't count."""

    def __init__(self, at_hand: AtHand, theirs: Evidence, of_theirs: Excluded) -> None:
        self.at_hand, self.context = at_hand, at_hand.context
        ours = at_hand.evidence
        self.ours, self.theirs = ours, theirs
        self.of_ours, self.of_theirs = at_hand.excluded, of_theirs
        self.identify()
        self.has_one_path = self.address in {AddressMatch.RESPONSE, AddressMatch.PATH}
        self.has_equal_media = ours.embedded == theirs.embedded
        # Other pages of the place may have their content where this page's text changes, so the
        # addresses must say that the two are one page.
        may_be_one = ours.path == theirs.path or (
            ours.query == theirs.query and (ours.query != 0 or ours.name == theirs.name)
        )
        may_change = may_be_one and self.title is not Title.OTHER
        self.leave_out(*((self.of_ours, of_theirs) if may_change else ()))

    def identify(self) -> None:
        """Compare addresses and titles, with the knowledge about the pages' sites."""
        ours, theirs = self.ours, self.theirs
        self.address, self.title = compare_addresses(ours, theirs), Title.UNKNOWN
        names_canonical = ours.has_canonical or theirs.has_canonical
        is_hint = self.address is AddressMatch.PATH and names_canonical
        if is_hint:
            self.address = AddressMatch.OTHER
        if self.context.parameters.titles != "ignore" and ours.segments and theirs.segments:
            own, other = (
                ours.segments - self.of_ours.segments, theirs.segments - self.of_theirs.segments
            )  # fmt: skip
            is_renumbered = ours.segments == theirs.segments and ours.title != theirs.title
            if (
                own - theirs.segments
                or other - ours.segments
                or (is_renumbered and self.address is AddressMatch.OTHER)
            ):
                self.title = Title.OTHER
            elif own & theirs.segments:
                self.title = Title.SAME
        if is_hint and self.believes_canonical():
            self.address = AddressMatch.PATH

    def believes_canonical(self) -> bool:
        """Return whether a canonical address counts as a path: titles must agree."""
        agree = self.title is Title.SAME or self.ours.title == self.theirs.title
        return agree and not (self.of_ours.canonicals or self.of_theirs.canonicals)

    def leave_out(self, *known: Excluded) -> None:
        """Leave out text and media that change by one of these, and compare the rows that stay."""
        ours, theirs = self.ours, self.theirs
        self.changing = frozenset[int]().union(*[each.paths for each in known])
        self.has_changing_media = any(each.media for each in known)
        own, other = (ours.rows, ours.named_rows), (theirs.rows, theirs.named_rows)
        if self.changing:
            own, other = (each.rows_without(self.changing) for each in (ours, theirs))
        self.has_equal_rows, self.has_equal_named = map(eq, own, other)
        if (sum(own) - sum(other)) % (1 << 32) == 0:  # only one template names a row
            self.has_equal_rows = self.has_equal_named = True

    def are_records(self) -> bool:
        """Return whether the texts differ at the place by which records differ."""
        ours, theirs = self.ours, self.theirs
        places, others = self.of_ours.records, self.of_theirs.records
        if ours.is_edition_of(theirs):
            places, others = self.of_ours.editions, self.of_theirs.editions
        places = places | others if ours.host == theirs.host else places & others
        if not places:
            return False
        if MEDIA in places and not self.has_equal_media:
            return True
        return not self.has_equal_rows and any(
            ours.rows_at(path) != theirs.rows_at(path) for path in places - {MEDIA}
        )

    def views(self) -> Views:
        """Return how the texts compare."""
        found, scales = [], []
        shared = dict.fromkeys(self.of_ours.shared + self.of_theirs.shared)
        sketches = self.at_hand.sketches(self.changing), self.theirs.sketches
        for a, b, size, kind in zip(*sketches, self.at_hand.sizes, KINDS, strict=True):
            level, boilerplate = max(a.level, b.level), 0
            for each in shared:
                boilerplate |= each.sketch(size, level)
            seen = max(1, size - boilerplate.bit_count())
            scales.append(size / seen * 2.0**level)
            both = overlap(a, b, boilerplate, size)
            if self.changing:
                # For the stored page only the number of changing shingles is known.
                at_changing = self.theirs.shingles_at(self.changing, kind)
                both = both._replace(theirs=max(0.0, both.theirs - at_changing))
            found.append(both)
        text, named = found
        if self.has_equal_named:
            scales[NAMED] = 1.0  # parts that are known to be equal aren't estimated
        whole = text.plus(named)
        scale = (scales[TEXT] * sum(text) + scales[NAMED] * sum(named)) / max(1.0, sum(whole))
        return Views(text, whole, scales[TEXT], scale, _UNSEEN * (scales[NAMED] - 1))

    def joints(self) -> int:
        """Return how many shingles of each page differ only because headers and footers do.

        The text of the page at hand must begin or end with boilerplate. Its innermost shingle
        isn't boilerplate of the other page, which has boilerplate that this one lacks. The content
        beside it must begin or end as on the other page: its outermost shingles are in that page's
        sketch, if they are sampled. O(shingles of the page and of the boilerplate).
        """
        text, sketch = self.at_hand.text, self.theirs.sketches[TEXT]
        own, other = ({*each.shared} for each in (self.of_ours, self.of_theirs))
        if text is None or self.title is Title.OTHER or own <= other or other <= own:
            return 0
        ours, theirs = (
            np.unique(np.concatenate([each.of_any_kind for each in shared]))
            for shared in (own - other, other - own)
        )
        if np.isin(theirs, ours, assume_unique=True).all():
            return 0
        size = text.source.size
        of_page = shingle_hashes(text.words, size)
        is_known = np.isin(of_page | _ANY_KIND, ours)
        found = 0
        for shingles, known in ((of_page, is_known), (of_page[::-1], is_known[::-1])):
            run = int(known.argmin())
            if not run or np.isin(shingles[run - 1] | _ANY_KIND, theirs):
                continue
            joined, content = (
                int.from_bytes(marked(each, self.at_hand.sizes[TEXT], sketch.level), "little")
                for each in np.split(shingles[run : run + 2 * size - 1], [size - 1])
            )
            if content and not content & ~sketch.bits:
                missing = (joined & ~sketch.bits).bit_count()
                found += min(missing << sketch.level, size - 1)
        return found
