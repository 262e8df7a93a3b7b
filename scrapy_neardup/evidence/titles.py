"""Titles as words, without numbers and without the words of most of the site's titles.

Rule of this module: words are hashed when a page is read, and which of them are the site's own is
learnt, so it is left out when two pages are compared and never from what is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.evidence.counts import MIN_PAGES
from scrapy_neardup.evidence.layout import hash_words
from scrapy_neardup.fingerprints import token_hashes

COMMON = 0.5
"""Minimum share of a site's titles that hold a word of the site's own."""

_HALVED = 64
"""Number of titles after which counts are halved."""
_MAX_WORDS = 512
"""Maximum number of words that are counted, those met last."""
_NONE = [0.0]

_NUMBERS = re.compile(r"(?<![^\W_])\d+(?:[.,:/-]\d+)*(?![^\W_])")


def title_words(title: str, headings: Iterable[str], *, key: bytes | None) -> frozenset[int]:
    """Return the words of a page's title and headings, 16 bits each; numbers are none."""
    text = _NUMBERS.sub(" ", " ".join((title, *headings)))
    return hash_words(token_hashes(text, key=key).tolist())


class SiteTitles:
    """What is known of the titles of one site.

    Attributes
    ----------
    common : frozenset of int
        Words that most titles hold.
    """

    def __init__(self) -> None:
        self._pages = 0.0
        # Word -> titles, in a list that is changed in place.
        self._words: BoundedDict[int, list[float]] = BoundedDict(_MAX_WORDS)
        # What others have counted.
        self._others_pages = 0.0
        self._others_words: dict[int, float] = {}
        self.common: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """Return how many entries are held."""
        return len(self._words) + len(self._others_words)

    @property
    def young(self) -> bool:
        """Whether too few titles are known to tell which words are the site's own."""
        return self._total() < MIN_PAGES

    def learn(self, words: frozenset[int]) -> None:
        """Count the title of a kept page."""
        if not words:
            return
        self._pages += 1
        known = self._words
        for word in words:
            if (titles := known.get(word)) is None:
                known[word] = [1.0]
            else:
                titles[0] += 1
                known.move_to_end(word)
        if self._pages >= _HALVED:
            self._pages /= 2
            for titles in known.values():
                titles[0] /= 2
            self._count({*self._words, *self._others_words})
        else:
            self._count(self.common | words)  # no other word becomes common

    def dump(self) -> tuple[float, dict[str, float]]:
        """Return how many titles were counted here, and in how many each word is."""
        return self._pages, {str(word): count for word, (count,) in self._words.items()}

    def restore(self, dump: tuple[float, dict[str, float]]) -> None:
        """Go on from what was dumped by an earlier run."""
        self._pages, words = dump
        self._words.update((int(word), [count]) for word, count in words.items())
        self._count(self._words)

    def add_others(self, dumps: list[tuple[float, dict[str, float]]]) -> None:
        """Take over what others have counted, in place of what they had before."""
        summed: dict[int, float] = {}
        for _, words in dumps:
            for word, count in words.items():
                summed[int(word)] = summed.get(int(word), 0.0) + count
        self._others_pages, self._others_words = sum(pages for pages, _ in dumps), summed
        self._count({*self._words, *self._others_words})

    def _total(self) -> float:
        return self._pages + self._others_pages

    def _count(self, words: Iterable[int]) -> None:
        """Note which of these words most titles hold."""
        least = max(COMMON * self._total(), MIN_PAGES - 1)
        ours, theirs = self._words, self._others_words
        self.common = frozenset(
            [word for word in words if ours.get(word, _NONE)[0] + theirs.get(word, 0.0) > least]
        )
