"""The interface of stores: find the pages that a page may repeat, and add it if it repeats none.

A store decides nothing: the caller's pure function `decide` says whether a page repeats a
candidate. A store never looks at text and never acts on a page. All stores behave in the same
way, and one test suite checks them all (``tests/stores/``).

The life of an entry::

    check_and_add(page) ── NEW ──> pending ── confirm(page.id) ──> kept
                                      └────── forget(page.id) ───> gone

A pending entry matches like a kept one. The processing of its page isn't over yet.

What `check_and_add` does:

1. *Candidates* are the entries of the page's scope and kind (exact or not) within Hamming distance
   k of its fingerprint (0 for an exact page), and those that share at least
   `Matching.shared_features` features with it, each in the same place. Distance counts only if
   `Matching.by_distance` is set, or for exact pages. Only the features that the store was opened
   for count (`Matching.features`), and not for exact pages. Of the entries of a scope with one
   value of a feature, only the first `MAX_UNDER_FEATURE` are candidates.
2. If the page's own entry of an earlier fetch is a candidate, `decide` gets it before all others.
   If the page repeats it: SEEN, and nothing changes. The match has the page's URL.
3. `decide` gets the others, at most `MAX_COMPARED`, the nearest first, and of equally near ones
   the smallest page id first. The page is a DUPLICATE of the first one that it repeats. That
   candidate's count of collapsed pages grows by one (`Match.count`), and the page's own old entry
   is withdrawn.
4. If it repeats none: NEW. The page is added as pending, in place of its own old entry and its
   count. If more than `MAX_COMPARED` others are within k, the page is one of a crowd: from then on
   only the page itself finds it by distance.
5. If there is no room (its buckets are full): UNJUDGED (overflow), and nothing changes.

An entry is *met* by a page that is SEEN or a DUPLICATE because of it. If no page has met it for
`StoreOptions.retention` seconds it is gone; a store may note meetings only once in a sixteenth of
that time.

A store that outlives its closing keeps for each namespace: the kept entries with all of their data
and counts, the notices of `Store.exchange`, the key, and k and `StoreOptions.schema`. It doesn't
open with another k or schema (`StoreMismatchError`), or with another key
(`stores.entryformat.KeyRecord`). Closing withdraws pending entries. If a pending entry had
replaced a kept one, a private store has the kept one again; a shared store loses it when it is
replaced. Namespaces are separate. A scope or URL may be any text, including surrogates.

*If two near-duplicates arrive together at two crawlers, exactly one is kept.* A page is added only
in an atomic step in which its crawler has refused all of its candidates. One of the two steps that
would add the two pages comes second. There the page that was added first is a candidate. So the
second page is added only if its crawler has refused the first one.

- Stores in memory call `decide` within the step.
- In one Redis a script looks for candidates. If all were refused before, it adds the page.
  Otherwise it adds nothing, and the crawler decides and calls again. A refused candidate is named
  by its page id and the stamp of its content, so an entry whose content has changed meanwhile is a
  candidate again.
- In a cluster no script sees all data of a page; ``docs/cluster.md`` proves the same for its
  protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.verdict import Candidate, Decide, Decided, Match, Page, Reason, Verdict

MAX_COMPARED: Final = 64
"""Maximum number of candidates that a page is compared with, which takes 0.2 ms. A page that
repeats one has few; if a page repeats none of 64, fingerprints don't distinguish the site's pages.
A page of a crowd (rule 4) is in no table, so that look-ups by distance stay bounded; features find
it."""

MAX_EQUAL: Final = 512
"""Maximum number of entries with one fingerprint, for exact pages, which nothing else finds."""

MAX_UNDER_FEATURE: Final = 16
"""Maximum number of entries found by one value of a feature. A feature that more distinct pages
have is boilerplate: it finds the wrong entries, in a time that grows with the site. Other features
of the page still find it."""

MAX_MEMBERS: Final = 64
"""Maximum number of members of a topic on the notice board; those that posted last stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The parameters with which a store is opened.

    `namespace` is the name of a crawl's memory; namespaces of a store are separate. `max_distance`
    is k, 0 to 10 bits (Manku et al. 2007, section 4.1), `matching` the evidence besides distance
    that makes an entry a candidate. `expected_pages` is the number that the store is designed for;
    more make it slower, but don't change its answers. Pages are hashed with `hash_key`; with None
    a new namespace makes its own key, and an existing one keeps its key. `retention` is in
    seconds: an entry that no page has met for longer no longer matches; 0 for no limit. `schema`
    is everything else that makes two fingerprints comparable (hash name and version, shingle size,
    ...), except for the key. It is recorded with the entries; a store that was made with another
    schema, k, `matching` or key doesn't open.
    """

    namespace: str = "default"
    max_distance: int = 3
    matching: Matching = field(default_factory=Matching)
    hash_key: bytes | None = PUBLIC_KEY
    expected_pages: int = 1_000_000
    retention: float = 0.0
    schema: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """The counts of a store."""

    pages: int
    """Number of entries, including pending ones."""
    pending: int
    dropped: int
    """Number of pages that are duplicates of entries that the store still has."""
    overflowed: int
    """Number of pages kept but not stored since the opening, because buckets were full."""
    memory_bytes: int | None = None


class Store(Protocol):
    """The memory of a crawl, shared by all crawlers that open the same one.

    Every method raises `StoreUnavailableError` if the store doesn't answer. Then the call had
    either no effect or its full effect once.

    `key` is the key that pages of the namespace are hashed with, known once the store is open;
    `is_private` says that only this crawler can use the store, and that it ends with the crawl.
    """

    key: bytes = PUBLIC_KEY
    is_private: bool = False

    async def open(self) -> None:
        """Open the store; a `StoreError` says why it can't be opened, and what to do."""

    async def close(self) -> None:
        """Write confirmed entries and release all resources; pending entries are withdrawn.

        A closed store may be opened again, and closed again.
        """

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for an entry that `page` repeats, and add the page as pending if there is none.

        `decide` says whether the page repeats a candidate. The default compares the stored data of
        both, without knowledge about their site (`scrapy_neardup.judge.comparison.deciding`).
        """

    async def confirm(self, page_id: int) -> None:
        """Make an entry final, after the processing of its page. Unknown ids are ignored.

        The page id, here and in `forget`, doesn't distinguish two fetches of a page. With
        ``dont_filter`` or by two crawlers, a page may be fetched twice at the same time, with
        different contents. Then the entry has the later content, and the callback that is done
        first decides: once the entry is final it stays, even if the second callback fails. Within
        a crawl only the second callback decides, because `crawl/pending.py` distinguishes the
        fetches; Redis and a cluster do so for two crawlers.
        """

    async def forget(self, page_id: int) -> int:
        """Withdraw a *pending* entry, after the processing of its page has failed.

        Returns the number of pages dropped as its duplicates meanwhile; 0 if there is no pending
        entry with that id, and nothing changes.
        """

    async def stats(self) -> StoreStats:
        """Return the counts of the store."""

    async def exchange(
        self,
        topic: str,  # noqa: ARG002
        member: str,  # noqa: ARG002
        value: bytes | None,
    ) -> list[bytes]:
        """Post `value` as `member` on a notice board, and return the values of all members.

        If `value` is None, nothing is posted. It returns the latest value of each member,
        including the caller, in any order. Members that posted nothing for a day may be missing,
        as may members beyond `MAX_MEMBERS`. Posting the same value again changes nothing. A store
        that keeps only fingerprints returns the caller's value.
        """
        return [] if value is None else [value]

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def differences(there: Mapping[str, object], here: Mapping[str, object]) -> str:
    """Return the parameters in which two stores differ, in words."""
    return "; ".join(
        f"{name} is {there.get(name)!r} there and {here.get(name)!r} here"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    )


def limit_of(matching: Matching, max_distance: int, *, exact: bool) -> int:
    """Return the maximum distance of candidates in bits; -1 if distance finds none (rule 1)."""
    return 0 if exact else max_distance if matching.by_distance else -1


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
