"""How pages and verdicts are written in Redis.

Rule of this module: pure; plain values, as scripts take and return them. Both Redis stores write
pages alike.
"""

from __future__ import annotations

import hashlib
from struct import Struct
from typing import Final, NamedTuple

from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.records import partition
from scrapy_neardup.stores.redis.layout import Layout
from scrapy_neardup.verdict import Candidate, Decided, Match, Page, Reason

_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one

_QUESTION: Final = Struct(">BII")
_COUNT: Final = Struct(">I")
_LENGTH: Final = Struct(">H")
_ID: Final = 8
"""Bytes of a page id."""


def key_and_digests(page: Page) -> tuple[int, bytes]:
    """Return the key of `page` in tables, and its digests.

    The digests are 6 bytes: two each of the partition's tag, of title and of content. One in
    65,536 pairs of different titles has equal digests; such a page is judged as if it had the
    other's title. A title never has the digest of none.
    """
    tag, mask = partition(page.scope, page.exact)
    title = page.title & 0xFFFF or min(page.title, 1)
    values = (tag, title, page.content)
    digests = b"".join((value & 0xFFFF).to_bytes(2, "big") for value in values)
    return page.fingerprint ^ mask, digests


def id_bytes(page_id: int) -> bytes:
    """Return a page id as scripts take it."""
    return page_id.to_bytes(8, "big")


def url_bytes(page: Page) -> bytes:
    """Return the URL to store, or nothing."""
    return (page.url or "").encode("utf-8", "surrogatepass")


def feature_keys(page: Page, matching: Matching) -> list[bytes]:
    """Return the features of `page` as they are looked up; none where a store looks up none.

    Two of them are equal if the features are, are of one partition, and have the same place among
    their page's features. Their first bytes are spread evenly, however the features are made.
    """
    if not matching.features:
        return []
    _, mask = partition(page.scope, page.exact)
    return [
        ((feature * _MULTIPLIER + place * _STEP) % 2**64 ^ mask).to_bytes(8, "big")
        for place, feature in enumerate(page.features)
    ]


def evidence(page: Page, matching: Matching) -> bytes:
    """Return the evidence to store of `page`; ``b""`` where nothing has to be confirmed."""
    return page.evidence if matching.bins else b""


def body_kind(compared: bytes, has_features: bool, matching: Matching) -> int:
    """Return the byte that tells scripts the length of evidence and features (``buckets.lua``)."""
    sizes = (0, *matching.evidence_sizes)
    return 2 * sizes.index(len(compared)) + has_features


def near_reason(page: Page) -> Reason:
    """Return why `page` is a duplicate."""
    return Reason.EQUAL if page.exact else Reason.NEAR


def matched(
    candidate: Candidate, decided: Decided, count: int = 0, url: bytes | str | None = None
) -> Match:
    """Return the entry that a page repeats."""
    if isinstance(url, bytes):
        url = url.decode("utf-8", "surrogatepass")
    return Match(
        page_id=candidate.page_id,
        distance=candidate.distance,
        url=url or None,
        count=count,
        decided=decided,
    )


# ---- questions of one Redis, and answers -----------------------------------------------


def arrival_words(page: Page, answers: bytes, layout: Layout) -> bytes:
    """Return `page` as ``lua/single/probe_and_add.lua`` takes it.

    Parameters
    ----------
    answers
        To earlier questions about the page, see `Answers`.
    """
    key, digests = key_and_digests(page)
    features = feature_keys(page, layout.matching)
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


class Question(NamedTuple):
    """A candidate that a script asks about."""

    candidate: Candidate
    name: bytes
    """Page id, and a digest of what the decision sees of the candidate."""
    count: int = 0
    """Number of pages dropped for the candidate, the page included; 0: it isn't counted yet."""
    url: bytes = b""
    is_settled: bool = False
    """Whether nothing is left to do if the page repeats the candidate."""


class Answers:
    """What the crawler of a page answers to questions about it."""

    def __init__(self) -> None:
        self._refused = self._taken_back = b""

    def refuse(self, question: Question) -> None:
        """Note that the page doesn't repeat a candidate."""
        self._refused += question.name + b"r"
        if question.count:
            self._taken_back = question.name + b"c"

    def words(self, repeated: Question | None = None) -> bytes:
        """Return the answers for the next call, which takes back what was counted in vain."""
        taken_back, self._taken_back = self._taken_back, b""
        return taken_back + (repeated.name + b"a" if repeated else self._refused)


def read_questions(reply: bytes) -> list[Question]:
    """Return the questions in a reply of ``lua/single/probe_and_add.lua``, nearest first."""
    is_settled, count, length = _QUESTION.unpack_from(reply, 1)
    at = 1 + _QUESTION.size
    first = count, reply[at : at + length], bool(is_settled)
    at += length
    found: list[Question] = []
    while at < len(reply):
        start = at + _ID + _LENGTH.size
        end = start + _LENGTH.unpack_from(reply, at + _ID)[0]
        page_id, seen = reply[at : at + _ID], reply[start:end]
        candidate = Candidate(
            page_id=int.from_bytes(page_id, "big"),
            distance=seen[0],
            evidence=seen[2:],
            same_title=bool(seen[1] & 1),
            same_content=bool(seen[1] & 2),
        )
        digest = hashlib.sha1(seen, usedforsecurity=False).hexdigest()[:16]
        found.append(Question(candidate, page_id + digest.encode(), *([] if found else first)))
        at = end
    return found


def read_count(reply: bytes) -> tuple[int, bytes]:
    """Return count and URL of the entry that a page was counted for."""
    return _COUNT.unpack_from(reply, 1)[0], reply[1 + _COUNT.size :]
