"""``scrapy-neardup stats`` and ``clear``, on a Redis and on a cluster."""

import asyncio
import json

import pytest
from click.testing import CliRunner
from matching_pages import own_evidence
from redis_servers import shared_server
from store_registry import PLACES, keys, page

from scrapy_neardup.cli import main
from scrapy_neardup.decision.evidence import stored_size
from scrapy_neardup.stores import Matching, Store, open_store
from scrapy_neardup.stores.redis.keyspace import Layout

NAMES = ("shop.default", "a:b*c", "名")
PAGES = 400
"""Their keys are more than a batch."""


async def fill(uri: str) -> None:
    for namespace in NAMES:
        async with open_store(uri, namespace=namespace) as store:
            for number in range(30):
                fingerprint = number * 0x9E3779B97F4A7C15 % 2**64
                url = f"https://a.example/{number}"
                await store.check_and_add(page(number, fingerprint, url=url))
                await store.confirm(number)
            for number in range(5):
                await store.check_and_add(page(100 + number, 0))


def run(*words: str, text: str | None = None):
    return CliRunner().invoke(main, words, input=text)


@pytest.mark.parametrize("name", ["redis", "redis-cluster"])
def test_stats_and_clear(name):
    with PLACES[name]() as place:
        asyncio.run(fill(place.uri))
        store = ("--store", place.uri)
        assert run("stats", *store).output.split() == sorted(NAMES)
        for namespace in NAMES:
            found = json.loads(run("stats", *store, "--namespace", namespace, "--json").output)
            assert (found["pages"], found["pending"], found["dropped"]) == (30, 0, 5)
            assert found["overflowed"] == 0
            assert found["memory_bytes"] == sum(found["memory"].values()) > 1000
            assert found["parameters"]["max_distance"] == "3"
            assert found["busiest"][0]["entries"] == 1
        shown = run("stats", *store, "--namespace", NAMES[0])
        assert shown.exit_code == 0
        assert "busiest bucket   1 entries in table" in shown.output

        refused = run("clear", *store, "--namespace", NAMES[1], text="n\n")
        assert refused.exit_code == 1
        assert "Remove the 30 pages" in refused.output
        assert run("stats", *store).output.split() == sorted(NAMES)
        done = run("clear", *store, "--namespace", NAMES[1], "--yes")
        assert done.exit_code == 0
        assert "30 pages" in done.output
        assert run("stats", *store).output.split() == sorted({NAMES[0], NAMES[2]})
        left = json.loads(run("stats", *store, "--namespace", NAMES[0], "--json").output)
        assert left["pages"] == 30
        for verb in ("stats", "clear"):
            gone = run(verb, *store, "--namespace", NAMES[1])
            assert gone.exit_code == 2
            assert "isn't there" in gone.output


@pytest.mark.parametrize("name", ["redis", "redis-cluster"])
def test_features_evidence_and_urls_are_weighed_and_cleared(name):
    matching = Matching(features=2, text_bits=512, named_bits=64)
    url = f"https://a.example/{'x' * 200}"

    async def fill(uri: str) -> None:
        async with open_store(uri, matching=matching) as store:
            await asyncio.gather(*(keep(store, number) for number in range(PAGES)))

    async def keep(store: Store, number: int) -> None:
        made = page(
            number << 54,
            number * 0x9E3779B97F4A7C15 % 2**64,
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
            "tables": tables * 6,
            "identity": 18,
            "features": 2 * 6,
            "sketches": 2 * 8 + stored_size(matching.sketch),
            "rest": len(url),
        }.items():
            assert PAGES * least < memory[kind] < PAGES * (least + 300), kind
        assert found["memory_bytes"] == sum(memory.values())
        assert found["parameters"]["text_bits"] == str(matching.text_bits)
        assert run("clear", *words, "--yes").exit_code == 0
        assert not keys(name)


def test_clear_leaves_other_keys():
    with PLACES["redis"]() as place:
        client = shared_server().client()
        asyncio.run(fill(place.uri))
        client.set("nd:shop", "mine")
        for namespace in NAMES:
            run("clear", "--store", place.uri, "--namespace", namespace, "--yes")
        assert client.keys() == [b"nd:shop"]


def test_nobody_there():
    refused = run("stats", "--store", "redis://:secret@127.0.0.1:1/0")
    assert refused.exit_code == 1
    assert "--store" in refused.output
    assert "secret" not in refused.output
