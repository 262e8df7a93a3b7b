"""A memory that many crawlers share: a string for each page in a Redis (6.2 or newer) or Valkey.

Every verb is one Lua script, atomic for all crawlers of the namespace. ``check_and_add`` finds the
entries that a page may repeat, or adds the page. The crawler decides, and calls again until the
page is added or repeats an entry. The scripts are in ``lua/``, the layout of the keys in
``docs/redis.md``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.errors import StoreError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import StoreOptions, matched, near_reason
from scrapy_neardup.stores.redis import namespace
from scrapy_neardup.stores.redis.calls import Calls
from scrapy_neardup.stores.redis.connection import connect
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.pages import (
    ADDED,
    STAMP,
    Arriving,
    PageRecord,
    Repeats,
    entries,
    replaced,
)
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

_log = logging.getLogger(__name__)

SWEEP_PAUSE = 0.5
"""Seconds between two steps of a crawler's sweep."""

_SWEPT = 256
"""Maximum number of entries of one kind that a step withdraws: one script of some 2 ms names them,
and further scripts withdraw sixteen each."""

_REMEMBERED = 65_536
"""Maximum number of entries remembered as withdrawn, or as unsure; the last ones stay."""

_NOTHING = bytes(12)


MAX_END = 10.0
"""Maximum seconds that tasks may go on after `Background.close`: twice the time of a reply."""


