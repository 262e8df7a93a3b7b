"""How the values of `scrapy_neardup.verdict` are written in Redis and read from it.

Rule of this room: pure; both Redis stores write pages alike.
"""

from __future__ import annotations

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


def key_and_evidence(page: Page) -> tuple[int, bytes]:
    """Return the key that stands for `page` in tables, and what an entry has to match besides.

    Evidence is 6 bytes: two each of the partition's tag and the digests of title and
    content. By chance a 65,536th of all differing titles look the same there, which costs
    nothing: only if content looks the same too, or a text equals it, is a page a duplicate.
    """
    tag, mask = partition(page.scope, page.exact)
    values = (tag, page.title, page.content)
    evidence = b"".join((value & 0xFFFF).to_bytes(2, "big") for value in values)
    return page.fingerprint ^ mask, evidence


def contradict(ours: bytes, theirs: bytes) -> bool:
    """Whether two pages' evidence says that they aren't duplicates, whatever their keys."""
    return ours[:2] != theirs[:2] or (ours[2:4] != theirs[2:4] and ours[4:] != theirs[4:])


def id_bytes(page_id: int) -> bytes:
    """Return a page id as scripts want it."""
    return page_id.to_bytes(8, "big")


def url_bytes(page: Page) -> bytes:
    """Return the URL to store, or nothing."""
    return (page.url or "").encode("utf-8", "surrogatepass")


def matched(page_id: bytes, distance: int, url: bytes) -> Match:
    """Return the entry that `page` repeats, as a script names it."""
    shown = url.decode("utf-8", "surrogatepass") or None
    return Match(page_id=int.from_bytes(page_id, "big"), distance=distance, url=shown)


def near_reason(page: Page) -> Reason:
    """Return why `page` is a duplicate."""
    return Reason.EQUAL if page.exact else Reason.NEAR


def verdict(page: Page, reason: Reason, match: Match | None = None) -> Verdict:
    """Return the verdict on `page`."""
    return Verdict(
        decision=_DECISIONS[reason],
        reason=reason,
        page_id=page.id,
        match=match,
        fingerprint=page.fingerprint,
        tokens=page.tokens,
    )
