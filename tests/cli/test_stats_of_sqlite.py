"""``scrapy-neardup stats`` and ``clear`` on a file of SQLite."""

import asyncio
import json
import multiprocessing
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from store_registry import page

from scrapy_neardup.cli import main
from scrapy_neardup.stores import open_store

NAMES = ("shop.default", "a%_b", "名")


async def fill(uri: str, namespace: str, start: int = 0) -> None:
    async with open_store(uri, namespace=namespace, schema={"shingle": 3}) as store:
        for number in range(start, start + 30):
            fingerprint = number * 0x9E3779B97F4A7C15 % 2**64
            await store.check_and_add(page(number, fingerprint, url=f"https://a.example/{number}"))
            await store.confirm(number)
        for number in range(5):
            await store.check_and_add(page(1000 + number, start * 0x9E3779B97F4A7C15 % 2**64))


@pytest.fixture
def uri(tmp_path):
    uri = f"sqlite:{tmp_path / 'pages#?.db'}"
    for namespace in NAMES:
        asyncio.run(fill(uri, namespace))
    return uri


def run(*words: str, text: str | None = None):
    return CliRunner().invoke(main, words, input=text)


def shown(uri: str, namespace: str) -> dict:
    return json.loads(run("stats", "--store", uri, "--namespace", namespace, "--json").output)


def test_stats_and_clear(uri):
    path = Path(uri.partition(":")[2])
    before = path.read_bytes()
    assert run("stats", "--store", uri).output.split() == sorted(NAMES)
    found = shown(uri, NAMES[0])
    assert (found["pages"], found["pending"], found["dropped"]) == (30, 0, 5)
    assert found["file_bytes"] == path.stat().st_size
    assert found["parameters"] == {"hash_key": "public", "max_distance": "3", "shingle": "3"}
    text = run("stats", "--store", uri, "--namespace", NAMES[0]).output
    assert "pages            30\n" in text
    assert "shingle          3" in text
    assert path.read_bytes() == before

    refused = run("clear", "--store", uri, "--namespace", NAMES[1], text="n\n")
    assert refused.exit_code == 1
    assert path.read_bytes() == before
    done = run("clear", "--store", uri, "--namespace", NAMES[1], "--yes")
    assert done.exit_code == 0
    assert "30 pages" in done.output
    assert run("stats", "--store", uri).output.split() == sorted({NAMES[0], NAMES[2]})
    for verb in ("stats", "clear"):
        gone = run(verb, "--store", uri, "--namespace", NAMES[1])
        assert gone.exit_code == 2
        assert "isn't there" in gone.output
    asyncio.run(fill(uri, NAMES[1], start=100))  # its number is given again
    assert [shown(uri, name)["pages"] for name in NAMES] == [30, 30, 30]
    asyncio.run(still_known(uri))


async def still_known(uri: str) -> None:
    async with open_store(uri, namespace=NAMES[2], schema={"shingle": 3}) as store:
        assert (await store.check_and_add(page(2000, 0))).match.page_id == 0


def test_of_a_crawl_that_was_killed(uri, tmp_path):
    """Its last pages are in the log beside the file."""
    path, copy = Path(uri.partition(":")[2]), tmp_path / "copy.db"

    async def scenario() -> None:
        async with open_store(uri, namespace=NAMES[0], schema={"shingle": 3}) as store:
            await store.check_and_add(page(500, 2**64 - 1))
            await store.confirm(500)
            await store._opened.writer._begin()
            for suffix in ("", "-wal"):
                shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")

    asyncio.run(scenario())
    whole = copy.read_bytes()
    assert shown(f"sqlite:{copy}", NAMES[0])["pages"] == 31
    assert copy.read_bytes() == whole
    asyncio.run(still_known(f"sqlite:{copy}"))


def crawl(uri: str, opened, done) -> None:
    async def scenario() -> None:
        async with open_store(uri, namespace=NAMES[0], schema={"shingle": 3}):
            opened.set()
            done.wait(30)

    asyncio.run(scenario())


def test_while_a_crawl_has_it_open(uri):
    context = multiprocessing.get_context("spawn")
    opened, done = context.Event(), context.Event()
    process = context.Process(target=crawl, args=(uri, opened, done))
    process.start()
    try:
        assert opened.wait(30)
        for verb in ("stats", "clear"):
            refused = run(
                verb, "--store", uri, "--namespace", NAMES[0], *["--yes"][verb == "stats" :]
            )
            assert refused.exit_code == 2
            assert "is open in another process" in refused.output
    finally:
        done.set()
        process.join()
    assert process.exitcode == 0


@pytest.mark.parametrize("verb", ["stats", "clear"])
def test_what_can_not_be_looked_at(verb, tmp_path):
    for uri, words in (
        (f"sqlite:{tmp_path / 'none.db'}", "there is no file"),
        ("sqlite:", "names no file"),
        ("memory:", "can't be looked at from outside"),
        ("redish://:secret@x", "can't be looked at from outside"),
    ):
        refused = run(verb, "--store", uri, "--namespace", "a")
        assert refused.exit_code == 2
        assert words in refused.output
        assert "secret" not in refused.output
    assert not list(tmp_path.iterdir())
    (tmp_path / "other.db").write_text("mine")
    refused = run(verb, "--store", f"sqlite:{tmp_path / 'other.db'}", "--namespace", "a")
    assert refused.exit_code == 2
    assert "is not a store of scrapy-neardup" in refused.output
