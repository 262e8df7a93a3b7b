"""What is particular to ``sqlite:PATH``: what is written, when, and who may open it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule, run_state_machine_as_test
from store_machine import StoreMachine
from store_registry import page

from scrapy_neardup.errors import (
    ConfigurationError,
    StoreLockedError,
    StoreMismatchError,
)
from scrapy_neardup.stores import Store, open_store, write_behind
from scrapy_neardup.stores.embedded import EmbeddedIndex
from scrapy_neardup.stores.records import ENTRY
from scrapy_neardup.stores.sqlite_file import SQLiteFile
from scrapy_neardup.verdict import Decision, Page

EVERYTHING = (1 << 64) - 1


def kept(path: Path) -> dict[int, tuple[int, int, str | None]]:
    """Return what a file holds: page id -> key, duplicates, URL.

    It is copied first, as a ``kill -9`` at this moment would leave it.
    """
    copies = path.with_name("copies")
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir()
    for suffix in ("", "-wal", "-journal"):
        if path.with_name(path.name + suffix).exists():
            shutil.copy(path.with_name(path.name + suffix), copies)
    with closing(sqlite3.connect(copies / path.name)) as connection:
        rows = connection.execute("SELECT entry, url FROM page").fetchall()
    entries = [(ENTRY.unpack(entry), url) for entry, url in rows]
    assert len({entry[1] for entry, _ in entries}) == len(entries)
    return {page_id: (key, count, url) for (key, page_id, *_, count), url in entries}


async def add(store: Store, *pages: Page) -> list[Decision]:
    return [(await store.check_and_add(each)).decision for each in pages]


# Where


@pytest.mark.parametrize("path", ["pages.db", "./pages.db", "a b/ü?#%20.db", "file:x"])
def test_a_relative_path_starts_at_the_working_directory(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").mkdir()
    _make(f"sqlite:{path}")
    assert (tmp_path / path).is_file()
    # Nothing else is left beside it.
    assert sum(each.is_file() for each in tmp_path.rglob("*")) == 1


def test_an_absolute_path(tmp_path):
    _make(f"sqlite:{tmp_path}/pages.db")
    assert [each.name for each in tmp_path.iterdir()] == ["pages.db"]


def test_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    _make("sqlite:~/pages.db")
    assert (tmp_path / "pages.db").is_file()


@pytest.mark.parametrize(
    ("uri", "advice"),
    [
        ("sqlite:", "sqlite:PATH"),
        ("sqlite:somewhere/", "sqlite:PATH"),
        ("sqlite://pages.db", "sqlite:/absolute/path"),
        ("sqlite:///pages.db", "sqlite:/absolute/path"),
        ("sqlite:////pages.db", "sqlite:/absolute/path"),
        ("sqlite::memory:", "memory:"),
        ("sqlite:~nobody-of-this-name/pages.db", "name the directory"),
    ],
)
def test_what_is_no_path(uri, advice):
    with pytest.raises(ConfigurationError, match=f"NEARDUP_STORE.*{advice}"):
        open_store(uri)


def test_the_file_says_whose_it_is(tmp_path):
    path = tmp_path / "pages.db"
    _make(f"sqlite:{path}")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0x4E647570,)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def _make(uri: str) -> None:
    async def scenario() -> None:
        async with open_store(uri) as store:
            assert await add(store, page(1, 5)) == [Decision.NEW]
            await store.confirm(1)
        async with open_store(uri) as store:
            assert await add(store, page(2, 5)) == [Decision.DUPLICATE]

    asyncio.run(scenario())


# What


def test_what_was_confirmed_is_there_again(tmp_path):
    path = tmp_path / "pages.db"
    url = "https://a.example/ü"

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            await add(store, page(1, 0, url=url), page(2, EVERYTHING, url=url))
            await store.confirm(1)
            await add(store, page(3, 1), page(4, 2), page(5, EVERYTHING))
            await add(store, page(6, 0xFF, exact=True, scope="a.example", title=3, content=4))
            await store.confirm(6)
        assert set(kept(path)) == {1, 6}
        assert kept(path)[1] == (0, 2, url)
        async with open_store(f"sqlite:{path}") as store:
            stats = await store.stats()
            assert (stats.pages, stats.pending, stats.dropped) == (2, 0, 2)
            verdict = await store.check_and_add(page(7, 3, url=None))
            assert (verdict.match.page_id, verdict.match.url) == (1, url)
            # Nobody had processed page 2.
            assert await add(store, page(8, EVERYTHING)) == [Decision.NEW]
            assert await add(store, page(1, 1)) == [Decision.SEEN]
            exact = page(9, 0xFF, exact=True, scope="a.example", title=3)
            assert await add(store, exact) == [Decision.DUPLICATE]
        # Counts of what was there before are brought up to date.
        assert kept(path)[1] == (0, 3, url)

    asyncio.run(scenario())


def test_a_replaced_entry_stays_until_the_new_one_is_confirmed(tmp_path):
    path = tmp_path / "pages.db"

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            await add(store, page(1, 0, url="old"))
            await store.confirm(1)
            await add(store, page(2, 0))
            # Replaced before it was written, and once more.
            await add(store, page(1, EVERYTHING, url="new"), page(1, 0xFFFF << 20, url="newer"))
        assert kept(path) == {1: (0, 1, "old")}
        async with open_store(f"sqlite:{path}") as store:
            assert await add(store, page(3, 0)) == [Decision.DUPLICATE]
            await add(store, page(1, EVERYTHING, url="new"))
            await store.confirm(1)
        assert kept(path) == {1: (EVERYTHING, 0, "new")}

    asyncio.run(scenario())


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("how", ["duplicate", "forget"])
def test_a_withdrawn_entry_is_deleted(how, replace, tmp_path):
    path = tmp_path / "pages.db"

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            await add(store, page(1, 0), page(2, EVERYTHING))
            await store.confirm(1)
            await store.confirm(2)
        assert set(kept(path)) == {1, 2}
        async with open_store(f"sqlite:{path}") as store:
            if replace or how == "forget":
                assert await add(store, page(2, 0xFFFF)) == [Decision.NEW]
            if how == "forget":
                await store.forget(2)
            else:
                assert await add(store, page(2, 1)) == [Decision.DUPLICATE]
        assert set(kept(path)) == {1}

    asyncio.run(scenario())


def test_rows_are_used_again(tmp_path):
    path = tmp_path / "pages.db"

    async def scenario() -> None:
        for edition in range(12):
            async with open_store(f"sqlite:{path}") as store:
                for number in range(50):
                    fingerprint = (number << 32) * 0x9E3779B1 + edition * 0x01010101
                    await add(store, page(number, fingerprint % 2**64, url=str(edition)))
                    await store.confirm(number)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM page").fetchone() == (50,)
            assert connection.execute("SELECT max(place) & 0xffffffff FROM page").fetchone() < (
                120,
            )
        assert {url for _, _, url in kept(path).values()} == {"11"}

    asyncio.run(scenario())


def test_the_url_of_another_page_that_took_the_row_is_not_given(tmp_path):
    path = tmp_path / "pages.db"

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            await add(store, page(1, 5, url="https://a.example/"))
            await store.confirm(1)

    asyncio.run(scenario())
    file = SQLiteFile(path, "default", {"max_distance": 3})
    assert file.url(0, page_id=1) == "https://a.example/"
    assert file.url(0, page_id=2) is None
    assert file.url(1, page_id=1) is None
    file.close()


class SQLiteMachine(StoreMachine):
    """Closed and opened again, it is what the model says a durable store is."""

    place_name = "sqlite"

    @rule()
    def reopen(self) -> None:
        self.close()
        self.model.reopen()
        self.open()


def test_every_sequence_of_calls_with_openings_agrees_with_the_model():
    run_state_machine_as_test(
        SQLiteMachine,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# Made with the same parameters


def test_other_parameters_are_refused_and_both_are_shown(tmp_path):
    path = tmp_path / "pages.db"
    made = {"shingle_size": 3, "hash": "a", "weights": "set"}

    async def opened(namespace: str = "news", k: int = 3, **schema: object) -> None:
        uri = f"sqlite:{path}"
        async with open_store(uri, namespace=namespace, max_distance=k, schema=schema) as store:
            await add(store, page(1, 5))
            await store.confirm(1)

    async def scenario() -> None:
        await opened(**made)
        before = path.read_bytes()
        for k, schema, shown in (
            (4, made, "max_distance was 3 and is 4"),
            (3, made | {"shingle_size": 4}, "shingle_size was 3 and is 4"),
            (3, made | {"hash": "b"}, "hash was 'a' and is 'b'"),
            (3, made | {"more": 1}, "more was None and is 1"),
            (3, {"shingle_size": 3, "hash": "a"}, "weights was 'set' and is None"),
        ):
            with pytest.raises(StoreMismatchError) as raised:
                await opened(k=k, **schema)
            assert shown in str(raised.value)
            assert "'news'" in str(raised.value)
            assert "NEARDUP_NAMESPACE or another file" in str(raised.value)
            assert path.read_bytes() == before
        await opened(namespace="shop", k=4, shingle_size=4)
        await opened(**made)

    asyncio.run(scenario())


def test_another_format_is_refused(tmp_path):
    path = tmp_path / "pages.db"
    _make(f"sqlite:{path}")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    before = path.read_bytes()
    with pytest.raises(StoreMismatchError, match=r"format 2, .* reads 1: name another file"):
        _make(f"sqlite:{path}")
    assert path.read_bytes() == before


# One at a time

HOLD = """
    import asyncio, sys
    from scrapy_neardup.stores import open_store

    async def main():
        async with open_store(sys.argv[1]):
            print("open", flush=True)
            sys.stdin.readline()

    asyncio.run(main())
