"""Small differences between pages that were dropped for the same page.

Two job ads may differ only in the city, two quotes only in the date and the price. By their text
they are near-duplicates; to a user they may be different pages. Only a person can tell, so the
report names the differences.

Pages are compared with the first dropped page, because the text of the page that all of them
repeat isn't kept. Texts come from crawled pages and may be hostile, so all functions are linear in
their length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.urlparts import pattern_of
from scrapy_neardup.urls import Address, without_address
from scrapy_neardup.verdict import Match

KEEPS_THEM = 'NEARDUP_PRESET = "exact"'
"""The setting with which pages that differ in any character are kept."""

MIN_PAGES = 5
"""Minimum number of pages of a group whose difference is named: the kept page, and dropped pages
that all differ."""

FEW_WORDS = 16
"""Maximum number of words, without numbers, in which two texts differ."""

MAX_COMPARED = 20
"""Maximum number of pages of a group that are compared."""

MAX_CHARACTERS = 32_768
"""Maximum number of leading characters of a text that are compared."""

MAX_GROUPS = 512
"""Maximum number of remembered groups."""

_EXAMPLES, _LONGEST = 3, 40
"""Maximum number of examples of a difference, and maximum length of each in characters."""

_WORD = re.compile(r"\w+(?:[.,:/'+-]\w+)*")
_DIGIT = re.compile(r"\d")


def _said(examples: Iterable[str], *, in_words: bool) -> str:
    """Return how pages differ: in words (`in_words`) and perhaps numbers, or in numbers alone.

    `examples` are the differing parts of some of them, of which the first few are named.
    """
    named = [*dict.fromkeys(examples)][:_EXAMPLES]
    separator = "; " if any("," in example for example in named) else ", "
    return f"{'a few words' if in_words else 'numbers'} ({separator.join(named)})"


@dataclass(slots=True)
class Group:
    """The pages that were dropped for one page."""

    _first: str | None = None
    _compared: int = 0
    in_words: bool = False
    """Whether its pages differ in a few words."""
    varying: set[str] = field(default_factory=set)
    """URL patterns whose pages differ in a few words, such as the colours of a product."""
    _own: dict[str, set[str]] = field(default_factory=dict)
    """URL pattern -> the words that its first page has, and the first page of the group lacks."""
    found: dict[str, str] = field(default_factory=dict)
    """A page's own phrases -> an example from them."""

    def add(self, text: str, pattern: str) -> str | None:
        """Add a page; with the `MIN_PAGES`-th page, say how they differ, if only a little.

        Returns None for pages before and after it. O(length of the text).
        """
        text = text[:MAX_CHARACTERS]
        if self._first is None:
            self._first, self._own[pattern] = text, set()
        if text == self._first or self._compared >= MAX_COMPARED:
            return None
        self._compared += 1
        text, first = _own_lines(text, self._first), _own_lines(self._first, text)
        mine, others = own_phrases(text, first), own_phrases(first, text)
        words = _words_of(mine) - _words_of(others), _words_of(others) - _words_of(mine)
        if not mine or max(map(len, words)) > FEW_WORDS:
            return None
        in_words = any(words)
        if others and not self.found:
            self.found[""] = _example(others, in_words=in_words)
        self.in_words |= in_words
        if self._own.setdefault(pattern, own := _words_of(mine)) != own:
            self.varying.add(pattern)
        self.found.setdefault("\n".join(mine).casefold(), _example(mine, in_words=in_words))
        if len(self.found) < MIN_PAGES - 1:
            return None
        self._compared = MAX_COMPARED
        return _said(self.found.values(), in_words=self.in_words)


class Groups:
    """The latest groups of a crawl or a collection, with one text each."""

    def __init__(self) -> None:
        self._groups: BoundedDict[int, Group] = BoundedDict(MAX_GROUPS)
        self._variants: BoundedDict[int, dict[int, list[str]]] = BoundedDict(MAX_GROUPS)
        """`Address.place` -> its first groups of which a pattern varies, with their examples."""

    def add(self, url: str, match: Match, content: str) -> str | None:
        """Add a page; return how the pages that repeat `match` differ, as `Group.add` does.

        It also returns a difference at the fifth small group of a folder in which pages of one URL
        pattern differ in a few words. So an original and its printed copies don't count, nor does
        a page at the address of its match. `content` is its title and text, in which its own
        address is ignored.
        """
        mine, other = Address.of(url), Address.of(match.url)
        if (mine.path, mine.query) == (other.path, other.query):
            return None
        group = self._groups.pop(match.page_id, None) or Group()
        self._groups[match.page_id] = group  # the latest one
        difference = group.add(without_address(content, url), pattern := pattern_of(url))
        if difference is not None or pattern not in group.varying:
            return difference
        groups = self._variants.setdefault(mine.place, {})
        if len(groups) == MIN_PAGES:
            return None
        groups[match.page_id] = [*dict.fromkeys(group.found.values())][:_EXAMPLES]
        if len(groups) < MIN_PAGES:
            return None
        return _said(chain.from_iterable(groups.values()), in_words=True)


def own_phrases(text: str, other: str) -> list[str]:
    """Return the distinct parts of a text that aren't in another one, in order. O(length).

    A word is shared if the other text has it next to the same neighbour, or at the same end of a
    line. So a word of both texts counts if its position differs, and a single word between words
    that aren't shared belongs to the phrase. A phrase ends with its line at the latest. Case
    doesn't matter.
    """
    pairs = {pair for line in other.splitlines() for pair in pairwise(_folded(line))}
    phrases = (phrase for line in text.splitlines() for phrase in _phrases(line, pairs))
    return list(dict.fromkeys(phrases))


def _phrases(line: str, pairs: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the parts of a line whose words are in none of the pairs."""
    is_shared = [pair in pairs for pair in pairwise(_folded(line))]
    start = end = 0
    for number, word in enumerate(_WORD.finditer(line)):
        if not (is_shared[number] or is_shared[number + 1]):
            start, end = (start if end else word.start()), word.end()
        elif end:
            yield line[start:end]
            end = 0
    if end:
        yield line[start:end]


def _own_lines(text: str, other: str) -> str:
    """Return the lines of a text that aren't in another one; most lines are in both."""
    known = set(other.splitlines())
    return "\n".join(line for line in text.splitlines() if line not in known)


def _folded(line: str) -> list[str]:
    """Return the words of a line in lower case, with marks at both ends."""
    return ["", *(word.casefold() for word in _WORD.findall(line)), ""]


def _words_of(phrases: list[str]) -> set[str]:
    """Return the words of phrases, without numbers."""
    return {
        word.casefold()
        for phrase in phrases
        for word in _WORD.findall(phrase)
        if not _DIGIT.search(word)
    }


def _example(phrases: list[str], *, in_words: bool) -> str:
    """Return the first phrase, or the first with a word if `in_words`, shortened for print."""
    named: Iterator[str] = (phrase for phrase in phrases if not in_words or _words_of([phrase]))
    shown = " ".join(next(named, phrases[0]).split())
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
