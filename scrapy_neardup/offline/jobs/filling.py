"""A store in the verbs of the command: opening it, and adding pages.

Pages that are loaded before a crawl go through `Store.check_and_add`, as in a crawl, so a crawl
could have left the same store. A page that the store already has is SEEN, so loading again
changes nothing.
"""

from __future__ import annotations

import asyncio
from asyncio import Runner
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from scrapy_neardup.errors import (
    ConfigurationError,
    StoreError,
    StoreUnavailableError,
)
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.scanning import Analysed, judge
from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.verdict import Decision


@contextmanager
def opened_store(
    uri: str, namespace: str, parameters: Parameters, *, expected_pages: int = 1_000_000
) -> Iterator[tuple[Store, Runner, Parameters]]:
    """Yield an open store, a runner of its calls, and the parameters with the store's key.

    A store in memory has the public key unless another one is given, so that its output is
    comparable with other runs.
    """
    hash_key = parameters.hash_key
    if hash_key is None and uri.lower().startswith("memory:"):
        hash_key = PUBLIC_KEY
    store = open_store(
        uri,
        namespace=namespace,
        max_distance=parameters.max_distance,
        expected_pages=expected_pages,
        hash_key=hash_key,
        schema=parameters.schema(),
        matching=parameters.matching,
    )
    with Runner() as runner:
        try:
            runner.run(store.open())
        except StoreUnavailableError:
            raise  # a server that may answer later
        except StoreError as error:
            raise ConfigurationError(str(error)) from error  # the command line names it
        try:
            yield store, runner, replace(parameters, hash_key=hash_key or store.key)
        finally:
            runner.run(store.close())


async def load_batch(pages: Iterable[Analysed], detector: Detector) -> Counter[Decision]:
    """Judge `pages` at the same time, and confirm the new ones.

    Exactly one of two near-duplicates of a batch is kept; across a network it may be either.
    """
    verdicts = await asyncio.gather(*(judge(page, detector) for _, page in pages))
    return Counter(verdict.decision for verdict in verdicts)
