"""Parts of a site's pages that change by themselves: clocks, counters, adverts, tokens.

Only two responses to one request show them, and only a crawl can repeat a request
(`scrapy_neardup.crawl.experiments.refetch`). Two URLs may be two pages, however similar they are.
Parts that differ between the two responses aren't content of any page of the same *place*, the
folder of the address without its numbers. They are the text at the DOM paths that differ, all
shingles that only one response has, and the media, if they differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.evidence import NAMED, Evidence
from scrapy_neardup.judge.knowledge import ENTRY_BYTES, MEDIA, NOTHING, Excluded, Folders, SiteRule
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sketch import SharedShingles

SHOWN: Final = 2
"""Minimum number of pairs of responses in which a part must have changed, counting all places of
the host at which it changed at least as often as not."""
EVERYWHERE: Final = 10
"""Minimum number of places at which a part must have changed, and none at which it stayed the
same, to be known to change at all places of the host: a crawl can't test every place."""
MAX_UNASKED: Final = 16
"""Maximum number of shingles of such a part at an untested place: a counter has few, and content
may be at the same DOM path in another section."""
MIN_SHARED: Final = 0.2
"""Minimum share of the smaller response's shingles that the other response has, too."""

MIN_CHANGED: Final = 0.3
"""Minimum share of the shingles at a DOM path of the text that only one response has. If fewer
differ, for example a clock among paragraphs, the path counts neither as changed nor as the same.
In elements named as boilerplate one is enough: a clock may stand in the sentences of a footer."""

ASKED: Final = frozenset([8**n for n in range(8)])
"""Numbers of pages with one question at which the request of one is repeated."""

_MAX_QUESTIONS: Final = 4096
_MAX_ASKED: Final = 64
_MAX_PATHS: Final = 128
"""Maximum number of DOM paths of a place that are counted."""
_MAX_SHINGLES: Final = 4096
"""Maximum number of shingles of a place that are known to change."""

Counted = dict[int, tuple[int, int]]
"""DOM path -> numbers of pairs of responses in which its text differed, and was the same."""


