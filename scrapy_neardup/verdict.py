"""The values that travel between the packages: pages, candidates, decisions, verdicts.

They are plain and frozen. A `Page` is all that a store knows of a page, a `Candidate` all that the
decision knows of a stored one, and a `Verdict` all that is known of a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self


class Decision(StrEnum):
    """What was decided about a page."""

    NEW = "new"
    """No page like it is known; it is stored, pending until confirmed."""
    DUPLICATE = "duplicate"
    """A page like it was kept before: see `Verdict.match`."""
    SEEN = "seen"
    """The same page again (the same page id, its content within k), which is never its own
    duplicate."""
    UNJUDGED = "unjudged"
    """It can't be judged, as `Verdict.reason` says; such a page is kept, and nothing is stored."""


class Reason(StrEnum):
    """Reason of a decision: the last part of a stat such as ``neardup/unjudged/empty``."""

    # new
    UNMATCHED = "unmatched"  # nothing close enough is stored
    CHANGED = "changed"  # same page id, other content: its entry was replaced
    # duplicate
    NEAR = "near"  # fingerprints at Hamming distance <= k
    EQUAL = "equal"  # without evidence, a short page: text, title, images, data are the same
    # seen
    SAME_PAGE = "same-page"
    # unjudged
    EMPTY = "empty"  # fewer than five tokens
    NOT_HTML = "not-html"  # JSON, feeds, plain text, binary
    UNPARSABLE = "unparsable"  # the parsers found no tree in it
    TOO_LONG = "too-long"  # of a collection, and longer than 64 MiB when decompressed
    TOO_COMPLEX = "too-complex"  # reading it would take seconds (`text.limits`)
    TEXT_ERROR = "text-error"  # the user's NEARDUP_TEXT callable failed
    DENIED = "denied"  # NEARDUP_DENY
    ERROR = "error"  # judging raised something that it shouldn't
    SKIPPED = "skipped"  # request.meta["neardup_skip"]
    OVERFLOW = "overflow"  # its buckets are full: kept, not remembered
    STORE_ERROR = "store-error"
    TIMEOUT = "timeout"  # NEARDUP_TIMEOUT
    PAUSED = "paused"  # the store failed repeatedly; it is tried again soon


_DECISIONS = {
    Reason.UNMATCHED: Decision.NEW,
    Reason.CHANGED: Decision.NEW,
    Reason.NEAR: Decision.DUPLICATE,
    Reason.EQUAL: Decision.DUPLICATE,
    Reason.SAME_PAGE: Decision.SEEN,
}
"""Reason -> decision; any other reason is that of a page that isn't judged."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a store needs to know of a page to judge and to remember it."""

    id: int
    """64 bits: the same page fetched again has the same one."""
    fingerprint: int
    """64-bit simhash; for an `exact` page a 64-bit digest of its whole content."""
    exact: bool = False
    """The page is too short for a simhash: only an equal fingerprint of another exact page is a
    match."""
    scope: str = ""
    """Pages are compared only within one scope (``""``, a host, a domain, a language)."""
    url: str | None = None
    """URL that explains a drop, or None to store nothing."""
    tokens: int = 0
    """Number of tokens in the judged text."""
    features: tuple[int, ...] = ()
    """64-bit min-wise features (Broder 2000), the number that the store expects; none
    for an exact page, or where pages aren't looked up by features."""
    evidence: bytes = b""
    """What a store keeps to confirm that another page repeats this one (`decision.evidence`). A
    page without, as of the preset ``paper`` or made by hand, repeats whatever was found for it:
    where it has no features, distance alone decides."""


class Candidate(NamedTuple):
    """A stored page that a page may repeat, as its store found it."""

    page_id: int
    distance: int
    """Hamming distance of the fingerprints, in bits."""
    evidence: bytes = b""
    """See `Page.evidence`; ``b""`` where the store has lost it."""


class Decided(NamedTuple):
    """Whether a page repeats a candidate, and why: all that is ever reported of it."""

    is_same: bool
    rule: str
    """Name of the rule that decided."""
    resemblance: float | None = None
    """Estimated resemblance; None where no sketches were compared."""
    needed: float | None = None
    """Minimum resemblance that the rule asks for; None where it asks for something else."""
    identity: str = ""
    """What addresses and titles say of the two pages."""
    views: tuple[tuple[str, int, int], ...] = ()
    """Each view of the two pages: its name, number of shingles that only one page has, number of
    both that count."""
    learnt: tuple[str, ...] = ()
    """Kinds of knowledge about their sites (``NEARDUP_LEARN``) by which something didn't count."""


