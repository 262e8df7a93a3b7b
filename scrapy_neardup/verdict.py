"""The values that travel between the rooms: Page, Match, Verdict.

Rule of this room: plain, frozen, picklable values and nothing that computes more
than a sentence. A `Page` is all that a store may know of a page; a `Verdict` is all
that anybody above a store may know of a decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, Self

from scrapy_neardup.options import OPTIONS


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
    TOO_COMPLEX = "too-complex"  # reading it would take seconds (`text.limits`)
    TEXT_ERROR = "text-error"  # the user's NEARDUP_TEXT callable failed
    DENIED = "denied"  # NEARDUP_DENY
    SKIPPED = "skipped"  # request.meta["neardup_skip"]
    OVERFLOW = "overflow"  # its buckets are full: kept, not remembered
    STORE_ERROR = "store-error"
    TIMEOUT = "timeout"  # NEARDUP_TIMEOUT
    PAUSED = "paused"  # the store failed repeatedly; it is tried again soon


class Furniture(Protocol):
    """The part of a page that other pages of its site share, computed when it is needed."""

    def plane(self) -> int:
        """Return the bins of the page's sketch whose minimum is furniture, bin i as bit i."""

    def lacked(self, bits: int) -> tuple[int, tuple[int, ...]] | None:
        """Return the bins and values of the furniture that the page lacks; None for little."""

    def is_most(self) -> bool:
        """Return whether almost all of the page is furniture (`evidence.furniture.Marks`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """What is known of its site when a page is compared with others; it isn't stored.

    Parameters
    ----------
    min_resemblance
        Minimum resemblance of texts that are alike.
    titles
        Whether titles count: ``"learn"``, ``"strict"``, ``"ignore"``.
    furniture
        The part of the page that its site's pages share.
    changing
        Places of the site that change with each response, 16 bits each.
    common
        Words that most titles of the site hold, 16 bits each; they don't count.
    editions
        Differences, modulo 2^32, between the steps of two addresses of one page in two editions.
    constant
        Places of the site that hold the same text on all of its pages, 16 bits each: the text of a
        stored page there isn't its own.
    young_site, young_folder
        Whether too few pages are known: of the site, to know the words that its titles share, or
        of the page's folder, to know its furniture.
    """

    min_resemblance: float = OPTIONS["min_resemblance"].default
    titles: str = OPTIONS["titles"].default
    furniture: Furniture | None = None
    changing: frozenset[int] = frozenset()
    common: frozenset[int] = frozenset()
    editions: frozenset[int] = frozenset()
    constant: frozenset[int] = frozenset()
    young_site: bool = False
    young_folder: bool = False


_NOTHING_KNOWN: Final = Weighing()


@dataclass(frozen=True, kw_only=True)
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
        32-bit digests (0: there is none) of the title and headings, and of image sources and
        embedded data. A match whose title *and* content differ is no duplicate: equal text is not
        an equal page. Where the title alone differs, `scrapy_neardup.evidence.decision` says how
        much of the text must be equal.
    url
        URL that explains a drop, or None to store nothing.
    tokens
        Number of tokens in the judged text.
    features
        64-bit min-wise features (Broder 2000, section 4), the number that the store expects; none
        for an exact page, or where pages aren't looked up by features.
    evidence
        What a store keeps to confirm that another page repeats this one
        (`scrapy_neardup.evidence.layout`); ``b""`` where nothing has to be confirmed.
    weighing
        What the site has shown that helps to compare it.
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
    evidence: bytes = b""
    weighing: Weighing = field(default=_NOTHING_KNOWN, compare=False)

    def weighed(self, weighing: Weighing) -> Self:
        """Return the page as one that is compared with what its site has shown."""
        page = object.__new__(type(self))  # `replace` takes ten times as long
        vars(page).update(vars(self), weighing=weighing)
        return page


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The kept page that a page was found to repeat."""

    page_id: int
    distance: int
    """Hamming distance of the fingerprints, in bits."""
    url: str | None = None
    resemblance: float | None = None
    """Estimated resemblance, the lower of text and core: 1 for equal sketches, None where nothing
    was confirmed."""
    count: int = field(default=0, compare=False)
    """Number of the page among those that were found to repeat the match: 1 for the first, 0 where
    the store doesn't say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided about one page, and why."""

    decision: Decision
    reason: Reason
    page_id: int
    match: Match | None = None
    rule: str = ""
    """Name of the rule that decided; ``""`` for none."""
    fingerprint: int | None = None
    tokens: int = 0
    witness: bytes = field(default=b"", repr=False)
    """What the store keeps of another page at the same path, if it knows one."""
    found: str = ""
    """What led to the match: ``distance``, fingerprints within k bits; ``address``, the same path;
    ``features``, shared min-wise features; ``equal``, the same digest. ``""`` where it isn't
    known."""
    closest: float | None = None
    """Of a page judged new, the estimated resemblance of the nearest page that it was compared
    with, if that was asked for; None where there was none."""
    threshold: float | None = None
    """The resemblance that was needed, where it alone decided."""
    learnt: tuple[str, ...] = ()
    """Kinds of knowledge about the site (``NEARDUP_LEARN``) without any of which the page would
    have been judged new, if that was asked for."""
    detail: str = ""
    """What exactly went wrong, for an unjudged page; for others, what was left out before they
    were judged."""

    @classmethod
    def on(  # noqa: PLR0917  (as its fields)
        cls,
        page: Page,
        decision: Decision,
        reason: Reason,
        match: Match | None = None,
        rule: str = "",
        witness: bytes = b"",
    ) -> Self:
        """Return what a store says of `page`."""
        return cls(
            rule=rule,
            witness=witness,
            decision=decision,
            reason=reason,
            page_id=page.id,
            match=match,
            fingerprint=page.fingerprint,
            tokens=page.tokens,
        )

    @property
    def changed(self) -> bool:
        """Whether the same page was kept before, with another content."""
        return self.decision is Decision.NEW and self.reason is Reason.CHANGED

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
                return found + _WAYS.get(self.found, "") + judged
            case Decision.UNJUDGED:
                return f"not judged: {self.reason}" + (f" ({self.detail})" if self.detail else "")
            case _:
                return f"{self.decision}: {self.reason}"


_WAYS = {
    "distance": ", found by that distance",
    "features": ", found by shared features",
    "address": ", found at the same path",
}
"""What led to a match, in a sentence."""
