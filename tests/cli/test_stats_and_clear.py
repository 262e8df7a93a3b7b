"""``scrapy-neardup stats`` and ``clear``, on files of SQLite and on Redis."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from matching_pages import own_evidence
from redis_servers import shared_server
from sqlite_files import copied, other_process
from store_registry import PLACES, keys, page, spread

from scrapy_neardup.cli import main
from scrapy_neardup.judge.evidence import shortened
from scrapy_neardup.stores import Matching, Store, open_store
from scrapy_neardup.stores.redis import redis_admin
from scrapy_neardup.stores.redis.keyspace import Layout

NAMES = ("shop.default", "a%_b:c*d", "名")
PAGES = 400
"""Their keys are more than a batch."""


async def fill(uri: str, *namespaces: str, start: int = 0) -> None:
    for namespace in namespaces:
        async with open_store(uri, namespace=namespace, schema={"shingle": 3}) as store:
            for number in range(start, start + 30):
                url = f"https://a.example/{number}"
                await store.check_and_add(page(number, spread(number), url=url))
                await store.confirm(number)
            for number in range(5):
                await store.check_and_add(page(1000 + number, spread(start)))


@pytest.fixture
def uri(tmp_path):
    uri = f"sqlite:{tmp_path / 'pages#?.db'}"
    asyncio.run(fill(uri, *NAMES))
    return uri


def run(*words: str, text: str | None = None):
    return CliRunner().invoke(main, words, input=text)


def shown(uri: str, namespace: str) -> dict:
    return json.loads(run("stats", "--store", uri, "--namespace", namespace, "--json").output)


def check_stats_and_clear(uri: str) -> list[dict]:
    """Remove the second namespace, and fill it again; return what was said of all before."""
    store = ("--store", uri)
    assert run("stats", *store).output.split() == sorted(NAMES)
    said = [shown(uri, namespace) for namespace in NAMES]
    for found in said:
        assert (found["pages"], found["pending"], found["dropped"]) == (30, 0, 5)
        assert found["parameters"].items() >= {"max_distance": "3", "shingle": "3"}.items()
    text = run("stats", *store, "--namespace", NAMES[0]).output
    assert "pages            30\n" in text
    assert "shingle          3" in text

    refused = run("clear", *store, "--namespace", NAMES[1], text="n\n")
    assert refused.exit_code == 1
    assert "Remove the 30 pages" in refused.output
    assert run("stats", *store).output.split() == sorted(NAMES)
    done = run("clear", *store, "--namespace", NAMES[1], "--yes")
    assert done.exit_code == 0
    assert "30 pages" in done.output
    assert run("stats", *store).output.split() == sorted({NAMES[0], NAMES[2]})
    for verb in ("stats", "clear"):
        gone = run(verb, *store, "--namespace", NAMES[1])
        assert gone.exit_code == 2
        assert "no such namespace" in gone.output
    asyncio.run(fill(uri, NAMES[1], start=100))  # its number is given again
    assert [shown(uri, name)["pages"] for name in NAMES] == [30, 30, 30]
    asyncio.run(still_known(uri))
    return said


@pytest.mark.parametrize("name", ["redis", "redis-cluster"])
def test_stats_and_clear(name):
    with PLACES[name]() as place:
        asyncio.run(fill(place.uri, *NAMES))
        for found in check_stats_and_clear(place.uri):
            assert found["overflowed"] == 0
            assert found["memory_bytes"] == sum(found["memory"].values()) > 1000
        text = run("stats", "--store", place.uri, "--namespace", NAMES[0]).output
        assert "  tables " in text


def test_stats_and_clear_of_a_file(uri):
    path = Path(uri.partition(":")[2])
    before = path.read_bytes()
    run("stats", "--store", uri, "--namespace", NAMES[0])
    run("clear", "--store", uri, "--namespace", NAMES[1], text="n\n")
    assert path.read_bytes() == before
    for found in check_stats_and_clear(uri):
        assert found["file_bytes"] == len(before)
        assert found["parameters"].keys() == {"hash_key", "max_distance", "shingle"}


async def still_known(uri: str) -> None:
    async with open_store(uri, namespace=NAMES[2], schema={"shingle": 3}) as store:
        assert (await store.check_and_add(page(2000, 0))).match.page_id == 0


def test_of_a_crawl_that_was_killed(uri):
    """Its last pages are in the log beside the file."""

    async def scenario() -> Path:
        async with open_store(uri, namespace=NAMES[0], schema={"shingle": 3}) as store:
            await store.check_and_add(page(500, 2**64 - 1))
            await store.confirm(500)
            await store._opened.keeper._begin()
            return copied(Path(uri.partition(":")[2]))

    copy = asyncio.run(scenario())
    whole = copy.read_bytes()
    assert shown(f"sqlite:{copy}", NAMES[0])["pages"] == 31
    assert copy.read_bytes() == whole
    asyncio.run(still_known(f"sqlite:{copy}"))


def test_while_a_crawl_has_it_open(uri):
    with other_process(uri, namespace=NAMES[0], schema={"shingle": 3}) as crawl:
        assert crawl.stdout.readline() == "open\n"
        for verb in (["stats"], ["clear", "--yes"]):
            refused = run(*verb, "--store", uri, "--namespace", NAMES[0])
            assert refused.exit_code == 2
            assert "is open in another process" in refused.output
        crawl.communicate("\n")
    assert crawl.returncode == 0


def test_a_damaged_row_is_told_of(tmp_path):
    path = tmp_path / "pages.db"
    asyncio.run(fill(f"sqlite:{path}", "a"))
    with closing(sqlite3.connect(path)) as connection, connection:
        first = "SELECT min(place) FROM page"
        connection.execute(f"UPDATE page SET entry = x'0102' WHERE place = ({first})")
    done = run("stats", "--store", f"sqlite:{path}", "--namespace", "a")
    assert (done.exit_code, "is damaged (of a record: " in done.output) == (2, True), done.output


@pytest.mark.parametrize("name", ["redis", "redis-cluster"])
def test_features_evidence_and_urls_are_weighed_and_cleared(name, monkeypatch):
    matching = Matching(features=2, text_bits=512, named_bits=64)
    url = f"https://a.example/{'x' * 200}"

    async def fill(uri: str) -> None:
        async with open_store(uri, matching=matching) as store:
            await asyncio.gather(*(keep(store, number) for number in range(PAGES)))

    async def keep(store: Store, number: int) -> None:
        made = page(
            number << 54,
            spread(number),
            features=(number + 1, number + 2),
            evidence=own_evidence(number, matching),
            url=url,
        )
        await store.check_and_add(made)
        await store.confirm(number << 54)

    with PLACES[name]() as place:
        asyncio.run(fill(place.uri))
        words = ("--store", place.uri, "--namespace", "default")
        found = json.loads(run("stats", *words, "--json").output)
        assert found["pages"] == PAGES
        memory = found["memory"]
        tables = len(Layout.choose(3, 1_000_000).tables)
        for kind, least in {
            "pages": 20 + 2 * 6 + len(shortened(own_evidence(0, matching))) + len(url),
            "tables": tables * 11,
            "features": 2 * 11,
        }.items():
            assert PAGES * least <= memory[kind] < PAGES * (least + 500), kind
        assert 0 < memory["rest"] < PAGES * 100
        assert found["memory_bytes"] == sum(memory.values())
        monkeypatch.setattr(redis_admin, "_MEASURED", PAGES)  # of more keys some are measured
        sampled = json.loads(run("stats", *words, "--json").output)["memory_bytes"]
        assert 0.5 < sampled / found["memory_bytes"] < 2
        assert found["parameters"]["text_bits"] == str(matching.text_bits)
        assert run("clear", *words, "--yes").exit_code == 0
        assert not keys(name)


def test_clear_leaves_other_keys():
    with PLACES["redis"]() as place:
        client = shared_server().client()
        asyncio.run(fill(place.uri, *NAMES))
        client.set("nd:shop", "mine")
        for namespace in NAMES:
            run("clear", "--store", place.uri, "--namespace", namespace, "--yes")
        assert client.keys() == [b"nd:shop"]
