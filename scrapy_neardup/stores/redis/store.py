"""A memory that many crawlers share: a string a page in one Redis (6.2 or newer) or Valkey.

Every verb is one Lua script, atomic for all crawlers of the namespace. ``check_and_add`` finds
what a page may repeat, or adds the page; the crawler decides, and asks again until the page is
added or repeats something. The scripts are in ``lua/``, the layout of the keys in
``docs/redis.md``.
"""

from __future__ import annotations

from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.redis.calls import Calls, Scripts
from scrapy_neardup.stores.redis.codec import STAMP, Asked, entries, listed, read_count
from scrapy_neardup.stores.redis.connection import RecordLostError
from scrapy_neardup.stores.redis.metentries import MetEntries
from scrapy_neardup.stores.redis.shared import SharedStore
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

_NOTHING = bytes(12)


class RedisStore(SharedStore):
    """Fingerprints in Redis; see `scrapy_neardup.stores.base.Store`, and `connect` for the URI."""

    calls_class: type[Calls] = Scripts

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for what `page` repeats, or remember it; see `Store.check_and_add`.

        Costs one round trip where the page has no candidates, or repeats the only one; one more
        where it repeats none, or one of several, and one where its content has changed.
        """
        decide = decide or deciding(page, self._options.matching)
        try:
            return await self._judge(page, decide)
        except RecordLostError:  # there are other tables by now
            return await self._judge(page, decide)

    async def _judge(self, page: Page, decide: Decide) -> Verdict:
        home, asked = self._home(page), Asked.of(page, self._layout, self.key)
        candidates, refused, in_vain = MetEntries(asked, decide, self._layout), b"", b""
        while True:
            words = asked.words(in_vain + refused, is_crowded=candidates.is_crowded)
            try:
                reply = await self._call("check_and_add", home, asked.record.stored, words)
            except BaseException:  # it may have been executed
                self._unsure[page.id] = home, asked.record.stored
                raise
            if reply[:1] == b"o":
                return Verdict.on(page, Reason.OVERFLOW)
            if reply[:1] == b"n":
                self._held[page.id] = home, asked.record.stored
                if old := reply[1:]:
                    await self._clean(home, asked, old)
                return Verdict.on(page, Reason.CHANGED if candidates.own else Reason.UNMATCHED)
            count, found = read_count(reply), entries(reply, 5)
            there = [each for each in found if not self._was_withdrawn(home, *each)]
            repeats = candidates.first_repeated(there)
            if repeats:
                verdict = await self._repeats(page, home, repeats, count, candidates.own)
                if verdict is not None:
                    return verdict
                continue  # it is gone, or has changed: what else is there?
            names = b"".join(page_id + stored[:STAMP] for page_id, stored in found)
            refused += names
            in_vain = names if count and names[:8] != asked.page_id else _NOTHING

    async def _remove(self, home: str, page_id: bytes, stored: bytes, why: str) -> int:
        lists = map(b"".join, listed(stored, self._layout))
        reply = await self._call("withdraw", home, page_id, stored[:STAMP], why, *lists)
        return int.from_bytes(reply, "big")

    async def _clean(self, home: str, asked: Asked, old: bytes) -> None:
        """Take a page that was added out of the lists that lead to what it has replaced."""
        record, layout = asked.record, self._layout
        now = {each for some in listed(record.stored, layout) for each in some}
        gone = (b"".join(each for each in some if each not in now) for some in listed(old, layout))
        await self._call("withdraw", home, asked.page_id, record.stored[:STAMP], "r", *gone)
