"""Places of a page: which of them are told apart, and which change with each response.

Rule of this module: that a place changes is only seen where the same page is met again, all but
equal otherwise. Which page is met again is for its address to say, or two products that share all
but a line would be one: the same path and the same parameters, but for those that name a session
or a campaign (`scrapy_neardup.urls.Address`).

A place that is known to change isn't part of the core of a page; what that decides is in
`scrapy_neardup.evidence.decision`. It is known on those pages alone that have it, and only where
it is one of four that are told apart there, and holds half of their text at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.evidence.demands import EQUAL_ROWS, MIN_CORE_BINS
from scrapy_neardup.evidence.layout import BORDER, LINKS, MAX_TRACKED, NAMED, Head, Planes

MAX_SHARE = 0.5
"""Maximum share of a page's tokens in a place that is told apart."""

SMALL_SHARE = 0.25
"""Maximum share of the core's tokens in a place that is told apart before larger ones are."""

_MIN_TOKENS = 3
"""Minimum tokens in a place that is told apart."""

SHOWN = 4
"""Minimum number of pairs of responses in which a place must have changed; they must also be a
quarter of the pairs that have it."""

_CHANGED = 0.5
"""Minimum share of a place's bins that differ where it has changed."""

_CONSTANT = 0.75
"""Minimum surplus of pages with a place's usual text, as a share of all pages with the place."""

_MAX_COUNT = 32
"""Number of pages after which the counts of a place are halved."""
_MAX_PLACES = 64
"""Maximum number of places that are counted, those met last."""


