"""When changes are written to a file, and what pages see meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import pytest
from sqlite_files import add, kept
from store_registry import EVERYTHING, healed, keep, page, spread, until

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.sqlite import sqlitestore
from scrapy_neardup.verdict import Decision, Page


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


@contextmanager
def disk_of(size: int) -> Iterator[Callable[[], None]]:
    """Let no file grow beyond this size; yield what lifts the limit."""
    resource = pytest.importorskip("resource", reason="it stands for a full disk")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    lift = partial(resource.setrlimit, resource.RLIMIT_FSIZE, before)
    try:
        yield lift
    finally:
        lift()


@pytest.mark.parametrize("then", ["recovers in time", "recovers at last", "stays full"])
async def test_a_full_disk(then, path):
    def numbered(number: int) -> Page:
        return page(number, spread(number), url="x" * 200)

    store, added, said = open_store(f"sqlite:{path}"), 0, []
    await store.open()
    with disk_of(400_000) as lift:
        while len(said) < 50:
            try:
                assert await add(store, numbered(added)) == [Decision.NEW]
                added += 1
                await store.confirm(added - 1)
            except StoreUnavailableError as error:
                said.append(str(error))
        assert all("NEARDUP_STORE" in each for each in said)
        stats = await store.stats()
        assert (stats.pages, stats.pending) == (added, 0)
        if then != "stays full":
            lift()
        if then == "recovers in time":
            await healed(lambda: store.check_and_add(numbered(added)))
            await store.forget(added)
        with pytest.raises(StoreUnavailableError) if then == "stays full" else nullcontext():
            await store.close()
    if then != "stays full":
        assert len(kept(path)) == added >= sqlitestore.COMMIT_ROWS
    async with open_store(f"sqlite:{path}") as store:
        assert (await store.stats()).pages == len(kept(path))
