"""How pages and verdicts are written in Redis.

Rule of this module: pure; plain values, as scripts take and return them. Both Redis stores write
pages alike.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.records import partition
from scrapy_neardup.verdict import Candidate, Decided, Match, Page, Reason

TAG_BYTES: Final = 8
_DIGESTS: Final = Struct(">QHH")
DIGEST_BYTES: Final = _DIGESTS.size
_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one


def key_and_digests(page: Page, key: bytes) -> tuple[int, bytes]:
    """Return the key of `page` in tables, and its digests; `key` is the namespace's.

    The digests are 12 bytes: the partition's tag, and two each of title and of content. One in
    65,536 pairs of different titles has equal digests; such a page is judged as if it had the
    other's title. A title never has the digest of none.
    """
    tag, mask = partition(page.scope, page.exact, key)
    title = page.title & 0xFFFF or min(page.title, 1)
    return page.fingerprint ^ mask, _DIGESTS.pack(tag, title, page.content & 0xFFFF)


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
