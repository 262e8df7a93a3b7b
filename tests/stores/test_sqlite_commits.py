"""When changes are written to a file, and what pages see meanwhile."""

import os
import textwrap

import pytest
from forked import python
from sqlite_files import add, kept
from store_registry import EVERYTHING, keep, page, spread, until

from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.sqlite import sqlitestore


async def test_a_change_is_written_within_an_interval_without_further_calls(path):
    async with open_store(f"sqlite:{path}") as store:
        await add(store, page(1, 0, url="x"), page(2, EVERYTHING))
        await store.confirm(1)
        assert kept(path) == {}
        await until(lambda: kept(path) == {1: (0, 0, "x")})
        await add(store, page(3, 0))
        await until(lambda: kept(path) == {1: (0, 1, "x")})


async def test_many_changes_are_written_without_waiting_for_the_clock(path, monkeypatch):
    monkeypatch.setattr(sqlitestore, "COMMIT_SECONDS", 3600.0)
    rows = sqlitestore.COMMIT_ROWS
    async with open_store(f"sqlite:{path}") as store:
        await keep(store, *(page(number, spread(number)) for number in range(rows + rows // 2)))
        # Sequential calls never yield to the event loop for nothing.
        assert len(kept(path)) == rows


FULL_DISK = """
    import asyncio, resource, sys
    from scrapy_neardup.errors import StoreUnavailableError
    from scrapy_neardup.stores import open_store
    from scrapy_neardup.verdict import Decision, Page

    def page(number):
        fingerprint = number * 0x9E3779B97F4A7C15 % 2**64
        return Page(id=number, fingerprint=fingerprint, url="x" * 200)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    async def main():
        store = open_store(sys.argv[1])
        await store.open()
        limit(400_000)
        kept = failures = 0
        while failures < 50:
            try:
                verdict = await store.check_and_add(page(kept))
            except StoreUnavailableError as error:
                assert "NEARDUP_STORE" in str(error)
                failures += 1
                continue
            assert verdict.decision is Decision.NEW
            kept += 1
            try:
                await store.confirm(verdict.page_id)
            except StoreUnavailableError:
                failures += 1
        stats = await store.stats()
        assert (stats.pages, stats.pending) == (kept, 0), stats
        if sys.argv[2] == "recovers in time":
            limit(resource.RLIM_INFINITY)
            while (await tried(store, page(kept))) is None:
                await asyncio.sleep(0.05)
            await store.forget(kept)
        if sys.argv[2] == "recovers at last":
            limit(resource.RLIM_INFINITY)
        try:
            await store.close()
        except StoreUnavailableError:
            print("lost")
        else:
            print(kept)

    async def tried(store, page):
        try:
            return await store.check_and_add(page)
        except StoreUnavailableError:
            return None

    asyncio.run(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="a limit on file sizes stands for a full disk")
@pytest.mark.parametrize("then", ["recovers in time", "recovers at last", "stays full"])
async def test_a_full_disk(then, path):
    result = python("-c", textwrap.dedent(FULL_DISK), f"sqlite:{path}", then)
    assert result.stderr == ""
    if then == "stays full":
        assert result.stdout == "lost\n"
    else:
        assert len(kept(path)) == int(result.stdout) >= sqlitestore.COMMIT_ROWS

    async with open_store(f"sqlite:{path}") as store:
        assert (await store.stats()).pages == len(kept(path))
