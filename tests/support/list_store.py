"""A toy store, made from `scrapy_neardup/stores/base.py` alone: a list, and a loop over it.

``list:NAME`` outlives its closing, in this process; one crawl at a time has it open. One that
isn't opened is its own: the model that tests hold other stores against.
"""

import time
from collections import defaultdict
from types import SimpleNamespace

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores import SCHEMES, StoreStats, base
from scrapy_neardup.stores.entryformat import KeyRecord
from scrapy_neardup.verdict import Candidate, Reason, Verdict

HELD = {}
"""(URI, namespace) -> what such a store holds."""


def distance(entry, page):
    return (entry.page.fingerprint ^ page.fingerprint).bit_count()


class ListStore(base.Store):
    is_private = True

    def __init__(self, uri, options):
        self.place, self.options = (uri, options.namespace), options
        self.held = SimpleNamespace(
            made_with=(options.max_distance, dict(options.schema)),
            key=KeyRecord.new(options.hash_key), entries={}, notices=defaultdict(dict),
        )  # fmt: skip

    async def open(self):
        made_with = self.held.made_with
        self.held = HELD.setdefault(self.place, self.held)
        if self.held.made_with != made_with:
            raise StoreMismatchError(f"made with {self.held.made_with}, not with {made_with}")
        self.key = self.held.key.key(self.options.hash_key, self.place[0])

    async def close(self):
        kept = [each.replaces if each.is_pending else each for each in self.held.entries.values()]
        self.held.entries = {each.page.id: each for each in kept if each}

    async def check_and_add(self, page, decide=None):
        entries, now = self.held.entries, time.time()
        for entry in list(entries.values()):
            if self.options.retention and now - entry.met >= self.options.retention:
                del entries[entry.page.id]
        own = entries.get(page.id)
        found = [each for each in entries.values() if self._is_candidate(each, page)]
        found.sort(key=lambda each: (each is not own, distance(each, page), each.page.id))
        most = base.MAX_COMPARED + (own in found)
        decide = decide or deciding(page, self.options.matching)
        for entry in found[:most]:
            candidate = Candidate(entry.page.id, distance(entry, page), entry.page.evidence)
            if (decided := decide(candidate)).is_same:
                return self._repeated(page, own, entry, candidate, decided)
        under = [feature for each in entries.values() for feature in each.features]
        entries[page.id] = SimpleNamespace(
            page=page, met=now, dropped=0, is_pending=True,
            replaces=own.replaces if own and own.is_pending else own,
            is_listed=not any(self._is_near(each, page) for each in found[most:]),
            features=[f for f in self._features(page) if under.count(f) < base.MAX_UNDER_FEATURE],
        )  # fmt: skip
        return Verdict.on(page, Reason.CHANGED if own else Reason.UNMATCHED)

    def _repeated(self, page, own, entry, candidate, decided):
        entry.met = time.time()
        if entry is own:
            match = base.matched(candidate, decided, url=page.url)
            return Verdict.on(page, Reason.SAME_PAGE, match)
        entry.dropped += 1
        self.held.entries.pop(page.id, None)
        match = base.matched(candidate, decided, entry.dropped, entry.page.url)
        return Verdict.on(page, base.near_reason(page), match)

    def _is_candidate(self, entry, page):
        if (entry.page.scope, entry.page.exact) != (page.scope, page.exact):
            return False
        if (entry.is_listed or entry.page.id == page.id) and self._is_near(entry, page):
            return True
        shared = len(set(entry.features) & set(self._features(page)))
        return shared >= self.options.matching.shared_features

    def _is_near(self, entry, page):
        most = 0 if page.exact else self.options.max_distance
        return (page.exact or self.options.matching.by_distance) and distance(entry, page) <= most

    def _features(self, page):
        found = () if page.exact else page.features[: self.options.matching.features]
        return [(page.scope, place, feature) for place, feature in enumerate(found)]

    async def confirm(self, page_id):
        if entry := self.held.entries.get(page_id):
            entry.is_pending, entry.replaces = False, None

    async def forget(self, page_id):
        entry = self.held.entries.get(page_id)
        is_pending = entry is not None and entry.is_pending
        return self.held.entries.pop(page_id).dropped if is_pending else 0

    async def stats(self):
        held = self.held.entries.values()
        pending, dropped = sum(e.is_pending for e in held), sum(e.dropped for e in held)
        return StoreStats(pages=len(held), pending=pending, dropped=dropped, overflowed=0)

    async def exchange(self, topic, member, value):
        notices = self.held.notices[topic]
        if value is not None and notices.get(member) != value:
            notices.pop(member, None)
            notices[member] = value
            for oldest in list(notices)[: -base.MAX_MEMBERS]:
                del notices[oldest]
        return list(notices.values())


SCHEMES["list"] = ListStore
