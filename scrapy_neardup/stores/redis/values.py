"""How the values of `scrapy_neardup.verdict` are written in Redis and read from it.

Rule of this room: pure; both Redis stores write pages alike.
"""

from __future__ import annotations

from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.records import partition
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict

_DECISIONS = {
    Reason.UNMATCHED: Decision.NEW,
    Reason.CHANGED: Decision.NEW,
    Reason.NEAR: Decision.DUPLICATE,
    Reason.EQUAL: Decision.DUPLICATE,
    Reason.SAME_PAGE: Decision.SEEN,
    Reason.OVERFLOW: Decision.UNJUDGED,
}

_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one


def key_and_digests(page: Page) -> tuple[int, bytes]:
    """Return the key that stands for `page` in tables, and what an entry has to match besides.

    The digests are 6 bytes: two each of the partition's tag and of title and content. By chance
    a 65,536th of all differing titles look the same there: such a page is judged as if it had
    the other's title. None looks like none.
    """
    tag, mask = partition(page.scope, page.exact)
    title = page.title & 0xFFFF or min(page.title, 1)
    values = (tag, title, page.content)
    digests = b"".join((value & 0xFFFF).to_bytes(2, "big") for value in values)
    return page.fingerprint ^ mask, digests


def contradict(ours: bytes, theirs: bytes) -> bool:
    """Whether two pages' digests say that they aren't duplicates, whatever their keys."""
    return ours[:2] != theirs[:2] or (ours[2:4] != theirs[2:4] and ours[4:] != theirs[4:])


def id_bytes(page_id: int) -> bytes:
    """Return a page id as scripts want it."""
    return page_id.to_bytes(8, "big")


def url_bytes(page: Page) -> bytes:
    """Return the URL to store, or nothing."""
    return (page.url or "").encode("utf-8", "surrogatepass")


def feature_keys(page: Page, matching: Matching) -> list[bytes]:
    """Return the features of `page` as they are looked up; none where a store looks up none.

    Neither partitions nor places among a page's features meet there, and whatever features
    are made of, the first bytes of these are spread evenly; equal ones are those of equal
    features.
    """
    if not matching.features:
        return []
    _, mask = partition(page.scope, page.exact)
    return [
        ((feature * _MULTIPLIER + place * _STEP) % 2**64 ^ mask).to_bytes(8, "big")
        for place, feature in enumerate(page.features)
    ]


def matched(
    page_id: bytes,
    distance: int,
    url: bytes,
    *,
    count: int,
    resemblance: float | None = None,
) -> Match:
    """Return the entry that a page repeats, as a script names it."""
    return Match(
        page_id=int.from_bytes(page_id, "big"),
        distance=distance,
        url=url.decode("utf-8", "surrogatepass") or None,
        resemblance=resemblance,
        count=count,
    )


def near_reason(page: Page) -> Reason:
    """Return why `page` is a duplicate."""
    return Reason.EQUAL if page.exact else Reason.NEAR


def verdict(
    page: Page, reason: Reason, match: Match | None = None, rule: str = "", witness: bytes = b""
) -> Verdict:
    """Return the verdict on `page`."""
    return Verdict.on(page, _DECISIONS[reason], reason, match, rule, witness)
