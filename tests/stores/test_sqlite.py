"""What is particular to ``sqlite:PATH``: where the file is, what it holds, who can read it."""

import sqlite3
from contextlib import closing

import pytest
from sqlite_files import kept, make
from store_registry import keep, page

from scrapy_neardup.errors import ConfigurationError, StoreMismatchError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.sqlite.file import SQLiteFile

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
        assert connection.execute("PRAGMA user_version").fetchone() == (6,)
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
    file = SQLiteFile(path, "default", {"max_distance": 3})
    assert file.url(0, page_id=1) == "https://a.example/"
    assert file.url(0, page_id=2) is None
    assert file.url(1, page_id=1) is None
    file.close()


async def test_another_format_is_refused(path):
    await make(f"sqlite:{path}")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    before = path.read_bytes()
    with pytest.raises(StoreMismatchError, match=r"format 1, .* reads 6: name another file"):
        await make(f"sqlite:{path}")
    assert path.read_bytes() == before
