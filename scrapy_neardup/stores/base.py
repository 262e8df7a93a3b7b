"""The interface of stores: finding what a page may repeat, adding it if it repeats nothing.

A store decides nothing: whether a page repeats a candidate is up to `decide`, a pure function of
the caller's. It never looks at text and never acts on a page. Every store behaves in the same way,
and one test suite holds them to it (``tests/stores/``).

The life of an entry::

    check_and_add(page) ── NEW ──> pending ── confirm(page.id) ──> kept
                                      └────── forget(page.id) ───> gone

A pending entry matches like a kept one; pending says that the page's own processing
is not over yet.

What `check_and_add` does:

1. *Candidates* are the entries of the page's scope and kind (exact or not) within Hamming distance
   k of its fingerprint (0 for an exact page), and those that share at least
   `Matching.shared_features` features with it, each in its own place. By distance only where
   `Matching.by_distance` says so, exact pages in any case. By features only as many as the store
   was opened for (`Matching.features`), no exact pages, and of the entries of a scope with one
   value of one feature the first `MAX_UNDER_FEATURE` alone.
2. The page's own entry of an earlier fetch, where it is a candidate, is asked about before all
   others. If the page repeats it: SEEN, and nothing changes. The match has the page's URL.
3. The others are asked about nearest first, at most `MAX_COMPARED` of them; of equally near ones
   that of the smallest page id comes first. The first one that the page repeats: DUPLICATE. The
   candidate's count of collapsed pages grows by one (`Match.count`), and the page's own old entry
   is withdrawn.
4. If it repeats none: NEW. The page is added as pending, in place of its own old entry, whose
   count ends with it. Where a further candidate is within k, the page is one of a crowd: from then
   on distance leads nobody but the page itself to it.
5. Where there is no room (its buckets are full): UNJUDGED (overflow), and nothing changes.

An entry that no page has met, as SEEN or DUPLICATE, for `StoreOptions.retention` seconds is gone;
a store may count such a meeting only once in a sixteenth of that time.

What a store that outlives its closing keeps of a namespace: the kept entries with all that was
stored of them and their counts, the notices of `Store.exchange`, the key, and what it was made
with (k and `StoreOptions.schema`). With another k or schema it refuses to open
(`StoreMismatchError`), and with another key (`stores.keys.KeyRecord` records a key, finds it again
and refuses others). Pending entries are withdrawn when it is closed. Where one had replaced a kept
entry, a private store has that one again; a shared store lets it go when it is replaced.
Namespaces never meet. A scope or URL may be any text, surrogates included.

*Of two near-duplicates that arrive together at two crawlers one is kept, and one alone.* A page is
added only in an atomic step in which all of its candidates have been refused by whoever adds it.
Of the two steps that would add the two pages one comes second, and in it the page that was added
first is a candidate: the second page is added only if its crawler has refused the first one.

- Stores in memory ask within the step.
- In one Redis the script that looks for candidates adds the page if it finds none but those that
  were refused; if it finds another one, it adds nothing, and the crawler decides and asks again. A
  refused candidate is named by its page id and the stamp of its content, so that an entry whose
  content has changed meanwhile is asked about anew.
- In a cluster no script sees all of a page; ``docs/cluster.md`` shows the same for its protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.judge.matching import Matching
from scrapy_neardup.verdict import Candidate, Decide, Decided, Match, Page, Reason, Verdict

MAX_COMPARED: Final = 64
"""Maximum number of candidates that are asked about, in some 0.2 ms. Pages that repeat one have
few; where none of 64 is repeated, the site's fingerprints say nothing. A page of a crowd
(rule 4) is in no table, so that look-ups by distance stay bounded. Features still find it."""

MAX_EQUAL: Final = 512
"""Maximum number of entries that one fingerprint leads to; exact pages, which nothing else finds,
are listed up to this number."""

MAX_UNDER_FEATURE: Final = 16
"""Maximum number of entries found by one value of one feature. A feature of more distinct pages is
boilerplate, not content: it finds the wrong entries, and the time of a page would grow with its
site. The page's other features still find it."""

