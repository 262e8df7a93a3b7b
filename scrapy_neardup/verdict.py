"""The values that travel between the rooms: Page, Match, Verdict.

Rule of this room: plain, frozen, picklable values and nothing that computes more
than a sentence. A `Page` is all that a store may know of a page; a `Verdict` is all
that anybody above a store may know of a decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self, SupportsBytes


class Decision(StrEnum):
    """What was decided about a page."""

    NEW = "new"
    """No page like it is known; it is stored, pending until confirmed."""
    DUPLICATE = "duplicate"
    """A page like it was kept before: `Verdict.match`."""
    SEEN = "seen"
    """The same page again (same page id, content within k): never its own duplicate."""
    UNJUDGED = "unjudged"
    """It can't be judged (`Verdict.reason`); such a page is kept, and nothing is stored."""


class Reason(StrEnum):
    """Why; the value is the last part of a stat such as ``neardup/unjudged/empty``."""

    # new
    UNMATCHED = "unmatched"  # nothing close enough is stored
    CHANGED = "changed"  # same page id, other content: its entry was replaced
    # duplicate
    NEAR = "near"  # fingerprints at Hamming distance <= k
    EQUAL = "equal"  # a short page: text, title, images and embedded data are the same
    # seen
    SAME_PAGE = "same-page"
    # unjudged
    EMPTY = "empty"  # fewer than five tokens
    NOT_HTML = "not-html"  # JSON, feeds, plain text, binary
    UNPARSABLE = "unparsable"  # the parsers found no tree in it
    TOO_LONG = "too-long"  # of a collection, and longer than 64 MiB when decompressed
    TEXT_ERROR = "text-error"  # the user's NEARDUP_TEXT callable failed
    DENIED = "denied"  # NEARDUP_DENY
    SKIPPED = "skipped"  # request.meta["neardup_skip"]
    OVERFLOW = "overflow"  # its buckets are full: kept, not remembered
    STORE_ERROR = "store-error"
    TIMEOUT = "timeout"  # NEARDUP_TIMEOUT
    PAUSED = "paused"  # the store failed repeatedly; it is tried again soon


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What a page's resemblance to another is estimated from: a min-wise sketch of its text.

    Parameters
    ----------
    text
        The b-bit sketch (`scrapy_neardup.fingerprints.b_bit_sketch`). A store keeps it.
    named
        The bins in which the core has another minimum: that of the text is in what looks like
        furniture by its name. A bit each, of the n bytes' j-th byte bit ``b * p + s`` for bin p
        in byte ``j + n * s`` of `text`, with b bits a bin; ``b""`` for none. A store keeps it,
        too.
    furniture
        As many bytes as `text`, with all bits set of the bins that hold what is on most pages
        of the site. Never stored; asked for (by ``bytes``) where there is a page to compare with.
    most_differing
        The share of bins in which another page's sketch may differ, in all and in those that
        neither page has `named`, if this page is to count as its duplicate. Where both hold the
        same furniture, a bin doesn't count.
    other_title
        By so much smaller that share is where titles differ: pages of a resemblance of 0.9 are
        duplicates, and those must have 0.99.
    """

    text: bytes
    named: bytes
    furniture: SupportsBytes
    most_differing: float
    other_title: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a store needs to know of a page to judge and to remember it.

    Parameters
    ----------
    id
        64-bit page id: the same page fetched again has the same one.
    fingerprint
        64-bit simhash; for an `exact` page a 64-bit digest of its whole content.
    exact
        The page is too short for a simhash: only an equal fingerprint of another
        exact page is a match.
    scope
        Pages are compared only within one scope (``""``, a host, a domain, a language).
    title, content
        32-bit digests (0: there is none) of the title and headings, and of image sources
        and embedded data. A match whose title *and* content differ is no duplicate: equal
        text is not an equal page. Where the title alone differs, next to equal text is.
    url
        What a drop is explained with, or None to store nothing.
    tokens
        Number of tokens in the judged text.
    features
        64-bit min-wise features (Broder 2000, section 4), as many as the store expects; none
        for an exact page, or where pages aren't looked up by them.
    sketch
        What confirms that the page repeats a candidate; None for an exact page, or where
        nothing has to be confirmed.
    """

    id: int
    fingerprint: int
    exact: bool = False
    scope: str = ""
    title: int = 0
    content: int = 0
    url: str | None = None
    tokens: int = 0
    features: tuple[int, ...] = ()
    sketch: Sketch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The kept page that a page was found to repeat."""

    page_id: int
    distance: int
    """Hamming distance of the fingerprints, in bits."""
    url: str | None = None
    resemblance: float | None = None
    """Estimated resemblance, 1 for equal sketches; the lower one of text and core. None where
    nothing was confirmed."""
    count: int = field(default=0, compare=False)
    """Which of the pages that were found to repeat it this one is: 1 for the first, 0 where
    the store doesn't say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided about one page, and why."""

    decision: Decision
    reason: Reason
    page_id: int
    match: Match | None = None
    fingerprint: int | None = None
    tokens: int = 0
    detail: str = ""
    """For an unjudged page, what exactly went wrong; for others, in what it was judged as another
    than it is."""

    @classmethod
    def on(
        cls, page: Page, decision: Decision, reason: Reason, match: Match | None = None
    ) -> Self:
        """Return what a store says of `page`."""
        return cls(
            decision=decision,
            reason=reason,
            page_id=page.id,
            match=match,
            fingerprint=page.fingerprint,
            tokens=page.tokens,
        )

    @property
    def is_duplicate(self) -> bool:
        """Whether the page repeats another one."""
        return self.decision is Decision.DUPLICATE

    def explain(self) -> str:
        """One sentence for a log line."""
        match self.decision:
            case Decision.DUPLICATE | Decision.SEEN if self.match is not None:
                other = self.match.url or f"page {self.match.page_id:016x}"
                if self.decision is Decision.SEEN:
                    return f"the same page as before (distance {self.match.distance})"
                judged = f" ({self.detail})" if self.detail else ""
                if self.reason is Reason.EQUAL:
                    return f"its content equals that of {other}{judged}"
                found = f"at distance {self.match.distance} of {other}"
                if self.match.resemblance is not None:
                    found += f", resemblance {self.match.resemblance:.3f}"
                return found + judged
            case Decision.UNJUDGED:
                return f"not judged: {self.reason}" + (f" ({self.detail})" if self.detail else "")
            case _:
                return f"{self.decision}: {self.reason}"
