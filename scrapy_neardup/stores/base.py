"""What every store is: one asynchronous interface, one rule, one way to open it.

Rule of this room: a store decides and remembers; it never looks at text and never
acts on a page. The behaviour is the same for every store, and one test suite holds them to it
(``tests/stores/``).

The life of an entry::

    check_and_add(page) ── NEW ──> pending ── confirm(page.id) ──> kept
                                      └────── forget(page.id) ───> gone

A pending entry matches like a kept one; pending says that the page's own processing
is not over yet. A durable store makes only kept entries durable.

The rule, applied by `check_and_add` in one atomic step:

1. *Candidates* are the entries of the page's scope and kind (exact or not) within
   Hamming distance k of its fingerprint (0 for an exact page), and those that share at
   least `Matching.shared_features` features with it, less those that `contradicts` it
   and, where pages are confirmed, those that the table of `scrapy_neardup.evidence.decision`
   doesn't take for the same page.
2. The entry with the page's own id is a candidate: SEEN, and nothing changes.
3. Any other candidate: DUPLICATE of the nearest (smallest page id among equals); its
   count of collapsed pages grows by one (`Match.count`); the page's own old entry is
   withdrawn.
4. Otherwise NEW: the page is stored as pending, in place of its own old entry, whose
   count ends with it.
5. Where there is no room for it (its buckets are full, or hundreds of entries are near
   and other pages by what they say beside their text): UNJUDGED (overflow), and nothing
   changes.

So no two stored pages are duplicates under the rule in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.verdict import Page, Verdict

MAX_CONTRADICTED: Final = 512
"""Maximum number of entries near a new page that differ from it in title and content, and of
entries with one key. Where a site serves one text under more titles, fingerprints say nothing, and
examining all entries would take longer than processing the page."""

MAX_COMPARED: Final = 64
"""Maximum number of candidates compared with a page, nearest first, in some 0.2 ms. Pages that
repeat one have few candidates; where none of 64 is confirmed, the site's fingerprints say nothing,
and the page is kept."""

MAX_UNDER_FEATURE: Final = 16
"""Maximum number of entries found by one value of one feature. A feature of more distinct pages is
furniture, not content: it finds the wrong entries, and the time of a page would grow with its
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
        k, 0 to 8 bits (Manku et al. 2007, section 4.1).
    matching
        What else makes a page a duplicate of an entry.
    expected_pages
        Number of pages that the store is sized for. More pages are slower, not wrong.
    retention
        Seconds after which an entry that no page has met no longer matches; 0: never. Only
        Redis stores take another value.
    schema
        Everything else that makes two fingerprints comparable (hash name and version,
        shingle size, ...). It is recorded with the entries; a store made with another schema, k
        or `matching` refuses to open.
    """

    namespace: str = "default"
    max_distance: int = 3
    matching: Matching = field(default_factory=Matching)
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
    """Number of pages kept but not remembered, for want of room, since the store was opened."""
    memory_bytes: int | None = None


class Store(Protocol):
    """Where the fingerprints of a crawl live; shared by all who open the same one.

    Every method raises `StoreUnavailableError` where the store doesn't answer, and
    leaves it as if the call had not been made or had been made once.
    """

    async def open(self) -> None:
        """Make it ready.

        Raises
        ------
        StoreError
            It can't be opened; the message says why and what to do.
        """

    async def close(self) -> None:
        """Make durable what is confirmed and let go; pending entries are given up."""

    async def check_and_add(self, page: Page) -> Verdict:
        """Judge `page` and, if it is new, remember it as pending: one atomic step."""

    async def confirm(self, page_id: int) -> None:
        """Make an entry final, as the processing of its page is done. Unknown ids are ignored.

        The page id, here and in `forget`, doesn't tell two fetches of a page apart. If one page is
        fetched twice at once with two contents (which Scrapy's filter allows only with
        ``dont_filter``, or to two crawlers), the entry is that of the later content, and whoever
        ends first ends it: once it is final it stays, even if the second callback fails. Within a
        crawl the second callback alone ends it, as `crawl/ledger.py` tells them apart; so does a
        cluster those of two crawlers. One Redis would have to read each page's entry for it, once
        more a page for this case alone.
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

        With None nothing is posted.

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


def contradicts(page: Page, title: int, content: int) -> bool:
    """Whether an entry's `title` and `content` digests say that it is another page.

    Application shells, photo pages and pages that keep their data in a script element
    show equal text. Where the title *and* the embedded content differ, equal text is
    no evidence.
    """
    return page.title != title and page.content != content
