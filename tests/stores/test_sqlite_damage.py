"""Files that aren't ours or aren't whole: an error that says so, and not a byte is changed."""

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from matching_pages import own_evidence
from sqlite_files import copied
from store_registry import keep, page, spread

from scrapy_neardup.errors import StoreCorruptError, StoreError, StoreUnavailableError
from scrapy_neardup.stores import Matching, StoreOptions, open_store
from scrapy_neardup.stores.sqlite.file import SQLiteFile
from scrapy_neardup.stores.sqlite.schema import APPLICATION_ID, FORMAT_VERSION
from scrapy_neardup.verdict import Page

PAGES = 300
PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="no files that refuse root")


def arrival(number: int) -> Page:
    return page(number, spread(number), url=f"https://a.example/{number:0100}")


async def fill(path: Path) -> None:
    async with open_store(f"sqlite:{path}") as store:
        await keep(store, *map(arrival, range(PAGES)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A store that was closed."""
    path = tmp_path_factory.mktemp("whole") / "pages.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """A store whose process was killed: half of its pages are in the log."""
    path = tmp_path_factory.mktemp("killed") / "pages.db"

    async def scenario() -> Path:
        await fill(path)
        async with open_store(f"sqlite:{path}") as store:
            await keep(store, *map(arrival, range(PAGES, 2 * PAGES)))
            await store._opened.keeper._begin()
            return copied(path)

    copies = asyncio.run(scenario())
    assert Path(f"{copies}-wal").stat().st_size > 10_000
    return copies


def contents(directory: Path) -> dict[str, bytes]:
    """Return all files but SQLite's scratch memory for readers of a log."""
    return {
        each.name: each.read_bytes()
        for each in directory.iterdir()
        if each.is_file() and not each.name.endswith("-shm")
    }


async def refuse(path: Path, kind: type[StoreError] = StoreCorruptError) -> str:
    """Check that `path` can't be opened and stays as it is; return the message."""
    before = contents(path.parent)
    with pytest.raises(StoreError) as raised:
        await open_store(f"sqlite:{path}").open()
    assert type(raised.value) is kind
    assert "NEARDUP_STORE" in str(raised.value)
    assert str(path) in str(raised.value)
    assert contents(path.parent) == before
    return str(raised.value)


async def count(path: Path) -> int:
    async with open_store(f"sqlite:{path}") as store:
        return (await store.stats()).pages


@pytest.mark.parametrize("content", [
    b"\n",
    b"Not a database, but a letter. " * 100,
    random.Random(1).randbytes(20_000),
    bytes(4096),
    b"SQLite format 3\x00",
], ids=["short", "text", "random", "zeros", "magic"])  # fmt: skip
async def test_a_file_that_is_no_database(content, path):
    path.write_bytes(content)
    assert "is not a store of scrapy-neardup" in await refuse(path)


@pytest.mark.parametrize("mode", ["delete", "wal"])
async def test_the_database_of_another_program(mode, tmp_path):
    path = tmp_path / "other" / "places.sqlite"
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE page (place INTEGER, entry BLOB, url TEXT)")
        # As its process would leave it if it were killed now.
        copies = tmp_path / "copies"
        shutil.copytree(path.parent, copies)
    assert "is not a store of scrapy-neardup" in await refuse(copies / path.name)
    log = [f"{path.name}-wal"] * (mode == "wal")
    assert set(contents(copies)) == {path.name, *log}


async def test_one_that_only_says_that_it_is_ours(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    assert "no such table" in await refuse(path)


async def test_an_empty_file_is_a_new_store_and_one_with_a_log_is_not(killed, path, tmp_path):
    path.touch()
    await fill(path)
    assert await count(path) == PAGES
    (other := tmp_path / "other.db").touch()
    shutil.copy(f"{killed}-wal", f"{other}-wal")
    assert "is empty, but its log isn't" in await refuse(other)


async def test_a_truncated_file(whole, path):
    content = whole.read_bytes()
    rng = random.Random(2)
    lengths = [len(content) - 1, len(content) - 4096, 4096, 4095, 101, 100, 99, 72, 1]
    for length in lengths + rng.sample(range(1, len(content)), 20):
        path.write_bytes(content[:length])
        await refuse(path)


async def test_pages_that_were_overwritten(whole, path):
    content, size = whole.read_bytes(), 4096
    for junk in (bytes(size), b"\xff" * size, random.Random(3).randbytes(size)):
        for start in range(size, len(content), size):
            path.write_bytes(content[:start] + junk + content[start + size :])
            # Parts of a tree, and not the free room for one or an unused index.
            if content[start] in (5, 13) and content[start + 3 : start + 5] != b"\0\0":
                await refuse(path)


@pytest.mark.parametrize(("change", "record", "message"), [
    *(("page SET entry = ? WHERE place & 0xffff = 200", record, "record")
      for record in (b"", b"x" * 31, b"x" * 33, "x" * 32, 5)),
    ("namespace SET parameters = ?", "{", "the record of namespace number 1"),
])  # fmt: skip
async def test_a_record_of_another_type_or_size_or_no_json(change, record, message, whole, path):
    shutil.copy(whole, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {change}", (record,))
    assert message in await refuse(path)


async def test_a_notice_whose_name_is_no_text_is_damage(whole, path):
    shutil.copy(whole, path)
    async with open_store(f"sqlite:{path}") as store:
        await store.exchange("topic", "member", b"value")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE notice SET topic = CAST(x'61ff' AS TEXT)")
    assert "is damaged (a value that was posted)" in await refuse(path)


async def test_any_bit_that_flips_is_noticed_or_changes_nothing(path):
    """What is read of a file that opens is what was written."""

    def held() -> object:
        """All that a crawl reads of the file; the URLs, as far as they can be told."""
        file = SQLiteFile(path, StoreOptions(matching=matching, schema=matching.record()))
        try:
            chunks = list(file.entries())
            rows = np.concatenate([chunk.rows for chunk in chunks]).tolist()
            records = np.concatenate([chunk.records for chunk in chunks])
            evidence = [each for chunk in chunks for each in chunk.evidence]
            urls = list(map(file.url, rows, records["page_id"].tolist()))
            return rows, records.tobytes(), evidence, file.notices(), urls
        finally:
            file.close()

    matching = Matching(features=2, text_bits=256, named_bits=64)
    async with open_store(f"sqlite:{path}", matching=matching) as store:
        for number in range(40):
            features, evidence = (number, -number % 2**64), own_evidence(number, matching)
            await keep(store, replace(arrival(number), features=features, evidence=evidence))
        await store.exchange("topic", "member", b"value")
    whole, content = held(), path.read_bytes()
    chance = random.Random(5)
    noticed = 0
    # Beside some of all bits, two of each byte of the file's header, and some around the heads and
    # ends of the trees' pages.
    places = chance.sample(range(8 * len(content)), 300)
    places += [8 * offset + bit for offset in range(100) for bit in (0, 7)]
    places += [
        8 * (start + offset) + chance.randrange(8)
        for start in range(0, len(content), 4096)
        for offset in (*range(40), 4095, 4094, 4093)
    ]
    for place in places:
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            *found, urls = held()
        except StoreError:
            noticed += 1
            assert path.read_bytes() == flipped
        else:
            assert found == list(whole[:-1]), place
            assert all(url in {None, was} for url, was in zip(urls, whole[-1], strict=True))
        assert list(path.parent.iterdir()) == [path]
    assert noticed > 60


@pytest.mark.parametrize("moved_to", [-1, 0, 2, 3])
async def test_a_record_that_moved_out_of_its_namespace(moved_to, whole, path):
    """As a change of one byte of its key may move the first or the last of a namespace."""
    shutil.copy(whole, path)
    async with open_store(f"sqlite:{path}", namespace="another") as store:
        await keep(store, arrival(1))
    end = "min" if moved_to < 1 else "max"
    moved = "UPDATE page SET place = (? << 32) + (place & 0xFFFFFFFF) WHERE place ="
    with closing(sqlite3.connect(path)) as connection, connection:
        which = f"(SELECT {end}(place) FROM page WHERE place >> 32 = 1)"
        connection.execute(f"{moved} {which}", [moved_to])
    await refuse(path)


async def test_a_damaged_file_with_a_log_is_not_written_to(killed, tmp_path):
    """To close SQLite's usual connection would move the log into the file."""
    path = tmp_path / "pages.db"
    content = killed.read_bytes()
    shutil.copy(f"{killed}-wal", f"{path}-wal")
    path.write_bytes(content)
    assert await count(path) == 2 * PAGES
    assert [each.name for each in tmp_path.iterdir()] == ["pages.db"]
    shutil.copy(f"{killed}-wal", f"{path}-wal")
    half = len(content) // 2
    path.write_bytes(content[:half] + b"\xff" * 4096 + content[half + 4096 :])
    await refuse(path)


async def test_a_log_that_ends_early_is_as_if_less_had_been_written(killed, tmp_path):
    log = Path(f"{killed}-wal").read_bytes()
    for length in (len(log) - 1, len(log) // 2, 40, 0):
        path = tmp_path / f"{length}.db"
        shutil.copy(killed, path)
        Path(f"{path}-wal").write_bytes(log[:length])
        assert PAGES <= await count(path) <= 2 * PAGES


@pytest.mark.parametrize("make", [Path.mkdir, *([os.mkfifo] if hasattr(os, "mkfifo") else [])])
async def test_a_directory_or_a_pipe(make, path):
    make(path)
    assert "is not a file" in await refuse(path)


@pytest.mark.parametrize(
    "where", ["nowhere/pages.db", "file/pages.db", pytest.param("/proc/pages.db", marks=PROC)]
)
async def test_a_directory_that_does_not_exist_or_takes_no_files(where, tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="directory has to exist and be writable"):
        await open_store(f"sqlite:{tmp_path / where}").open()
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
@pytest.mark.parametrize("what", ["file", "directory", "unreadable"])
async def test_what_permissions_forbid(what, whole):
    with TemporaryDirectory() as name:
        directory, path = Path(name), Path(name) / "pages.db"
        shutil.copy(whole, path)
        targets = {"file": (path, 0o400), "directory": (directory, 0o500), "unreadable": (path, 0)}
        target, mode = targets[what]
        target.chmod(mode)
        with _without_privileges(directory, path), pytest.raises(StoreError) as raised:
            await open_store(f"sqlite:{path}").open()
        assert "directory has to exist and be writable" in str(raised.value)
        assert path.read_bytes() == whole.read_bytes()
        target.chmod(0o700)


@contextmanager
def _without_privileges(*owned: Path) -> Iterator[None]:
    """Be an ordinary user, to whom `owned` belong: permissions don't bind root."""
    user = os.geteuid()
    nobody = user or 65534
    for path in owned if not user else ():
        os.chown(path, nobody, nobody)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.skipif(os.name != "posix", reason="an open file can be removed")
@pytest.mark.parametrize("way", ["removed", "replaced", "removed before a transaction"])
async def test_a_folder_that_goes_while_it_is_open(way, tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    store = open_store(f"sqlite:{folder}/pages.db")
    await store.open()
    await keep(store, arrival(1))
    if way != "removed before a transaction":
        await store._opened.keeper._begin()
    shutil.rmtree(folder)
    if way == "replaced":
        folder.mkdir()
        (folder / "pages.db").write_text("another")
    with pytest.raises(StoreUnavailableError, match="was removed or replaced while it was"):
        await store.close()
    assert folder.exists() is (way == "replaced")
    if way == "replaced":
        assert (folder / "pages.db").read_text() == "another"
