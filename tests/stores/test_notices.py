"""The notice board: who reads what, what stays where it has bounds, and what is written."""

import sqlite3
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from store_registry import on_store

from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.base import MAX_MEMBERS
from scrapy_neardup.stores.embedded.memorystore import MAX_TOPICS, Notice, NoticeBoard
from scrapy_neardup.stores.sqlite.sqlitestore import sqlite_admin


@on_store()
async def test_members_read_what_all_have_posted(store):
    assert await store.exchange("x", "a", b"1") == [b"1"]
    assert sorted(await store.exchange("x", "b", b"2")) == [b"1", b"2"]
    assert sorted(await store.exchange("x", "a", b"1")) == [b"1", b"2"]
    assert sorted(await store.exchange("x", "a", b"\xff\0")) == [b"2", b"\xff\0"]
    assert await store.exchange("y", "b", b"") == [b""]
    assert sorted(await store.exchange("x", "c", None)) == [b"2", b"\xff\0"]
    assert sorted(await store.exchange("x", "b", b"2")) == [b"2", b"\xff\0"]
    assert await store.exchange("z", "b", None) == []
    assert (await store.stats()).pages == 0


@on_store()
async def test_a_board_has_bounds_and_those_that_posted_last_stay(store):
    notices = [bytes([number]) * 100 for number in range(200)]
    for number, notice in enumerate(notices):
        values = await store.exchange("x", str(number), notice)
        assert sorted(values) == notices[max(0, number + 1 - MAX_MEMBERS) : number + 1]


def test_members_that_changed_their_value_last_stay():
    board = NoticeBoard()
    for number in range(MAX_MEMBERS):
        board.post("x", str(number), b"%d" % number)
    board.post("x", "0", b"new")
    values, changed = board.post("x", "another", b"!")
    assert changed == [Notice("x", "another", b"!"), Notice("x", "1", None)]
    assert (len(values), b"new" in values, b"1" in values) == (MAX_MEMBERS, True, False)


def test_topics_that_were_used_last_stay():
    board = NoticeBoard()
    for number, (member, value) in product(range(MAX_TOPICS), (("a", b"1"), ("b", b"2"))):
        board.post(str(number), member, value)
    assert board.nbytes == 2 * MAX_TOPICS
    assert board.post("0", "a", b"1") == ([b"1", b"2"], [])
    _, changed = board.post("another", "a", b"3")
    gone = [Notice("1", "a", None), Notice("1", "b", None)]
    assert changed == [Notice("another", "a", b"3"), *gone]
    assert board.post("0", "c", b"4")[0] == [b"1", b"2", b"4"]
    assert board.post("1", "c", b"4")[0] == [b"4"]


def written(path: Path) -> list[tuple[str, str, bytes]]:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT topic, member, value FROM notice ORDER BY rowid"
        return connection.execute(query).fetchall()


async def test_a_file_holds_what_the_board_holds(path):
    async with open_store(f"sqlite:{path}") as store:
        for number in range(MAX_MEMBERS + 5):
            await store.exchange("ü", str(number), bytes([number]))
        await store.exchange("ü", "7", b"new")
    expected = [("ü", str(n), bytes([n])) for n in range(5, MAX_MEMBERS + 5) if n != 7]
    assert written(path) == [*expected, ("ü", "7", b"new")]
    # Read in the order of posting: the next one to go is the fifth.
    async with open_store(f"sqlite:{path}", namespace="other") as store:
        assert await store.exchange("ü", "9", b"x") == [b"x"]
    async with open_store(f"sqlite:{path}") as store:
        values = await store.exchange("ü", "another", b"!")
        assert len(values) == MAX_MEMBERS
        assert bytes([5]) not in values
    assert ("ü", "5", b"\5") not in written(path)
    # Clearing another namespace leaves them.
    async with sqlite_admin(f"sqlite:{path}") as admin:
        await admin.clear("other")
        assert ("ü", "9", b"x") not in written(path)
        assert len(written(path)) == MAX_MEMBERS
        await admin.clear("default")
        assert written(path) == []


async def test_a_file_where_nothing_was_posted_has_no_board(path):
    async with open_store(f"sqlite:{path}"):
        pass
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        written(path)
