"""The encoding of pages, questions and answers, as scripts take and return them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

from scrapy_neardup.decision.matching import Matching
from scrapy_neardup.stores.entryformat import partition
from scrapy_neardup.stores.redis.keyspace import Layout
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
    """Whether a page repeats a candidate: its id and what is seen of it, as the script has them.

    `counted` is the number of pages dropped for the candidate, this one included, which then comes
    with its `url`; 0: the page isn't counted yet. With `is_settled` nothing is left to do if the
    page repeats the candidate.
    """

    page_id: bytes
    seen: bytes
    counted: int = 0
    url: bytes = b""
    is_settled: bool = False

    def candidate(self) -> Candidate:
        """Return the candidate as the decision sees it."""
        return Candidate(int.from_bytes(self.page_id, "big"), self.seen[0], self.seen[1:])

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
    key, tag = key_and_tag(page, store_key)
    features = feature_keys(page, layout.matching, store_key)
    compared = evidence(page, layout.matching)
    return b"".join(
        (
            bytes((layout.limit(page) + 1, body_kind(compared, bool(features)))),
            id_bytes(page.id),
            tag,
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


TAG_BYTES: Final = 8
_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one


def key_and_tag(page: Page, key: bytes) -> tuple[int, bytes]:
    """Return the key of `page` in tables, and its partition's tag; `key` is the namespace's."""
    tag, mask = partition(page.scope, page.exact, key)
    return page.fingerprint ^ mask, tag.to_bytes(TAG_BYTES, "big")


def id_bytes(page_id: int) -> bytes:
    """Return a page id as scripts take it."""
    return page_id.to_bytes(8, "big")


def url_bytes(page: Page) -> bytes:
    """Return the URL to store, or nothing."""
    return (page.url or "").encode("utf-8", "surrogatepass")


def feature_keys(page: Page, matching: Matching, key: bytes) -> list[bytes]:
    """Return the features of `page` as they are looked up; none where a store looks up none.

    Two of them are equal if the features are, are of one partition, and have the same place among
    their page's features. Their first bytes are spread evenly, however the features are made.
    """
    if not matching.features:
        return []
    _, mask = partition(page.scope, page.exact, key)
    return [
        ((feature * _MULTIPLIER + place * _STEP) % 2**64 ^ mask).to_bytes(8, "big")
        for place, feature in enumerate(page.features)
    ]


def evidence(page: Page, matching: Matching) -> bytes:
    """Return the evidence to store of `page`; ``b""`` where nothing has to be confirmed."""
    return page.evidence if matching.sketch else b""


def body_kind(compared: bytes, has_features: bool) -> int:
    """Return the byte that tells scripts whether evidence and features follow."""
    return 2 * bool(compared) + has_features
