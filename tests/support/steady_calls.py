"""A program that judges new pages, 64 at a time, and prints when each call ended.

    python steady_calls.py URI NAMESPACE

An empty line says that it has begun. It is told then, in a line, when to close the connections of
the store's client under its calls, and when to end, as seconds of ``CLOCK_MONOTONIC``, which all
processes of a machine share. Calls that fail don't count.
"""

from __future__ import annotations

import asyncio
import math
import sys
from contextlib import suppress
from itertools import count
from time import monotonic

from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Page


async def run(uri: str, namespace: str) -> None:
    until, ended = math.inf, []
    fingerprints = (n * 0x9E3779B97F4A7C15 % 2**64 for n in count(1))
    async with open_store(uri, namespace=namespace) as store:

        async def judge() -> None:
            while monotonic() < until:
                one = next(fingerprints)
                with suppress(StoreError):
                    await store.check_and_add(Page(id=one, fingerprint=one))
                    ended.append(monotonic())

        judging = asyncio.gather(*(judge() for _ in range(64)))
        print(flush=True)
        reset, until = map(float, (await asyncio.to_thread(sys.stdin.readline)).split())
        if reset < until:
            await asyncio.sleep(reset - monotonic())
            await store._client.aclose()
        await judging
    print(*ended)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
