"""What a script of one Redis asks about a page, and what the page's crawler answers.

Pure: the words of ``lua/single/probe_and_add.lua``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

from scrapy_neardup.stores.redis.layout import Layout
from scrapy_neardup.stores.redis.values import (
    body_kind,
    evidence,
    feature_keys,
    id_bytes,
    key_and_digests,
    url_bytes,
)
from scrapy_neardup.verdict import Candidate, Page

_HEAD: Final = Struct(">?II")
"""Whether the first question is settled, pages dropped for its candidate, bytes of its URL."""
_QUESTION: Final = Struct(">8sH")
"""Page id of a candidate, and bytes of what is seen of it."""
_COUNT: Final = Struct(">I")
_LENGTH: Final = Struct(">H")
_DIGITS: Final = 16
"""Number of hexadecimal digits of the digest of what was seen."""


class Question(NamedTuple):
    """Whether a page repeats a candidate.

    Parameters
    ----------
    page_id, seen
        Of the candidate, as the script writes them.
    counted
        Number of pages dropped for the candidate, the page included; 0: it isn't counted yet.
    url
        URL of the candidate, if the page is counted for it.
    is_settled
        Whether nothing is left to do if the page repeats the candidate.
    """

    page_id: bytes
    seen: bytes
    counted: int = 0
    url: bytes = b""
    is_settled: bool = False

    def candidate(self) -> Candidate:
        """Return the candidate as the decision sees it."""
        seen = self.seen
        page_id = int.from_bytes(self.page_id, "big")
        return Candidate(page_id, seen[0], seen[2:], bool(seen[1] & 1), bool(seen[1] & 2))

    def answer(self, kind: bytes) -> bytes:
        """Return an answer about the candidate as it was seen."""
        digest = hashlib.sha1(self.seen, usedforsecurity=False).hexdigest()[:_DIGITS]
        return self.page_id + digest.encode() + kind


class Answers:
    """What the crawler of a page answers to questions about it."""

    def __init__(self) -> None:
        self._refused = self._taken_back = b""

    def refuse(self, question: Question) -> None:
        """Note that the page doesn't repeat a candidate."""
        self._refused += question.answer(b"r")
        if question.counted:
            self._taken_back = question.answer(b"c")

    def words(self, repeated: Question | None = None) -> bytes:
        """Return the answers for the next call, which takes back what was counted in vain."""
        taken_back, self._taken_back = self._taken_back, b""
        return taken_back + (repeated.answer(b"a") if repeated else self._refused)


def page_words(page: Page, answers: bytes, layout: Layout, store_key: bytes) -> bytes:
    """Return a page and the answers to earlier questions about it, as the script takes them."""
    key, digests = key_and_digests(page, store_key)
    features = feature_keys(page, layout.matching, store_key)
    compared = evidence(page, layout.matching)
    return b"".join(
        (
            bytes((layout.limit(page) + 1, body_kind(compared, bool(features), layout.matching))),
            id_bytes(page.id),
            digests,
            *layout.permuted(key),
            *features,
            compared,
            _LENGTH.pack(len(answers)),
            answers,
            url_bytes(page),
        )
    )


def read_questions(reply: bytes) -> Iterator[Question]:
    """Yield the questions in a reply, nearest candidate first."""
    is_settled, counted, length = _HEAD.unpack_from(reply, 1)
    url_at = 1 + _HEAD.size
    at = url_at + length
    first: tuple[Any, ...] = counted, reply[url_at:at], is_settled
    while at < len(reply):
        page_id, size = _QUESTION.unpack_from(reply, at)
        start = at + _QUESTION.size
        at = start + size
        yield Question(page_id, reply[start:at], *first)
        first = ()


def read_count(reply: bytes) -> tuple[int, bytes]:
    """Return count and URL of the entry that a page was counted for."""
    return _COUNT.unpack_from(reply, 1)[0], reply[1 + _COUNT.size :]