class Background:
    """Tasks that run until they are done, periodic ones until `close`, whatever a step raises.

    No task is cancelled: redis-py may lose a cancellation that coincides with its own timeout.
    """

    def __init__(self) -> None:
        self._is_over = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._jobs: set[asyncio.Task[None]] = set()
        self._has_warned = False

    def start(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        """Run `step` after every pause of this many seconds."""
        self._loops.append(asyncio.create_task(self._repeat(step, pause)))

    def soon(self, job: Awaitable[Any]) -> None:
        """Run a task once; an error ends it."""
        task = asyncio.create_task(self._tried(job))
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def close(self) -> None:
        """Stop periodic tasks; steps and tasks under way may take another `MAX_END` seconds."""
        self._is_over.set()
        if tasks := {*self._loops, *self._jobs}:
            await asyncio.wait(tasks, timeout=MAX_END)

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        while not self._is_over.is_set():
            try:
                await asyncio.wait_for(self._is_over.wait(), pause)
            except TimeoutError:
                await self._tried(step())

    async def _tried(self, work: Awaitable[Any]) -> None:
        try:
            await work
        except StoreError:
            pass  # the server is away or refuses; calls for pages report it
        except Exception as error:  # noqa: BLE001  (such as a damaged record among those to sweep)
            level = logging.DEBUG if self._has_warned else logging.WARNING
            self._has_warned = True
            _log.log(level, "The near-duplicate store can't be tidied up: %r", error)


class RedisStore(namespace.Namespace):
    """Fingerprints in Redis; see `scrapy_neardup.stores.base.Store`, and `uri.py` for the URI.

    `layout` is the table design for a new namespace; with None it depends on `options`. `_held`
    has by page id the home and the record of the entries that this crawler must confirm or forget.
    `_unsure` has entries that may exist, because the call that was to add them has failed.
    """

    calls_class: type[Calls] = Calls
    parts = 1
    """Number of parts of a namespace that have their own tables."""

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        design = layout or Layout.choose(
            options.max_distance, options.expected_pages // self.parts
        )
        super().__init__(self.calls_class(connect(uri), uri), options, design)
        self._held: dict[int, tuple[str, bytes]] = {}
        self._unsure: BoundedDict[int, tuple[str, bytes]] = BoundedDict(_REMEMBERED)
        self._withdrawn: BoundedDict[bytes, None] = BoundedDict(_REMEMBERED)
        self._sweeping = 0
        self._background = Background()

    async def open(self) -> None:
        """Connect, and agree on the parameters with the crawlers that use the namespace."""
        self._background = Background()
        try:
            await self._calls.open()
            await self.agree()
        except StoreError:
            await self._calls.close()
            raise
        self._background.start(self._renew, namespace.LEASE / 3)
        self._background.start(self._sweep, SWEEP_PAUSE)

    async def close(self) -> None:
        """Withdraw pending entries and disconnect."""
        await self._background.close()
        await asyncio.gather(*map(self.forget, list(self._held)), return_exceptions=True)
        await self._calls.close()

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for an entry that `page` repeats, or add the page; see `Store.check_and_add`.

        Costs one round trip if the page has no candidates, or repeats the only one; one more if it
        repeats none, or one of several, and one if its content has changed.
        """
        decide = decide or deciding(page, self.layout.matching)
        home, arriving = self._home(page), Arriving(page, decide, self.layout, self.key)
        mine, refused, in_vain = (home, arriving.record.stored), b"", b""
        while True:
            words = arriving.words(in_vain + refused)
            try:
                reply = await self.call("check_and_add", *mine, words)
            except BaseException:  # it may have been executed
                self._unsure[page.id] = mine
                raise
            if reply[:1] == b"o":
                return Verdict.on(page, Reason.OVERFLOW)
            if reply[:1] == b"n":
                self._held[page.id] = mine
                if old := reply[1:]:
                    await self._clear(*mine, arriving.page_id, old)
                return Verdict.on(page, Reason.CHANGED if arriving.own else Reason.UNMATCHED)
            count, found = int.from_bytes(reply[1:5]), entries(reply[5:])
            repeats = arriving.first_repeated(
                each for each in found if not self._was_withdrawn(home, *each)
            )
            if repeats:
                verdict = await self._repeats(page, home, repeats, arriving.own, count)
                if verdict is not None:
                    return verdict
                in_vain = _NOTHING  # that count was taken back
                continue  # it is gone, or has changed: look for others
            names = b"".join(page_id + stored[:STAMP] for page_id, stored in found)
            refused += names
            in_vain = names if count and names[:8] != arriving.page_id else _NOTHING

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        for mine in (self._held, self._unsure):
            if entry := mine.get(page_id):
                words = entry[0], page_id.to_bytes(8), entry[1][:STAMP], "confirm"
                await self.call("lease", *words)
                if mine.get(page_id) == entry:
                    del mine[page_id]

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry, as the content that this crawler holds; see `Store.forget`."""
        found = [mine.get(page_id) for mine in (self._held, self._unsure)]
        return sum([await self._withdraw(*each, page_id, "p") for each in found if each])

    def _home(self, page: Page) -> str:  # noqa: ARG002
        """Return the home of a page's entry."""
        return self.prefix

    async def _repeats(
        self, page: Page, home: str, repeats: Repeats, own: bytes, count: int = 0
    ) -> Verdict | None:
        """Return the verdict on a page that repeats a candidate, None if the candidate is gone.

        `own` is the record of its old entry; `count` is 0 if the page isn't counted for the
        candidate yet.
        """
        (name, candidate, url), decided = repeats
        is_own = candidate.page_id == page.id
        if not count:
            reply = await self.call("see", home, name[:8], name[8:], 0 if is_own else 1)
            if reply[:1] != ADDED:
                return None
            count = int.from_bytes(reply[1:])
        if is_own:
            return Verdict.on(page, Reason.SAME_PAGE, matched(candidate, decided, url=page.url))
        if own:
            await self._withdraw(self._home(page), own, page.id, "a")
        match = matched(candidate, decided, count, url)
        return Verdict.on(page, near_reason(page), match)

    # ---- entries that end ------------------------------------------------------------------

    async def _withdraw(self, home: str, stored: bytes, page_id: int, why: str) -> int:
        """Remove an entry from all lists; return the number of pages dropped for it.

        The crawler remembers which of its entries it withdrew, because a server may bring them
        back from an older snapshot. One that can't be withdrawn may be forgotten later.
        """
        entry, name = (home, stored), page_id.to_bytes(8) + stored[:STAMP]
        mine = [each for each in (self._held, self._unsure) if each.get(page_id) == entry]
        for each in mine:
            del each[page_id]
            self._withdrawn[name] = None
        try:
            reply = await self._remove(home, page_id.to_bytes(8), stored, why)
        except BaseException:
            if mine:
                self._unsure[page_id] = entry
            raise
        if not reply:  # it is final, and stays
            self._withdrawn.pop(name, None)
        return int.from_bytes(reply)

    async def _clear(self, home: str, stored: bytes, page_id: bytes, old: bytes) -> None:
        """Remove an entry from the lists of the content that it has replaced."""
        while stored:  # by then others may have replaced it once more
            places = replaced(old, stored, self.layout)
            words = page_id, stored[:STAMP], "r", places
            stored = await self.call("withdraw", home, *words)

    def _was_withdrawn(self, home: str, page_id: bytes, stored: bytes) -> bool:
        """Whether this crawler has withdrawn an entry, which an older snapshot brought back.

        It is withdrawn once more.
        """
        if page_id + stored[:STAMP] not in self._withdrawn:
            return False
        self._background.soon(self._remove(home, page_id, stored, "p"))
        return True

    async def _remove(self, home: str, page_id: bytes, stored: bytes, why: str) -> bytes:
        """Remove an entry, if `why` holds; return the reply of ``withdraw.lua``."""
        lists = PageRecord.read(stored, self.layout).listed(self.layout)
        return await self.call("withdraw", home, page_id, stored[:STAMP], why, lists)

    async def _sweep(self) -> None:
        """Withdraw some entries that are over: lapsed, or not met for the retention."""
        home = self.homes[self._sweeping % len(self.homes)]
        self._sweeping += 1  # also if that one can't be swept
        found = entries(await self.call("over", home, _SWEPT))
        await asyncio.gather(*(self._remove(home, *each, "o") for each in found))
        if len(found) >= _SWEPT:
            self._sweeping -= 1

    async def _renew(self) -> None:
        """Renew the leases of held entries; if a master is away, those on other masters."""
        calls = (
            self.call("lease", home, page_id.to_bytes(8), stored[:STAMP], "renew")
            for page_id, (home, stored) in self._held.items()
        )
        await asyncio.gather(*calls, return_exceptions=True)
