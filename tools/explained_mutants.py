"""Changes by ``mutants.py`` that no test can notice, because no user can see them."""

# ruff: noqa: INP001  (beside a script)
from __future__ import annotations

EXPLAINED: dict[str, dict[tuple[str, str], str]] = {
    "claims/host.py": {
        ("self._asked += 1", "self._asked += 2"): "memory is measured twice as often",
        (
            "return self._known.nbytes + _CLAIM_BYTES * len(self.claims) + _VALUE_BYTES * values",
            "return self._known.nbytes + _CLAIM_BYTES * len(self.claims) - _VALUE_BYTES * values",
        ): "memory is estimated",
    },
    "crawl/middlewares.py": {
        ("if passes(entry):", "if not (passes(entry)):"): "one of two: Scrapy before 2.16 calls it"
    },
    "judge/boilerplate.py": {
        ("if len(total) > most:", "if len(total) >= most:"): "of exactly `most` all are kept",
        (
            "and bool(np.all((of_each >= 0) & (of_each <= _MAX_PAGES)))",
            "and bool(np.all((of_each > 0) & (of_each <= _MAX_PAGES)))",
        ): "no shingle that is counted is on no page",
    },
    "crawl/experiments/ownrequests.py": {
        ("self._tasks.add(task)", "pass"): "asyncio itself seldom loses a task that is under way"
    },
    "crawl/experiments/novelties.py": {
        (
            "if filled > _MAX_FILLED:",
            "if filled >= _MAX_FILLED:",
        ): "of exactly so many bits one page more or less is remembered"
    },
    "judge/shingling.py": {
        (
            "return of_text[:0], bits[:0]",
            "return of_text[:0], bits[:1]",
        ): "where no row has a shingle, all shingles count"
    },
    "judge/sites.py": {("self.nbytes = 0", "pass"): "it is set before it is read"},
    "judge/sketch.py": {
        (
            "return 2 * self.shingles.nbytes + sum(size for size, _ in self._sketches)",
            "return 3 * self.shingles.nbytes + sum(size for size, _ in self._sketches)",
        ): "memory is estimated"
    },
    "judge/knowledge.py": {("if left < 0:", "if left < 1:"): "one byte less than may be written"},
    "stores/redis/lua/check_and_add.lua": {
        (
            "local lease = oldest and tonumber(oldest) < now and call('ZSCORE', PENDING, id)",
            "local lease = oldest and tonumber(oldest) <= now and call('ZSCORE', PENDING, id)",
        ): "a lease that ends in this millisecond is compared once more",
        (
            "local time, oldest = call('TIME'), call('ZRANGE', PENDING, 0, 0, 'WITHSCORES')[2]",
            "local time, oldest = call('TIME'), call('ZRANGE', PENDING, 0, 1, 'WITHSCORES')[2]",
        ): "the second is the score of the first all the same",
        (
            "if C.retention > 0 then call('ZADD', SEEN, now, id) end",
            "if C.retention > 1 then call('ZADD', SEEN, now, id) end",
        ): "a retention is at least a second",
    },
    "crawl/reading.py": {
        (
            """if body[:2] not in {b"<!", b"<h"}: # how almost all pages begin""",
            """if body[:3] not in {b"<!", b"<h"}: # how almost all pages begin""",
        ): "this only saves time"
    },
    "stores/redis/redis_admin.py": {("seen = 0", "seen = 1"): "memory is estimated"},
    "stores/redis/calls.py": {
        ("self._send_waiting(server)", "pass"): "a timer sends them a moment later"
    },
    "stores/redis/cluster/clusterstore.py": {
        (
            "return self.homes[partition(page.scope, exact=False, key=self.key).tag >> 56]",
            "return self.homes[partition(page.scope, exact=True, key=self.key).tag >> 56]",
        ): "all pages of a scope have one home either way"
    },
    "stores/sqlite/sqlitestore.py": {
        ("self._urls.pop(row, None)", "pass"): "the next entry of the row replaces it"
    },
    "stores/packed.py": {("elif limit > 0:", "elif limit >= 0:"): "0 has a branch of its own"},
    "stores/embedded/memorystore.py": {
        (
            "self._packed += [None] * (row + 1 - len(self._packed))",
            "self._packed += [None] * (row + 2 - len(self._packed))",
        ): "one row more than needed"
    },
    "stores/sqlite/schema.py": {
        (
            "return first, first + (1 << ROW_BITS) - 1",
            "return first, first + (1 << ROW_BITS) - 2",
        ): "no store has so many rows",
        (
            "return len(entry) >= SUM_BYTES and crc32(entry, _start(place)) == _RESIDUE",
            "return len(entry) > SUM_BYTES and crc32(entry, _start(place)) == _RESIDUE",
        ): "no entry is empty",
    },
}
"""By module, a line and what became of it: why no test can notice."""