MAX_MEMBERS: Final = 64
"""Maximum number of members of a topic on the notice board: those that posted a change last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """How a store is opened.

    Parameters
    ----------
    namespace
        One crawl's memory. Namespaces of one store never meet.
    max_distance
        k, 0 to 10 bits (Manku et al. 2007, section 4.1).
    matching
        What else makes a page a duplicate of an entry.
    expected_pages
        Number of pages that the store is sized for. More pages are slower, not wrong.
    hash_key
        The key that pages are hashed with; None: a new namespace gets its own, and one that is
        there keeps its own.
    retention
        Seconds after which an entry that no page has met no longer matches; 0: never.
    schema
        Everything else that makes two fingerprints comparable (hash name and version,
        shingle size, ...), except for the key. It is recorded with the entries; a store made with
        another schema, k, `matching` or key refuses to open.
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
    """What a store holds."""

    pages: int
    """Number of entries, pending ones included."""
    pending: int
    dropped: int
    """Number of pages found to be duplicates of an entry that is still held."""
    overflowed: int
    """Number of pages that were kept but not stored, as buckets were full, since it was opened."""
    memory_bytes: int | None = None


class Store(Protocol):
    """Where the fingerprints of a crawl live; shared by all who open the same one.

    Every method raises `StoreUnavailableError` where the store doesn't answer, and
    leaves it as if the call had not been made or had been made once.

    Attributes
    ----------
    key
        What the pages of the namespace are hashed with; it is known once the store is open.
    is_private
        Whether no other crawler can use it.
    """

    key: bytes = PUBLIC_KEY
    is_private: bool = False

    async def open(self) -> None:
        """Make it ready.

        Raises
        ------
        StoreError
            It can't be opened; the message says why and what to do.
        """

    async def close(self) -> None:
        """Write confirmed entries and release all resources; pending entries are withdrawn."""

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for what `page` repeats, and remember it as pending if it repeats nothing.

        Parameters
        ----------
        decide
            Says whether the page repeats a candidate. By default what is stored of both decides,
            and nothing is known of their site (`scrapy_neardup.judge.comparison.deciding`).
        """

    async def confirm(self, page_id: int) -> None:
        """Make an entry final, as the processing of its page is done. Unknown ids are ignored.

        The page id, here and in `forget`, doesn't tell two fetches of a page apart. If one page is
        fetched twice at once with two contents (which Scrapy's filter allows only with
        ``dont_filter``, or to two crawlers), the entry is that of the later content, and whoever
        ends first ends it: once it is final it stays, even if the second callback fails. Within a
        crawl the second callback alone ends it, as `crawl/pending.py` tells them apart; so do
        Redis and a cluster those of two crawlers.
        """

    async def forget(self, page_id: int) -> int:
        """Withdraw a *pending* entry, as its processing failed.

        Returns
        -------
        int
            Number of pages dropped as its duplicates meanwhile; 0 where there is no pending
            entry of that id (nothing changes then).
        """

    async def stats(self) -> StoreStats:
        """Count what is held."""

    async def exchange(
        self,
        topic: str,  # noqa: ARG002
        member: str,  # noqa: ARG002
        value: bytes | None,
    ) -> list[bytes]:
        """Post `value` under the name `member`, and read what all members have posted.

        If `value` is None, nothing is posted.

        A notice board beside the fingerprints: it returns the latest value of each member, the
        caller included, in no particular order. Members that posted nothing for a day may be
        gone, and so may any beyond `MAX_MEMBERS`. Posting the same value again changes nothing. A
        store that keeps fingerprints alone returns the caller's value.
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
    """Return the parameters that two stores were made with and differ in, in words."""
    return "; ".join(
        f"{name} is {there.get(name)!r} there and {here.get(name)!r} here"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    )


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
