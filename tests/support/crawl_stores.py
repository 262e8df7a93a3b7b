"""A store of one's own: the toy store, which misbehaves when its URI says so.

``toy:`` works. Other words after the colon, in any number and separated by commas:

``refuse``          can't be opened
``late``            takes half a second to open
``hang=VERB``       that verb never ends; ``*`` is all of them but open and close
``fail=VERB``       that verb raises StoreUnavailableError
``break=VERB``      that verb raises something that no store should
``lie=check``       a verdict that is none; ``lie=match``: one whose match has no URL but a number
``lie=exchange``    its notice board holds what no crawler posts
``slow``            every verb gives way to the event loop first
``lose=check``      the answer to a check is lost
``recover=N``       the N-th misbehaviour was the last one
"""

import asyncio
from dataclasses import replace

from list_store import ListStore

from scrapy_neardup.errors import StoreLockedError, StoreUnavailableError
from scrapy_neardup.stores import SCHEMES

JOURNAL = []
"""What was asked of all toy stores, in order: ``"VERB URL"``."""


class ToyStore(ListStore):
    is_private = False

    def __init__(self, uri, options):
        super().__init__(uri, options)
        self.uri = uri
        words = uri.partition(":")[2].rpartition("@")[2].split(",")
        self.ways = dict(word.partition("=")[::2] for word in words)
        if self.ways.get("break") == "make":
            raise KeyError(uri)
        self.left = int(self.ways.get("recover", 10**9))

    async def _ask(self, verb, url):
        JOURNAL.append(f"{verb} {url}".rstrip())
        if "slow" in self.ways:
            await asyncio.sleep(0.01)
        verbs = {verb} if verb == "close" else {verb, "*"}
        misbehaves = [way for way in ("hang", "fail", "break") if self.ways.get(way) in verbs]
        if misbehaves and self.left > 0:
            self.left -= 1
            match misbehaves[0]:
                case "hang":
                    await asyncio.sleep(3600)
                case "fail":
                    raise StoreUnavailableError(f"{self.uri} is away")
                case "break":
                    raise KeyError(self.uri)

    async def open(self):
        JOURNAL.append(f"open {self.options.namespace}")
        if "late" in self.ways:
            await asyncio.sleep(0.5)
        if "refuse" in self.ways:
            raise StoreLockedError(f"NEARDUP_STORE: {self.uri.rpartition('@')[2]} is locked")

    async def close(self):
        await self._ask("close", "")

    async def check_and_add(self, page, decide=None):
        await self._ask("check", page.url)
        if self.ways.get("lie") == "check":
            return "new"
        verdict = await super().check_and_add(page, decide)
        if self.ways.get("lose") == "check" and self.left > 0:
            self.left -= 1
            raise StoreUnavailableError(f"{self.uri} is away")
        if self.ways.get("lie") == "match" and verdict.match:
            return replace(verdict, match=replace(verdict.match, url=7))
        return verdict

    def _url(self, page_id):
        return self.held.entries[page_id].page.url if page_id in self.held.entries else "?"

    async def confirm(self, page_id):
        await self._ask("confirm", self._url(page_id))
        await super().confirm(page_id)

    async def forget(self, page_id):
        await self._ask("forget", self._url(page_id))
        return await super().forget(page_id)

    async def exchange(self, topic, member, value):
        if self.ways.get("lie") == "exchange":
            return [None, "text", b"[" * 100_000]
        if "slow" in self.ways:
            await asyncio.sleep(0.01)
        return await super().exchange(topic, member, value)


SCHEMES["toy"] = ToyStore