Decide = Callable[[Candidate], Decided]
"""Pure function that says whether the page at hand repeats a candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A stored page that a page was compared with."""

    page_id: int
    distance: int
    """Hamming distance of the fingerprints, in bits."""
    url: str | None = None
    count: int = field(default=0, compare=False)
    """Number of the page among those that were found to repeat this one: 1 for the first, 0 where
    the store doesn't say."""
    decided: Decided | None = field(default=None, compare=False)
    """Whether the page repeats this one, and why."""
    found: str = field(default="", compare=False)
    """How it was found: ``distance``, fingerprints within k bits; ``address``, its path or
    canonical path; ``features``, shared min-wise features; ``equal``, the same digest. ``""``
    where it isn't known."""
    differs: bool = field(default=False, compare=False)
    """Of a page that was seen again, whether it shows something else: a price, a title."""

    @property
    def resemblance(self) -> float | None:
        """Estimated resemblance; None where no sketches were compared."""
        return None if self.decided is None else self.decided.resemblance

    def why(self) -> dict[str, Any]:
        """Return what is reported of the decision besides its rule and its number."""
        if self.decided is None:
            return {}
        views = {name: [differing, of] for name, differing, of in self.decided.views}
        keys = {
            "found": self.found,
            "learnt": self.decided.learnt,
            "threshold": self.decided.needed,
            "identity": self.decided.identity,
            "views": views,
        }
        return {key: value for key, value in keys.items() if value not in (None, "", (), {})}

    def as_nearest(self) -> dict[str, Any] | None:
        """Return what is reported of the page that a kept one came closest to repeating."""
        if self.decided is None:
            return None
        line = {
            "id": f"{self.page_id:016x}",
            "distance": self.distance,
            "rule": self.decided.rule,
            "resemblance": self.decided.resemblance,
        }
        return line | self.why()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided about one page, and why."""

    decision: Decision
    reason: Reason
    page_id: int
    match: Match | None = None
    """The page that a duplicate repeats, or that was seen again."""
    nearest: Match | None = None
    """Of a new page, the nearest of the stored pages that it was compared with."""
    released: tuple[int, ...] = ()
    """Ids of pages that were dropped and turn out to be records of their own, this one among them:
    requests for them are to be made again."""
    fingerprint: int | None = None
    tokens: int = 0
    detail: str = ""
    """Of an unjudged page: what exactly went wrong."""

    @classmethod
    def on(cls, page: Page, reason: Reason, match: Match | None = None) -> Self:
        """Return the verdict of a store on `page`."""
        return cls(
            decision=_DECISIONS.get(reason, Decision.UNJUDGED),
            reason=reason,
            page_id=page.id,
            match=match,
            fingerprint=page.fingerprint,
            tokens=page.tokens,
        )

    @property
    def rule(self) -> str:
        """Name of the rule by which the page repeats its match; ``""`` for none."""
        return "" if self.match is None or self.match.decided is None else self.match.decided.rule

    @property
    def changed(self) -> bool:
        """Whether the same page was kept before, with another content."""
        if self.decision is Decision.SEEN:
            return self.match is not None and self.match.differs
        return self.decision is Decision.NEW and self.reason is Reason.CHANGED

    @property
    def is_duplicate(self) -> bool:
        """Whether the page repeats another one."""
        return self.decision is Decision.DUPLICATE

    def explain(self) -> str:
        """What follows the page's URL in a log line."""
        match self.decision:
            case Decision.DUPLICATE | Decision.SEEN if self.match is not None:
                other = self.match.url or f"page {self.match.page_id:016x}"
                if self.decision is Decision.SEEN:
                    return f"the same page as before (distance {self.match.distance})"
                if self.reason is Reason.EQUAL:
                    return f"repeats {other} (equal content)"
                found = f"distance {self.match.distance}"
                if self.match.resemblance is not None:
                    found += f", resemblance {self.match.resemblance:.3f}"
                return f"repeats {other} ({found}{_WAYS.get(self.match.found, '')})"
            case Decision.UNJUDGED:
                return f"not judged: {self.reason}" + (f" ({self.detail})" if self.detail else "")
            case _:
                return f"{self.decision}: {self.reason}"


_WAYS = {
    "features": ", found by shared features",
    "address": ", found by its address",
}
"""What led to a match, where it wasn't its distance."""