def named_places(places: Sequence[int]) -> list[int]:
    """Return the place of each block, 16 bits, not 0: the first and last block of a place apart.

    What a template puts above or below the content often stands in the same kind of element.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, place in enumerate(places):
        first.setdefault(place, number)
        last[place] = number
    return [
        (place + (number == first[place]) * 0x5A5B + (number == last[place]) * 0x3C1D) & 0xFFFF
        or 1
        for number, place in enumerate(places)
    ]


def tracked(places: Sequence[int], counts: Sequence[int], tokens: int) -> tuple[int, ...]:
    """Return the places that are told apart: the last one, small ones, others; largest first.

    Parameters
    ----------
    places, counts
        Place and number of tokens of each block of content.
    tokens
        Number of tokens of the page.
    """
    sizes: Counter[int] = Counter()
    for place, count in zip(places, counts, strict=True):
        sizes[place] += count
    small = SMALL_SHARE * sum(sizes.values())
    found = sorted(
        (
            (place == places[-1], size <= small, size, place)
            for place, size in sizes.items()
            if _MIN_TOKENS <= size <= MAX_SHARE * tokens
        ),
        reverse=True,
    )
    return tuple(place for *_, place in found[:MAX_TRACKED])


class ChangingPlaces:
    """What is known of the places of one site."""

    def __init__(self) -> None:
        # Place -> pairs of responses in which it was another, and in which it was the same.
        self._seen: BoundedDict[int, list[float]] = BoundedDict(_MAX_PLACES)
        self._others: list[dict[str, list[float]]] = []
        self.changing: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """Return how many entries are held."""
        return len(self._seen) + sum(map(len, self._others))

    def learn(self, ours: bytes, theirs: bytes, *, bins: int, bits: int) -> frozenset[int]:
        """Compare two responses with one page; return which places newly are known to change.

        Parameters
        ----------
        ours, theirs
            What a store keeps of each.
        """
        before, now = Head.unpack(theirs), Head.unpack(ours)
        if before.title != now.title:
            return frozenset()
        changed = changes(ours, theirs, bins=bins, bits=bits)
        if changed is None:
            return frozenset()
        for place in set(before.places) & set(now.places) - {0} | changed:
            counts = self._seen.setdefault(place, [0.0, 0.0])
            self._seen.move_to_end(place)
            counts[place not in changed] += 1
            if sum(counts) >= _MAX_COUNT:
                counts[:] = (count / 2 for count in counts)
        known = self.changing
        self._count()
        return self.changing - known

    def dump(self) -> dict[str, list[float]]:
        """Return what was seen here."""
        return {str(place): counts for place, counts in self._seen.items()}

    def restore(self, dump: dict[str, list[float]]) -> None:
        """Go on from what was dumped by an earlier run."""
        self._seen.update((int(place), list(counts)) for place, counts in dump.items())
        self._count()

    def add_others(self, dumps: list[dict[str, list[float]]]) -> None:
        """Take over what others have seen, in place of what they had before."""
        self._others = dumps
        self._count()

    def _count(self) -> None:
        total: dict[int, tuple[float, float]] = dict.fromkeys(self._seen, (0.0, 0.0))
        for seen in (self.dump(), *self._others):
            for place, (other, same) in seen.items():
                before = total.get(int(place), (0.0, 0.0))
                total[int(place)] = before[0] + other, before[1] + same
        self.changing = frozenset(
            place for place, (other, same) in total.items() if other >= SHOWN and other >= same / 3
        )


class ConstantPlaces:
    """Which places of one site hold the same text on its pages."""

    def __init__(self) -> None:
        # Place -> its text, hashed; votes for it; pages.
        self._seen: BoundedDict[int, list[int]] = BoundedDict(_MAX_PLACES)
        self._others: list[dict[int, list[int]]] = []
        self.constant: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """Return how many entries are held."""
        return len(self._seen) + sum(map(len, self._others))

    def learn(self, places: Sequence[int], texts: Sequence[int]) -> None:
        """Count the tracked places of a kept page, with their texts, hashed."""
        for place, text in zip(places, texts, strict=True):
            seen = self._seen.setdefault(place, [text, 0, 0])
            self._seen.move_to_end(place)
            seen[1] += 1 if seen[0] == text else -1
            seen[2] += 1
            if seen[1] < 0:
                seen[:2] = text, 1
            if seen[2] >= _MAX_COUNT:
                seen[1:] = seen[1] // 2, seen[2] // 2
        self._count(self.constant.union(places))

    def dump(self) -> dict[str, list[int]]:
        """Return what was seen here."""
        return {str(place): counts for place, counts in self._seen.items()}

    def restore(self, dump: dict[str, list[int]]) -> None:
        """Go on from what was dumped by an earlier run."""
        self._seen.update((int(place), list(counts)) for place, counts in dump.items())
        self._count(self._seen)

    def add_others(self, dumps: list[dict[str, list[int]]]) -> None:
        """Take over what others have seen, in place of what they had before."""
        self._others = [
            {int(place): list(counts) for place, counts in dump.items()} for dump in dumps
        ]
        self._count({*self._seen}.union(*self._others))

    def _count(self, places: Iterable[int]) -> None:
        """Note which of these places hold the same text on all pages."""
        self.constant = frozenset(filter(self._is_constant, places))

    def _is_constant(self, place: int) -> bool:
        text, votes, pages = self._seen.get(place, (None, 0, 0))
        for seen in self._others:
            if place in seen:
                theirs, more, others = seen[place]
                text = theirs if text is None else text
                votes += more if theirs == text else -more
                pages += others
        return pages >= SHOWN and votes >= _CONSTANT * pages


def changes(ours: bytes, theirs: bytes, *, bins: int, bits: int) -> frozenset[int] | None:
    """Return the places in which two pages differ that are equal otherwise, or None."""
    heads = Head.unpack(ours), Head.unpack(theirs)
    planes = Planes.unpack(ours, bins, bits), Planes.unpack(theirs, bins, bits)
    full = (1 << bins) - 1
    differing = 0
    for mine, other in zip(planes[0].values, planes[1].values, strict=True):
        differing |= mine ^ other
    accident = 1 - 2.0**-bits
    core = full
    for each in planes:
        for owner in (BORDER, NAMED, LINKS):
            core &= ~each.owned_by(owner, full)
    rest, changed = core, set()
    for place in (set(heads[0].places) | set(heads[1].places)) - {0}:
        held = 0
        for head, each in zip(heads, planes, strict=True):
            if place in head.places:
                held |= each.owned_by(head.places.index(place) + 1, full)
        if (differing & held).bit_count() > _CHANGED * accident * held.bit_count():
            changed.add(place)
            rest &= ~held
    if rest.bit_count() < max(MIN_CORE_BINS, (1 - MAX_SHARE) * core.bit_count()):
        return None
    if (differing & rest).bit_count() > EQUAL_ROWS * accident * rest.bit_count():
        return None
    return frozenset(changed)
