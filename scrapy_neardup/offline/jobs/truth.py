"""The truth: which pages repeat others, by the exact resemblance of texts without templates.

It is independent of the filter's features, sketches and thresholds. A line that seven tenths of
the pages of a folder have belongs to a *template*, and counts as one word, the same for all such
lines. So the text that all pages have doesn't outweigh the little text of a page's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import digest, features, token_hashes
from scrapy_neardup.fingerprints.hashing import Hashes, token_hashes_of_each
from scrapy_neardup.judge.analysis import MIN_JUDGED_TOKENS, Analyser
from scrapy_neardup.offline.clusters import cluster
from scrapy_neardup.offline.execution import ALONE
from scrapy_neardup.offline.jobs import joining
from scrapy_neardup.offline.jobs.joining import HashSets
from scrapy_neardup.offline.jobs.scanning import contents
from scrapy_neardup.offline.joins.measures import jaccard
from scrapy_neardup.offline.readers.files import FoundPage
from scrapy_neardup.report.summary import Entry, unpacked
from scrapy_neardup.text import OMITTED, Block, Blocks, Content, Form

_FORMS = {why: form for form, why in OMITTED.items()}
"""Reason in an audit -> form of the text."""


ReadPage = tuple[str, Content | None]
"""A page: its URL or place, and its content, None if it can't be read."""


def read_pages(records: Iterable[FoundPage], analyser: Analyser) -> Iterator[ReadPage]:
    """Yield the pages of records, as `scan` reads them."""
    for record, content in contents(records, analyser.read, Content.of_text):
        yield record.page, content if isinstance(content, Content) else None


def audited_pages(entries: Iterable[Entry]) -> Iterator[ReadPage]:
    """Yield the distinct pages of audits with texts: title, headings and text."""
    names: set[str] = set()
    for entry in entries:
        is_page = entry.get("event") is None and isinstance(entry.get("text"), str)
        if is_page and entry["page"] not in names:
            names.add(entry["page"])
            yield (
                entry["page"],
                Content(
                    title=entry.get("title") or "",
                    headings=tuple(map(str, entry.get("headings") or ())),
                    blocks=Blocks.of(_blocks(unpacked(entry["text"]), entry.get("omitted") or ())),
                ),
            )
    if not names:
        raise InputError(
            "the audit has no texts; the setting NEARDUP_AUDIT_TEXT = True writes them"
        )


def _blocks(text: str, omitted: Iterable[object]) -> list[Block]:
    """Return a block for each form, because an audit doesn't have the order of lines in a page."""
    parts: dict[Form, list[str]] = {Form.CONTENT: []}
    end = 0
    for part in omitted:
        match part:
            case [int(start), int(stop), str(why)] if end <= start < stop and why in _FORMS:
                parts[Form.CONTENT].append(text[end:start])
                parts.setdefault(_FORMS[why], []).append(text[start:stop])
                end = stop
    parts[Form.CONTENT].append(text[end:])
    return [Block("\n".join(texts), form, 0) for form, texts in parts.items()]


SHINGLE = 4
"""Number of words in a shingle of the truth, independent of the filter's."""

DUPLICATE, LOST = 0.9, 0.8
"""Minimum resemblance of a duplicate to an earlier page, and the resemblance below which a dropped
page is lost."""

_SHARE, _PAGES = 0.7, 10
"""Minimum share and minimum number of a folder's kept pages that have a line of its template."""

_MARK = np.zeros(1, np.uint64)
"""The word that represents a line of a template."""

_MEMORY = 1 << 29
"""Bytes of memory in which shingles are joined."""
_PAIRS = 1 << 23
"""Maximum number of pairs that are found at once."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The exact result for each page of a collection.

    `best` (n,) float64: the largest resemblance to an earlier page, 0 below 0.8; `nearest` (n,)
    int64: that page, or the first of several, -1 for none.
    """

    best: NDArray[np.float64]
    nearest: NDArray[np.int64]

    @property
    def duplicates(self) -> NDArray[np.bool_]:
        """Mask of the pages that are duplicates."""
        return self.best >= DUPLICATE

    @property
    def groups(self) -> NDArray[np.int64]:
        """The first page of each page's group, int64; a page is grouped with its nearest one."""
        (pages,) = np.nonzero(self.nearest >= 0)
        return cluster(pages, self.nearest[pages], len(self.nearest))


