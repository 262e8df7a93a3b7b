"""One crawler at a time has a file open, and whoever fails to open it leaves no lock."""

import asyncio
import os
import signal
import threading

import pytest
from sqlite_files import add, kept, make, other_process
from store_registry import healed, keep, page

from scrapy_neardup.errors import StoreLockedError, StoreMismatchError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.verdict import Decision


async def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path):
    uri = f"sqlite:{tmp_path}/pages.db"
    with other_process(uri) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreLockedError, match="redis://"):
            await make(uri)
        other.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        other.wait()
    await make(uri)


async def test_a_second_crawler_is_refused_and_takes_no_lock_away(tmp_path):
    path, link, hard = (tmp_path / f"{name}.db" for name in ("pages", "symbolic", "hard"))
    uri = f"sqlite:{path}"
    async with open_store(uri) as store:
        link.symlink_to(path)
        hard.hardlink_to(path)
        for same in (uri, uri, f"sqlite:{link}", f"sqlite:{hard}"):
            with pytest.raises(StoreLockedError, match="redis://"):
                await open_store(same, namespace="another").open()
        # POSIX locks go when a process closes any handle of the file.
        with other_process(uri) as other:
            _, message = other.communicate("\n")
        assert other.returncode == 1
        assert "StoreLockedError" in message
        await keep(store, page(1, 5))
    hard.unlink()
    async with open_store(f"sqlite:{link}", namespace="another") as store:
        assert await add(store, page(1, 5)) == [Decision.NEW]
    assert len(kept(path)) == 1


async def test_what_fails_to_open_isn_t_locked(tmp_path, monkeypatch):
    uri = f"sqlite:{tmp_path}/pages.db"
    await make(uri)
    started, cancelled = threading.Event(), threading.Event()
    load = EmbeddedIndex.load

    def slow_load(index: EmbeddedIndex, chunks: object) -> None:
        started.set()
        cancelled.wait(30)
        load(index, chunks)

    with pytest.raises(StoreMismatchError):
        await open_store(uri, max_distance=7).open()
    monkeypatch.setattr(EmbeddedIndex, "load", slow_load)
    opening = asyncio.create_task(open_store(uri).open())
    await asyncio.to_thread(started.wait, 30)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    with pytest.raises(StoreLockedError):
        await open_store(uri).open()
    cancelled.set()

    async def pages() -> int:
        async with open_store(uri) as store:
            return (await store.stats()).pages

    # The thread lets go of the file as soon as it is open.
    assert await healed(pages, StoreLockedError) == 1
