"""The benchmark of the Redis store runs, and what it fills servers with is what pages leave."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from redis_servers import RedisServer

from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.stores.redis.keyspace import Layout, prefix
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Page

pytestmark = pytest.mark.benchmark

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_a_quick_run():
    command = [sys.executable, str(BENCHMARKS / "redis_store.py"), "--quick", "--tables", "4"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures = {line[:38].strip(): line[38:].split() for line in run.stdout.splitlines()[2:]}
    packed, naive, ratio = map(float, figures["bytes"])
    assert packed > 0
    assert abs(naive / packed - ratio) < 0.02
    assert float(figures["bytes of retention"][0]) > 3.5  # 4, and what allocators round up
    assert {
        "bytes of tables",
        "new, 1 at once: p99 µs",
        "duplicate, 8 at once: pages/s",
        "duplicate, 8 at once: server CPU µs",
    } <= set(figures)


def test_a_quick_run_in_a_cluster():
    command = [sys.executable, str(BENCHMARKS / "redis_cluster.py"), "--quick"]
    command += ["--presets", "paper", "best", "compact"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures = {line[:38].strip(): line[38:].split() for line in run.stdout.splitlines()[2:]}
    # Beside the pages, a sweep makes one now and then.
    for kind, most, scripts in (("new", 8, (7, 16, 11)), ("duplicate", 10, (11, 29, 19))):
        assert all(float(figure) <= most for figure in figures[f"{kind}, 1 at once: requests"])
        made = map(float, figures[f"{kind}, 1 at once: scripts"])
        assert [round(count) for count in made] == list(scripts)
    paper, best, compact = map(float, figures["bytes"])
    assert 0 < paper < compact < best


def test_a_quick_run_with_sketches():
    command = [sys.executable, str(BENCHMARKS / "redis_sketches.py"), "--quick"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures = {line[:34].strip(): line[34:].split() for line in run.stdout.splitlines()[2:]}
    paper, best, more, *_ = map(float, figures["bytes"])
    assert abs(best - paper - more) <= 1
    assert float(figures["bytes of sketches"][0]) > 8 + 64 + 256  # paper has none
    assert {
        "bytes of log, each new page",
        "new, 1 at once: p99 µs",
        "refused, 64 at once: server CPU µs",
    } <= set(figures)


@pytest.mark.parametrize("blocks", [4, 5, 3])
def test_pages_filled_in_bulk_are_those_of_as_many_calls(blocks, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from redis_fill import fill_packed

    layout = Layout(3, blocks, split=4, parts=1 + (blocks == 3))
    keys, ids = np.random.default_rng(3).integers(0, 2**64, (2, 3000), dtype=np.uint64)
    keys[::2] >>= np.uint64(15)  # share their first bits: these buckets are split, and deep
    ids[::2] >>= np.uint64(20)

    async def call(uri: str) -> None:
        async with RedisStore(uri, StoreOptions(), layout=layout) as store:
            pages = [
                Page(id=i, fingerprint=f) for i, f in zip(ids.tolist(), keys.tolist(), strict=True)
            ]
            verdicts = await asyncio.gather(*map(store.check_and_add, pages))
            assert {verdict.decision for verdict in verdicts} == {"new"}
            await asyncio.gather(*(store.confirm(page.id) for page in pages))

    def held(server: RedisServer) -> dict[bytes, dict[bytes, bytes]]:
        client = server.client()
        fields = {key: client.hgetall(key) for key in client.scan_iter("nd:default:*", count=1000)}
        fields.pop(b"nd:default:schema", None)
        for key, values in fields.items():
            if b":page:" in key:
                values |= {name: timeless(value) for name, value in values.items()}
        return fields

    def timeless(bucket: bytes) -> bytes:
        """Without when its pages were seen, the last 4 bytes of each 15."""
        return b"".join(bucket[at : at + 11] for at in range(0, len(bucket), 15))

    with RedisServer() as one, RedisServer() as other:
        asyncio.run(call(one.uri))
        fill_packed(other.client(), prefix("default"), layout, keys, ids)
        assert held(one) == held(other)
