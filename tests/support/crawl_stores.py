"""A store of one's own: remembers by brute force, and misbehaves when its URI says so.

``toy:`` works. Other words after the colon, in any number and separated by commas:

``refuse``          can't be opened
``late``            takes half a second to open
``hang=VERB``       that verb never ends; ``*`` is all of them but open and close
``fail=VERB``       that verb raises StoreUnavailableError
``break=VERB``      that verb raises something that no store should
``lie=check``       a verdict that is none; ``lie=match``: one whose match has no URL but a number
``lie=exchange``    its notice board holds what no crawler posts
``slow``            every verb gives way to the event loop first
``recover=N``       the N-th misbehaviour was the last one
"""

import asyncio

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.errors import StoreLockedError, StoreUnavailableError
from scrapy_neardup.stores import SCHEMES, Store, StoreStats
from scrapy_neardup.verdict import Candidate, Match, Reason, Verdict

JOURNAL = []
"""What was asked of all toy stores, in order: ``"VERB URL"``."""


class ToyStore(Store):
    def __init__(self, uri, options):
        self.uri, self.options = uri, options
        words = uri.partition(":")[2].rpartition("@")[2].split(",")
        self.ways = dict(word.partition("=")[::2] for word in words)
        self.left = int(self.ways.get("recover", 10**9))
        self.pages, self.pending, self.matched = {}, set(), {}

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
        candidates = []
        for old in self.pages.values():
            distance = (old.fingerprint ^ page.fingerprint).bit_count()
            limit = 0 if page.exact else self.options.max_distance
            same_kind = (old.exact, old.scope) == (page.exact, page.scope)
            if same_kind and distance <= limit:
                candidates.append((old.id != page.id, distance, old.id))
        decide = decide or deciding(page, self.options.matching)
        if self.ways.get("lie") == "check":
            return "new"
        for is_another, distance, identity in sorted(candidates):
            old = self.pages[identity]
            decided = decide(Candidate(identity, distance, old.evidence))
            if not decided.is_same:
                continue
            url = 7 if self.ways.get("lie") == "match" else old.url
            match = Match(page_id=identity, distance=distance, url=url, decided=decided)
            if not is_another:
                return Verdict.on(page, Reason.SAME_PAGE, match)
            self.matched[identity] += 1
            return Verdict.on(page, Reason.EQUAL if page.exact else Reason.NEAR, match)
        reason = Reason.CHANGED if page.id in self.pages else Reason.UNMATCHED
        self.pages[page.id], self.matched[page.id] = page, 0
        self.pending.add(page.id)
        return Verdict.on(page, reason)

    def _url(self, page_id):
        return self.pages[page_id].url if page_id in self.pages else "?"

    async def confirm(self, page_id):
        await self._ask("confirm", self._url(page_id))
        self.pending.discard(page_id)

    async def forget(self, page_id):
        await self._ask("forget", self._url(page_id))
        if page_id not in self.pending:
            return 0
        self.pending.discard(page_id)
        del self.pages[page_id]
        return self.matched.pop(page_id)

    async def exchange(self, topic, member, value):
        if self.ways.get("lie") == "exchange":
            return [None, "text", b"[" * 100_000]
        return await super().exchange(topic, member, value)

    async def stats(self):
        matched = sum(self.matched.values())
        return StoreStats(
            pages=len(self.pages), pending=len(self.pending), dropped=matched, overflowed=0
        )

    async def __aenter__(self):
        await self.open()
        return self

    async def __aexit__(self, *_):
        await self.close()


SCHEMES["toy"] = ToyStore