class Texts:
    """The texts of a collection, 8 bytes a word."""

    def __init__(self) -> None:
        self._pages: list[tuple[Hashes, list[int], list[bool], Hashes]] = []
        """The digests of a page's lines, their words and which are boilerplate; all words."""
        self._folders: dict[str, list[int]] = {}
        self._template: set[int] = set()

    def __len__(self) -> int:
        return len(self._pages)

    def add(self, page: ReadPage) -> None:
        """Add the next page."""
        name, content = page
        folder = name.partition("?")[0].rpartition("/")[0]
        self._folders.setdefault(folder, []).append(len(self))
        named, tokens, counts = _read(content or Content())
        lines = [digest(tokens[start:stop].tobytes()) for start, stop in _bounds(counts)]
        self._pages.append((np.array(lines, np.uint64), counts, named, tokens))

    def learn_template(self, kept: NDArray[np.bool_]) -> None:
        """Learn the lines of templates from the `kept` pages, (n,), as copies share content."""
        for members in self._folders.values():
            pages = [number for number in members if kept[number]]
            if len(pages) < _PAGES:
                continue
            lines = np.concatenate([np.unique(self._pages[number][0]) for number in pages])
            names, counts = np.unique(lines, return_counts=True)
            least = max(_PAGES, _SHARE * len(pages))
            self._template.update(names[counts >= least].tolist())

    def shingles(self, number: int) -> Hashes:
        """Return the distinct shingles of a page, shape (n,); a template's line is one word.

        A page with almost no other text equals only pages with all of its words.
        """
        lines, counts, named, tokens = self._pages[number]
        parts, own = [], 0
        for line, is_named, (start, stop) in zip(
            lines.tolist(), named, _bounds(counts), strict=True
        ):
            if line in self._template:
                parts.append(_MARK)
            elif not is_named:
                parts.append(tokens[start:stop])
                own += stop - start
        if own < MIN_JUDGED_TOKENS:
            return np.array([digest(tokens.tobytes())][: len(tokens)], np.uint64)
        return features(np.concatenate(parts), shingle_size=SHINGLE)[0]


def truth_of(texts: Texts, progress: Callable[[int], None] = lambda _: None) -> Truth:
    """Compare all pages with each other by an exact join in bounded memory.

    Pages with equal sets of shingles are compared once.
    """
    firsts: dict[int, int] = {}
    nearest = np.full(len(texts), -1)

    def distinct_sets() -> Iterator[Hashes]:
        for number in range(len(texts)):
            shingles = texts.shingles(number)
            first = firsts.setdefault(digest(shingles.tobytes(), bits=512), number)
            if first < number and len(shingles):
                nearest[number] = first
            yield shingles if first == number else shingles[:0]
            progress(number + 1)

    sets = HashSets(distinct_sets())
    best = (nearest >= 0).astype(np.float64)
    costs = sets.sizes * joining.SHINGLE_BYTES
    groups = joining.groups_of(sets, jaccard(LOST), costs, _MEMORY)
    for one, other in joining.parts_of(groups, costs, _MEMORY):
        shares = 1 + (len(one) + (0 if other is None else len(other))) ** 2 // _PAIRS
        numbered = [(share, shares) for share in range(shares)]
        for pairs in joining.joined(sets, one, other, numbered, ALONE, LOST):
            order = np.lexsort((-pairs.i, pairs.values))  # the last pair of a page is its best
            last = np.full(len(texts), -1)
            last[pairs.j[order]] = order
            (found,) = np.nonzero(last >= 0)
            value, earlier = pairs.values[last[found]], pairs.i[last[found]]
            is_first = (value == best[found]) & (earlier < nearest[found])
            better = (value > best[found]) | is_first
            best[found[better]] = value[better]
            nearest[found[better]] = earlier[better]
    return Truth(best, nearest)


def _read(content: Content) -> tuple[list[bool], Hashes, list[int]]:
    """Return which lines of a page are boilerplate, the page's words, and their number by line.

    A line in an element named as boilerplate is none if it alone has the title or a heading.
    """
    lines = [
        (line, block.form is Form.NAMED)
        for block in content.blocks
        for line in ([block.text] if block.path else block.text.splitlines())
    ]
    tokens, counts = token_hashes_of_each([line for line, _ in lines])
    words = [set(tokens[start:stop].tolist()) for start, stop in _bounds(counts)]
    others = [each for each, (_, named) in zip(words, lines, strict=True) if not named]
    titles = [set(token_hashes(title).tolist()) for title in (content.title, *content.headings)]
    titles = [title for title in titles if title and not any(title <= each for each in others)]
    boilerplate = [
        named and not any(title <= each for title in titles)
        for each, (_, named) in zip(words, lines, strict=True)
    ]
    return boilerplate, tokens, counts.tolist()


def _bounds(counts: Iterable[int]) -> Iterator[tuple[int, int]]:
    return pairwise(accumulate(map(int, counts), initial=0))
