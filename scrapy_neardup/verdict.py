"""The values that packages exchange: pages, candidates, decisions, verdicts.

They are plain and frozen. A `Page` is all that a store knows about a page, a `Candidate` all that
a comparison knows about a stored page, and a `Verdict` all that is known about a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self


class Decision(StrEnum):
    """The decision about a page."""

    NEW = "new"
    """No page like it is known; it is stored, and pending until confirmed."""
    DUPLICATE = "duplicate"
    """A page like it was kept before; see `Verdict.match`."""
    SEEN = "seen"
    """The same page again (same page id, content within k bits), which is never its own
    duplicate."""
    UNJUDGED = "unjudged"
    """It can't be judged, as `Verdict.reason` says. Such a page is kept, but isn't stored."""


NEW, DUPLICATE, SEEN, UNJUDGED = Decision
"""The same constants without the look-up in an enumeration, which is slow in Python 3.11."""


class Reason(StrEnum):
    """Reason of a decision; also the last part of a stat such as ``neardup/unjudged/empty``."""

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
    TOO_LONG = "too-long"  # a page of a collection, longer than 64 MiB when decompressed
    TOO_COMPLEX = "too-complex"  # reading it would take seconds (`text.parse`)
    TEXT_ERROR = "text-error"  # the user's NEARDUP_TEXT callable failed
    DENIED = "denied"  # NEARDUP_DENY
    ERROR = "error"  # judging raised an unexpected exception
    SKIPPED = "skipped"  # request.meta["neardup_skip"]
    OVERFLOW = "overflow"  # its buckets are full: kept, not remembered
    STORE_ERROR = "store-error"
    TIMEOUT = "timeout"  # NEARDUP_TIMEOUT
    PAUSED = "paused"  # the store failed repeatedly; it is tried again soon


_DECISIONS = {
    Reason.UNMATCHED: NEW,
    Reason.CHANGED: NEW,
    Reason.NEAR: DUPLICATE,
    Reason.EQUAL: DUPLICATE,
    Reason.SAME_PAGE: SEEN,
}
"""Reason -> decision; with any other reason a page isn't judged."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """The data of a page that a store needs to judge and to remember it."""

    id: int
    """64-bit id, the same if the page is fetched again."""
    fingerprint: int
    """64-bit simhash; for an `exact` page a 64-bit digest of its whole content."""
    exact: bool = False
    """Whether the page is too short for a simhash; then it matches only exact pages with an equal
    fingerprint."""
    scope: str = ""
    """The scope (``""``, a host, a domain, a language) within which pages are compared."""
    url: str | None = None
    """URL that explains drops, or None to store none."""
    tokens: int = 0
    """Number of tokens in the judged text."""
    features: tuple[int, ...] = ()
    """64-bit min-wise features (Broder 2000), as many as the store expects; none for an exact
    page, or if pages aren't looked up by features."""
    evidence: bytes = b""
    """Data that a store keeps to confirm that another page repeats this one (`judge.evidence`). A
    page without it (preset ``paper``, or made by hand) repeats any candidate; without features,
    distance alone decides."""


class Candidate(NamedTuple):
    """A stored page that a page may repeat, as its store found it."""

    page_id: int
    distance: int
    """Hamming distance of the fingerprints, in bits."""
    evidence: bytes = b""
    """See `Page.evidence`; ``b""`` if the store has lost it."""


class Decided(NamedTuple):
    """Whether a page repeats a candidate, and why."""

    is_same: bool
    rule: str
    """Name of the rule that decided."""
    resemblance: float | None = None
    """Estimated resemblance; None if no sketches were compared."""
    needed: float | None = None
    """Minimum resemblance that the rule requires; None if it requires something else."""
    identity: str = ""
    """How the addresses and titles of the two pages compare."""
    views: tuple[tuple[str, int, int], ...] = ()
    """Each view of the two pages: its name, the number of shingles that only one page has, and the
    number of shingles that count."""
    learnt: tuple[str, ...] = ()
    """Kinds of knowledge about their sites (``NEARDUP_LEARN``) because of which parts of the pages
    were left out."""


Decide = Callable[[Candidate], Decided]
"""Pure function that says whether the page repeats a candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A stored page that a page was compared with."""

    page_id: int
    distance: int
    """Hamming distance of the fingerprints, in bits."""
    url: str | None = None
    count: int = field(default=0, compare=False)
    """Number of the page among those that repeat this one: 1 for the first, 0 if the store doesn't
    count."""
    decided: Decided | None = field(default=None, compare=False)
    """Whether the page repeats this one, and why."""
    found: str = field(default="", compare=False)
    """How it was found: ``distance``, fingerprints within k bits; ``address``, its path or
    canonical path; ``features``, shared min-wise features; ``equal``, the same digest; ``""``,
    unknown."""
    differs: bool = field(default=False, compare=False)
    """Whether a page that was seen again has changed, for example its price or its title."""

    @property
    def resemblance(self) -> float | None:
        """Estimated resemblance; None if no sketches were compared."""
        return None if self.decided is None else self.decided.resemblance

    def why(self) -> dict[str, Any]:
        """Return the reported fields of the decision, besides its rule and resemblance."""
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
        """Return the reported fields of the page that a kept page came closest to repeating."""
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
    """The decision about one page, and its reason."""

    decision: Decision
    reason: Reason
    page_id: int
    match: Match | None = None
    """The page that a duplicate repeats, or the stored entry of a page that was seen again."""
    nearest: Match | None = None
    """The nearest stored page with which a new page was compared."""
    released: tuple[int, ...] = ()
    """Ids of dropped pages, this one included, that turn out to repeat nothing, such as records.
    They must be requested again."""
    fingerprint: int | None = None
    tokens: int = 0
    detail: str = ""
    """The exact problem of an unjudged page."""

    @classmethod
    def on(cls, page: Page, reason: Reason, match: Match | None = None) -> Self:
        """Return the verdict of a store on `page`."""
        return cls(
            decision=_DECISIONS.get(reason, UNJUDGED),
            reason=reason,
            page_id=page.id,
            match=match,
            fingerprint=page.fingerprint,
            tokens=page.tokens,
        )

    @property
    def rule(self) -> str:
        """Name of the rule by which the page repeats its match; ``""`` without a match."""
        return "" if self.match is None or self.match.decided is None else self.match.decided.rule

    @property
    def changed(self) -> bool:
        """Whether the same page was kept before with other content."""
        if self.decision is SEEN:
            return self.match is not None and self.match.differs
        return self.decision is NEW and self.reason is Reason.CHANGED

    @property
    def is_duplicate(self) -> bool:
        """Whether the page repeats another one."""
        return self.decision is DUPLICATE

    def explain(self) -> str:
        """Return the text that follows the page's URL in a log line."""
        match self.decision:
            case Decision.DUPLICATE | Decision.SEEN if self.match is not None:
                other = self.match.url or f"page {self.match.page_id:016x}"
                if self.decision is SEEN:
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


_WAYS = {"features": ", found by shared features", "address": ", found by its address"}
"""How a match was found, if not by distance -> the words for it."""
