"""What is particular to ``sqlite:PATH``: where the file is, what it holds and when, who has it."""

import asyncio
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial

import pytest
from sqlite_files import add, kept, make, other_process
from store_registry import EVERYTHING, healed, keep, page, spread, until

from scrapy_neardup.errors import (
    ConfigurationError,
    StoreLockedError,
    StoreMismatchError,
    StoreUnavailableError,
)
from scrapy_neardup.stores import StoreOptions, open_store
from scrapy_neardup.stores.embedded.memorystore import EmbeddedIndex
from scrapy_neardup.stores.sqlite import sqlitestore
from scrapy_neardup.stores.sqlite.file import SQLiteFile
from scrapy_neardup.verdict import Decision, Page

# Where


@pytest.mark.parametrize("before", ["", "{}/", "~/"], ids=["relative", "absolute", "home"])
@pytest.mark.parametrize("path", ["pages.db", "./pages.db", "a b/ü?#%20.db", "file:x"])
async def test_where_a_path_starts(before, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "a b").mkdir()
    await make(f"sqlite:{before.format(tmp_path)}{path}")
    assert (tmp_path / path).is_file()
    # Nothing else is left beside it.
    assert sum(each.is_file() for each in tmp_path.rglob("*")) == 1


@pytest.mark.parametrize(("uri", "advice"), [
    ("sqlite:", "sqlite:PATH"),
    ("sqlite:somewhere/", "sqlite:PATH"),
    ("sqlite://pages.db", "sqlite:/absolute/path"),
    ("sqlite:///pages.db", "sqlite:/absolute/path"),
    ("sqlite:////pages.db", "sqlite:/absolute/path"),
    ("sqlite::memory:", "memory:"),
    ("sqlite:~nobody-of-this-name/pages.db", "name the directory"),
])  # fmt: skip
def test_what_is_no_path(uri, advice):
    with pytest.raises(ConfigurationError, match=f"NEARDUP_STORE.*{advice}"):
        open_store(uri)


async def test_the_file_says_whose_it_is(path):
    await make(f"sqlite:{path}")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0x4E647570,)
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_rows_are_used_again(path):
    for edition in range(12):
        async with open_store(f"sqlite:{path}") as store:
            for number in range(50):
                fingerprint = (number << 32) * 0x9E3779B1 + edition * 0x01010101
                await keep(store, page(number, fingerprint % 2**64, url=str(edition)))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM page").fetchone() == (50,)
        assert connection.execute("SELECT max(place) & 0xffffffff FROM page").fetchone() < (120,)
    assert {url for _, _, url in kept(path).values()} == {"11"}


async def test_the_url_of_another_page_that_took_the_row_is_not_given(path):
    async with open_store(f"sqlite:{path}") as store:
        await keep(store, page(1, 5, url="https://a.example/"))
    file = SQLiteFile(path, StoreOptions())
    assert file.url(0, page_id=1) == "https://a.example/"
    assert file.url(0, page_id=2) is None
    assert file.url(1, page_id=1) is None
    file.close()


async def test_another_format_is_refused(path):
    await make(f"sqlite:{path}")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    before = path.read_bytes()
    with pytest.raises(StoreMismatchError, match=r"format 1, .* reads 7: name another file"):
        await make(f"sqlite:{path}")
    assert path.read_bytes() == before


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
