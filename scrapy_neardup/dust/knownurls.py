"""The known URLs of a host and their contents, as hashes.

A URL is held under several keys, so that its relatives find it: its own, one for each parameter
that stands for the URL without it, and so on. Keys of URLs to which rules were applied are held
apart, as they are forgotten when a rule ends.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.dust.hashtable import KEY_BITS, VALUE_BITS, HashTable
from scrapy_neardup.dust.urlparts import Parts, hash_of, key_of, path_names
from scrapy_neardup.dust.urlrule import CASE, PATH_PARAMETER, Rule

MAX_NAMES: Final = 8
"""Maximum number of parameters of a URL that are examined."""

MAX_DERIVED: Final = 4_096
"""Maximum number of cells for URLs under rules, 32 kB."""

_MAX_STATE: Final = 1 << 20

_LETTERS: Final = np.array([byte > 0x7F or chr(byte).isalpha() for byte in range(256)])
"""Whether a byte of UTF-8 belongs to a letter; all beyond ASCII count."""

_MIXER: Final = 0x9E3779B97F4A7C15F39CC0605CEDC835
"""An odd number, 2^128 divided by the golden ratio: multiples of it are spread evenly."""

_HALF: Final = 1 << VALUE_BITS // 2
"""Number of values of half a cell's value: one holds the hash of the words, one of the letters."""


class Shown(Enum):
    """What a text has in common with a content as it was shown before."""

    WORDS = auto()
    LETTERS = auto()
    OTHERWISE = auto()
    FORGOTTEN = auto()


class KnownPages:
    """The known URLs of one host; contents are numbers of 24 bits."""

    __slots__ = ("_derived", "_known")

    def __init__(self) -> None:
        self._known = HashTable()
        self._derived = HashTable(MAX_DERIVED)

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self._known.nbytes + self._derived.nbytes

    def __contains__(self, key: int) -> bool:
        """Whether a URL is known by its key without rules."""
        return self._known.get(key) is not None

    def shown(self, key: int) -> int | None:
        """Return the content of a URL by its key; None if it isn't known."""
        shown = self._known.get(key)
        return self._derived.get(key) if shown is None else shown

    def note_text(self, content: int, words: int, letters: int) -> None:
        """Note the hashes of the words and letters that a content was shown with."""
        key = _text_key(content)
        first = self._known.get(key)
        if first is None:
            self._known.put(key, words % _HALF * _HALF + letters % _HALF)
        elif first % _HALF != letters % _HALF:
            self._known.put(_text_key(content, letters), words % (1 << VALUE_BITS))

    def compare(self, content: int, words: int, letters: int) -> Shown:
        """Return how a text of these hashes compares with what a content was shown with."""
        first = self._known.get(_text_key(content))
        if first is None:
            return Shown.FORGOTTEN
        if first % _HALF == letters % _HALF:
            has_words = first // _HALF == words % _HALF
        elif (other := self._known.get(_text_key(content, letters))) is not None:
            has_words = other == words % (1 << VALUE_BITS)
        else:
            return Shown.OTHERWISE
        if words and has_words:
            return Shown.WORDS
        return Shown.LETTERS if letters else Shown.OTHERWISE

    def note_copied(self, content: int) -> None:
        """Note that a content was shown at a URL that a rule about a segment has changed."""
        self._known.put(hash_of(f"copied {content}", KEY_BITS), content)

    def is_copied(self, content: int) -> bool:
        """Whether `note_copied` was called for a content, as far as that is remembered."""
        return self._known.get(hash_of(f"copied {content}", KEY_BITS)) is not None

    def add(self, page: Parts, canonical: Parts, content: int, *, in_any_case: bool) -> None:
        """Note the content of a URL, which is `canonical` under the rules in force.

        `in_any_case`: so that `CASE` finds it, too, which few sites need.
        """
        _note(self._known, page, content, in_any_case=in_any_case)
        if page != canonical:
            _note(self._derived, canonical, content, in_any_case=in_any_case)
            for name in set(page.names[:MAX_NAMES]).difference(canonical.names):
                self._derived.put(key_without(canonical.without(name), (name,)), content)

    def forget_derived(self) -> None:
        """Forget the URLs under rules."""
        self._derived.clear()

    def forget(self, key: int) -> None:
        """Forget the content of a URL by its key, and with it all URLs that have it."""
        if (content := self.shown(key)) is not None:
            self._known.discard(content)
            self._derived.discard(content)

    def dump(self) -> bytes:
        """Return the URLs known without rules, as bytes."""
        return zlib.compress(self._known.dump(), 1)

    @classmethod
    def load(cls, dump: bytes) -> KnownPages:
        """Restore the output of `dump`; raise `ValueError` for anything else."""
        pages = cls()
        try:
            pages._known = HashTable.load(zlib.decompressobj().decompress(dump, _MAX_STATE))
        except zlib.error as error:
            raise ValueError(str(error)) from error
        return pages


def relatives(rule: Rule, page: Parts, *, changed: bool) -> Iterator[int]:
    """Yield the keys of the URLs that a rule joins with one, which is `page` under the rule.

    If the rule has `changed` it, `page` is another URL.
    """
    match rule.kind:
        case "parameter":
            yield key_without(page, (rule.what,))
        case "path-parameter":
            yield key_of(page, f";{rule.what}")
        case "case":
            yield key_of(page, CASE)
        case _ if not changed and (other := rule.counterpart(page)) is not None:
            yield key_of(other)
    if changed:
        yield key_of(page)


def _text_key(content: int, letters: int = 0) -> int:
    """Return the key of a content's words and letters, first ones or those of some `letters`."""
    number = content << VALUE_BITS | letters % (1 << VALUE_BITS)
    return (number * _MIXER >> KEY_BITS) % (1 << KEY_BITS) or 1


def key_without(page: Parts, names: tuple[str, ...]) -> int:
    """Return the key under which `page?NAME=…&NAME=…` is found, whatever the values."""
    return key_of(page, f"?{'&'.join(names)}")


def _note(table: HashTable, page: Parts, content: int, *, in_any_case: bool) -> None:
    table.put(key_of(page), content)
    names = page.names
    for name in names[:MAX_NAMES]:
        table.put(key_without(page.without(name), (name,)), content)
    if len(names) > 1:
        table.put(key_without(page._replace(query=()), names), content)
    for name in set(path_names(page.segments)[:MAX_NAMES]):
        table.put(key_of(Rule(PATH_PARAMETER, name).apply(page), f";{name}"), content)
    if in_any_case and any(each != each.lower() for each in page.segments):
        table.put(key_of(Rule(CASE).apply(page), CASE), content)


def letters_of(texts: Sequence[str]) -> int:
    """Return a hash of how often each letter occurs in some texts. 1 ns a byte; compiled, .4.

    Digits, punctuation and order don't count: counters and times change with each response.
    """
    return crc32(byte_counts(texts)[_LETTERS].tobytes())


@has_twin("counting", ("Maß 12", "ab"))
def byte_counts(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return how often each byte occurs in texts as UTF-8; shape (256,)."""
    text = np.frombuffer("".join(texts).encode("utf-8", "surrogatepass"), np.uint8)
    return np.bincount(text, minlength=256)