"""


def _other_process(uri: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLD), uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path):
    uri = f"sqlite:{tmp_path}/pages.db"
    with _other_process(uri) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreLockedError, match="redis://"):
            _make(uri)
        other.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        other.wait()
    _make(uri)


def test_a_second_crawler_is_refused_and_takes_no_lock_away(tmp_path):
    path = tmp_path / "pages.db"
    uri = f"sqlite:{path}"
    link = tmp_path / "symbolic.db"
    hard = tmp_path / "hard.db"

    async def scenario() -> None:
        async with open_store(uri) as store:
            link.symlink_to(path)
            hard.hardlink_to(path)
            for same in (uri, uri, f"sqlite:{link}", f"sqlite:{hard}"):
                with pytest.raises(StoreLockedError, match="redis://"):
                    await open_store(same, namespace="another").open()
            # POSIX locks go when a process closes any handle of the file.
            with _other_process(uri) as other:
                _, message = other.communicate("\n")
            assert other.returncode == 1
            assert "StoreLockedError" in message
            await add(store, page(1, 5))
            await store.confirm(1)
        hard.unlink()
        async with open_store(f"sqlite:{link}", namespace="another") as store:
            assert await add(store, page(1, 5)) == [Decision.NEW]
        assert len(kept(path)) == 1

    asyncio.run(scenario())


def test_what_fails_to_open_isn_t_locked(tmp_path, monkeypatch):
    uri = f"sqlite:{tmp_path}/pages.db"
    _make(uri)
    started, cancelled = threading.Event(), threading.Event()
    load = EmbeddedIndex.load

    def slow_load(index: EmbeddedIndex, chunks: object) -> None:
        started.set()
        cancelled.wait(30)
        load(index, chunks)

    async def scenario() -> None:
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
        # The thread lets go of the file as soon as it is open.
        for _ in range(200):
            try:
                async with open_store(uri) as store:
                    assert (await store.stats()).pages == 1
                break
            except StoreLockedError:
                await asyncio.sleep(0.05)
        else:
            raise AssertionError("it is still locked")

    asyncio.run(scenario())


# When


def test_a_change_is_written_within_an_interval_without_further_calls(tmp_path):
    path = tmp_path / "pages.db"

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            await add(store, page(1, 0, url="x"), page(2, EVERYTHING))
            await store.confirm(1)
            assert kept(path) == {}
            await _until(lambda: kept(path) == {1: (0, 0, "x")})
            await add(store, page(3, 0))
            await _until(lambda: kept(path) == {1: (0, 1, "x")})

    asyncio.run(scenario())


def test_many_changes_are_written_without_waiting_for_the_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(write_behind, "COMMIT_SECONDS", 3600.0)
    path = tmp_path / "pages.db"
    rows = write_behind.COMMIT_ROWS

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            for number in range(rows + rows // 2):
                await add(store, page(number, number * 0x9E3779B97F4A7C15 % 2**64))
                await store.confirm(number)
            # Sequential calls never yield to the event loop for nothing.
            assert len(kept(path)) == rows

    asyncio.run(scenario())


def test_pages_go_on_while_a_transaction_is_under_way(tmp_path, monkeypatch):
    monkeypatch.setattr(write_behind, "COMMIT_ROWS", 5)
    path = tmp_path / "pages.db"

    async def crawl(store: Store, first: int) -> None:
        for number in range(first, first + 60):
            await add(store, page(number, number * 0x9E3779B97F4A7C15 % 2**64, url=str(number)))
            await asyncio.sleep(0)
            match number % 4:
                case 0:
                    await store.forget(number)
                case 1:
                    await store.confirm(number)
                    await add(store, page(number, number * 0x517CC1B727220A95 % 2**64, url="new"))
                    await store.confirm(number)
                case _:
                    await store.confirm(number)
                    verdict = await store.check_and_add(
                        page(10_000 + number, number * 0x9E3779B97F4A7C15 % 2**64)
                    )
                    assert (verdict.match.page_id, verdict.match.url) == (number, str(number))

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            await asyncio.gather(*(crawl(store, 100 * group) for group in range(8)))
        numbers = [100 * group + each for group in range(8) for each in range(60)]
        assert {page_id: (count, url) for page_id, (_, count, url) in kept(path).items()} == {
            number: (0, "new") if number % 4 == 1 else (1, str(number))
            for number in numbers
            if number % 4
        }

    asyncio.run(scenario())


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
def test_a_full_disk(then, tmp_path):
    path = tmp_path / "pages.db"
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL_DISK), f"sqlite:{path}", then],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    if then == "stays full":
        assert result.stdout == "lost\n"
    else:
        assert len(kept(path)) == int(result.stdout) >= write_behind.COMMIT_ROWS

    async def scenario() -> None:
        async with open_store(f"sqlite:{path}") as store:
            assert (await store.stats()).pages == len(kept(path))

    asyncio.run(scenario())


async def _until(condition) -> None:
    for _ in range(600):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came true")
