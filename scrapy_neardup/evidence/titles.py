"""Titles as words, without numbers and without the words of most of the site's titles.

Rule of this module: words are hashed when a page is read, and which of them are the site's own is
learnt, so it is left out when two pages are compared and never from what is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.evidence.counts import MIN_PAGES
from scrapy_neardup.evidence.layout import hash_words
from scrapy_neardup.fingerprints import token_hashes

COMMON = 0.5
"""Minimum share of a site's titles that hold a word of the site's own."""

_HALVED = 64
_MAX_WORDS = 512

_NUMBERS = re.compile(r"(?<![^\W_])\d+(?:[.,:/-]\d+)*(?![^\W_])")


def title_words(title: str, headings: Iterable[str], *, key: bytes | None) -> frozenset[int]:
    """Return the words of a page's title and headings, 16 bits each; numbers are none."""
    text = _NUMBERS.sub(" ", " ".join((title, *headings)))
    return hash_words(token_hashes(text, key=key).tolist())


class SiteTitles:
    """What is known of the titles of one site."""

    def __init__(self) -> None:
        self._pages = 0.0
        self._words: BoundedDict[int, float] = BoundedDict(_MAX_WORDS)
        self._others: list[tuple[float, dict[str, float]]] = []
        self._common: frozenset[int] | None = frozenset()

    def __len__(self) -> int:
        """Return how many entries are held."""
        return len(self._words) + sum(len(words) for _, words in self._others)

    @property
    def common(self) -> frozenset[int]:
        """Words that most titles hold."""
        if self._common is None:
            words: Mapping[int, float] = self._words
            if self._others:
                words = summed = dict(self._words)
                for _, others in self._others:
                    for word, count in others.items():
                        summed[int(word)] = summed.get(int(word), 0.0) + count
            least = max(COMMON * self._total(), MIN_PAGES - 1)
            self._common = frozenset(word for word, count in words.items() if count > least)
        return self._common

    @property
    def young(self) -> bool:
        """Whether too few titles are known to tell which words are the site's own."""
        return self._total() < MIN_PAGES

    def learn(self, words: frozenset[int]) -> None:
        """Count the title of a kept page."""
        if not words:
            return
        self._pages += 1
        self._common = None
        for word in words:
            self._words[word] = self._words.get(word, 0.0) + 1
            self._words.move_to_end(word)
        if self._pages >= _HALVED:
            self._pages /= 2
            for word in self._words:
                self._words[word] /= 2

    def dump(self) -> tuple[float, dict[str, float]]:
        """Return how many titles were counted here, and in how many each word is."""
        return self._pages, {str(word): count for word, count in self._words.items()}

    def restore(self, dump: tuple[float, dict[str, float]]) -> None:
        """Go on from what was dumped by an earlier run."""
        self._pages, words = dump
        self._words.update((int(word), count) for word, count in words.items())
        self._common = None

    def add_others(self, dumps: list[tuple[float, dict[str, float]]]) -> None:
        """Take over what others have counted, in place of what they had before."""
        self._others = dumps
        self._common = None

    def _total(self) -> float:
        return self._pages + sum(pages for pages, _ in self._others)