class _Place(SharedShingles):
    """What changes on the pages of one place: DOM paths, and shingles that one response lacked."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counted = {}

    def count(self, paths: Iterable[int], changed: set[int]) -> None:
        for path in paths:
            other, same = self.counts.get(path, (0, 0))
            if len(self.counts) < _MAX_PATHS or path in self.counts:
                self.counts[path] = other + (path in changed), same + (path not in changed)

    def add(self, shingles: NDArray[np.uint64]) -> None:
        self.set(np.union1d(self.shingles, shingles)[:_MAX_SHINGLES])

    def dump(self, *, complete: bool) -> list[Any]:
        counts = [[path, *seen] for path, seen in self.counts.items()]
        return [counts, self.shingles.tolist() if complete else []]

    @classmethod
    def load(cls, dump: list[Any]) -> Self:
        place, (counts, shingles) = cls(), dump
        seen = ((int(path), (int(other), int(same))) for path, other, same in counts[:_MAX_PATHS])
        place.counts = dict(seen)
        place.add(np.array(shingles[:_MAX_SHINGLES], np.uint64))
        return place

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.counts) + super().nbytes


class Questions:
    """Questions that a second response to one of several requests would answer.

    It is asked for the first page; if that got no answer, for later ones, ever less often.
    """

    def __init__(self) -> None:
        self._pages: BoundedDict[Hashable, int] = BoundedDict(_MAX_QUESTIONS)
        """Question -> number of pages with it."""
        self._asks: BoundedDict[int, None] = BoundedDict(_MAX_ASKED)
        """Pages whose requests should be repeated."""

    def add(self, question: Hashable, page_id: int) -> bool:
        """Note a page whose second response would answer a question; return whether to ask."""
        self._pages[question] = pages = self._pages.get(question, 0) + 1
        if is_asked := pages in ASKED:
            self._asks[page_id] = None
        return is_asked

    def asks_again(self, page_id: int) -> bool:
        """Return, once, whether the request of a page should be repeated."""
        if asks := page_id in self._asks:
            del self._asks[page_id]
        return asks


class Changing(SiteRule[_Place]):
    """The changing parts of the pages of one host, by place."""

    name = "changing"
    sentence = "parts of its pages change with each response to the same request"
    shown = _Place
    most = 64

    def __init__(self, folders: Folders) -> None:
        super().__init__(folders)
        self._known: dict[int, frozenset[int]] = {}
        self._shown: frozenset[int] = frozenset()
        """DOM paths that change at some place of the host."""
        self._everywhere: frozenset[int] = frozenset()
        """DOM paths that change at all places of the host, tested or not."""
        self.questions = Questions()

    def learn_response(
        self, place: int, ours: Evidence, theirs: Evidence, texts: tuple[Text, Text]
    ) -> bool:
        """Learn from two responses to one request; return whether something new is known.

        A response with another title or heading, or with almost nothing in common, is another page
        (an error, a login), and is ignored.
        """
        one, other = (text.shingles for text in texts)
        only = np.setxor1d(one, other, assume_unique=True)
        common = (len(one) + len(other) - len(only)) / 2
        if ours.segments != theirs.segments or common < MIN_SHARED * min(len(one), len(other)):
            return False
        rows = [each.rows_by_path() for each in texts]
        paths = rows[0].keys() | rows[1].keys()
        differ = frozenset(path for path in paths if rows[0].get(path) != rows[1].get(path))
        told = [each.telling(differ) for each in texts]
        changed = {
            path for path in differ
            if path & 1 == NAMED
            or any(_share_at(path, each, only) >= MIN_CHANGED for each in told)
        }  # fmt: skip
        changed |= {MEDIA} if ours.embedded != theirs.embedded else set()
        at = self.used(place)
        at.count([*sorted(changed), *sorted({MEDIA, *paths} - differ - changed)], changed)
        at.add(only)
        before = self._known, self._everywhere
        self.refresh([place])
        return (self._known, self._everywhere) != before

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count."""
        place = self.folders.place(evidence.folder)
        at = self.own.get(place)
        shared = (at,) if at is not None and len(at.shingles) else ()
        known = self._known.get(place, frozenset())
        tells = known | self._shown
        if self._everywhere:
            known |= {
                path for path in self._everywhere.intersection(evidence.paths)
                if evidence.paths[path].shingles <= MAX_UNASKED
            }  # fmt: skip
        if not (tells or shared):
            return NOTHING
        paths, by = known.intersection(evidence.paths), (self.name,) if known or shared else ()
        return Excluded(
            paths=paths, media=MEDIA in known, shared=shared, by=by, tells=tells - {MEDIA}
        )

    def paths(self, place: int) -> frozenset[int]:
        """Return the DOM paths whose text is known to change on the pages of a place."""
        return self._known.get(place, frozenset())

    def untested(self, evidence: Evidence) -> frozenset[int]:
        """Return the DOM paths of a page, and its media, that change elsewhere on its host.

        Whether they change on pages of its own place is unknown, as no request was repeated there.
        """
        tested = [each.counts for each in self.of(self.folders.place(evidence.folder))]
        shown = self._shown if evidence.embedded else self._shown - {MEDIA}
        return shown.intersection({*evidence.paths, MEDIA}).difference(*tested)

    def doubt(self, page_id: int, evidence: Evidence) -> None:
        """Note a page that would repeat another one if its `untested` text didn't count."""
        self.questions.add(self.folders.section(evidence.host, evidence.folder), page_id)

    def stays(self, evidence: Evidence, path: int) -> bool | None:
        """Return whether the text at a DOM path was the same in two responses to one request.

        None if no request was repeated for a page of this place with such a path. Media don't stay
        the same if they ever changed: a page without the picture that changes can't show that.
        """
        at = self.own.get(self.folders.place(evidence.folder))
        if at is None or path not in at.counts:
            return None
        other, same = at.counts[path]
        return other == 0 if path == MEDIA else same > other

    def refresh(self, groups: Iterable[int]) -> None:  # noqa: ARG002  (one place tells of another)
        """Compute what is known to change from all counts."""
        total: dict[int, Counted] = {}
        for place in self.own.keys() | self.others.keys():
            sums = total[place] = {}
            for entry in self.of(place):
                for path, (other, same) in entry.counts.items():
                    before = sums.get(path, (0, 0))
                    sums[path] = before[0] + other, before[1] + same
        changed = {
            place: {path: other for path, (other, same) in sums.items() if other >= max(1, same)}
            for place, sums in total.items()
        }
        pairs = Counter[int]()
        for each in changed.values():
            pairs.update(each)
        self._shown = frozenset(path for path, number in pairs.items() if number >= SHOWN)
        found = {place: self._shown.intersection(paths) for place, paths in changed.items()}
        self._known = {place: paths for place, paths in found.items() if paths}
        places = Counter(path for sums in total.values() for path in sums)
        stay = {path for sums in total.values() for path, (_, same) in sums.items() if same}
        self._everywhere = frozenset(
            path for path, number in places.items() if number >= EVERYWHERE and path not in stay
        )


def _share_at(path: int, text: Text, only: NDArray[np.uint64]) -> float:
    """Return the share of the shingles at a page's DOM path that its other response lacks."""
    if path not in text.standing:
        return 0.0
    bit = np.uint8(1 << [*text.standing].index(path))
    there = text.shingles[text.paths & bit != 0]
    return float(np.isin(there, only, assume_unique=True).mean()) if len(there) else 1.0
