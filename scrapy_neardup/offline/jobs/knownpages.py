"""The pages of a store or a packed file: opened, asked for what a page repeats, and added to."""

from __future__ import annotations

from asyncio import Runner
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.decision.context import Context
from scrapy_neardup.errors import ConfigurationError, InputError, StoreError, StoreUnavailableError
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.pipeline.analysis import page_id
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores import SCHEMES, Store, open_store
from scrapy_neardup.stores.packed import LayeredStore, PackedPages
from scrapy_neardup.stores.packfile import open_packed
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Candidate, Decide, Decided, Decision, Match, Page

PACKED = ".pack"
"""Ending of the name of a packed file."""

_PROBE = page_id(b"scrapy-neardup: a page that is asked for")
"""Page id of every page that a store is asked about, which is withdrawn before the next one."""


def holds_pages(path: str) -> bool:
    """Whether `path` is a packed file or the URI of a store, and not a file of documents."""
    scheme, colon, _ = path.partition(":")
    is_store = bool(colon) and scheme.lower() in SCHEMES and scheme.lower() != "memory"
    return is_store or path.endswith(PACKED)


@contextmanager
def opened_store(
    uri: str, namespace: str, parameters: Parameters, *, expected_pages: int = 1_000_000
) -> Iterator[tuple[Store, Runner, Parameters]]:
    """Yield an open store, what runs its calls, and the parameters with the store's key.

    A store in memory has the public key unless another one is given, so that what is printed can
    be compared with other runs. A packed file is the base of a store in memory.
    """
    hash_key, base = parameters.hash_key, None
    if uri.endswith(PACKED):
        uri, base = "memory:", PackedPages(
            open_packed(uri),
            uri,
            max_distance=parameters.max_distance,
            schema=parameters.schema(),
            matching=parameters.matching,
        )  # fmt: skip
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
    if base is not None:
        store = LayeredStore(store, base)
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


class KnownPages:
    """The pages of an open store, compared by stored evidence alone: no site is learnt.

    So the answers don't depend on the pages that were asked about before. No crawl may be using
    the namespace, as each page is in the store while it is asked about.
    """

    def __init__(self, store: Store, runner: Runner, parameters: Parameters) -> None:
        self._store, self._runner, self.parameters = store, runner, parameters
        self._context = Context(
            min_resemblance=parameters.min_resemblance,
            titles=parameters.titles,
            is_exact=parameters.is_exact,
        )

    @classmethod
    @contextmanager
    def opened(
        cls, uri: str, namespace: str, parameters: Parameters, *, may_be_empty: bool
    ) -> Iterator[Self]:
        """Yield the pages of a store or packed file; see `opened_store`."""
        with opened_store(uri, namespace, parameters) as (store, runner, keyed):
            if not (may_be_empty or uri.endswith(PACKED) or runner.run(store.stats()).pages):
                raise InputError(
                    f"{redact_store(uri)}: there are no pages in its namespace {namespace!r};"
                    " is it another one?"
                )
            yield cls(store, runner, keyed)

    def find(self, pages: Sequence[Page]) -> list[Match | None]:
        """Return the stored page that each of some pages repeats; the store stays as it is."""
        return self._runner.run(self._find(pages))

    def add(self, pages: Sequence[Page]) -> None:
        """Add the pages that repeat no other one; those that are there already stay."""
        self._runner.run(self._add(pages))

    async def _find(self, pages: Sequence[Page]) -> list[Match | None]:
        found = []
        for page in pages:
            asked = replace(page, id=_PROBE)
            verdict = await self._store.check_and_add(asked, self._deciding(asked))
            if verdict.decision is Decision.NEW:
                await self._store.forget(_PROBE)
            found.append(verdict.match if verdict.is_duplicate else None)
        return found

    async def _add(self, pages: Sequence[Page]) -> None:
        for page in pages:
            verdict = await self._store.check_and_add(page, self._deciding(page))
            # One that was seen may be that of a run that was killed before it was confirmed.
            if verdict.decision in (Decision.NEW, Decision.SEEN):
                await self._store.confirm(page.id)

    def _deciding(self, page: Page) -> Decide:
        known = deciding(page, self.parameters.matching, self._context)

        def decide(candidate: Candidate) -> Decided:
            if candidate.page_id == _PROBE:  # what a run that was killed has left
                return Decided(is_same=False, rule="")
            return known(candidate)

        return decide
