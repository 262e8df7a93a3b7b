"""The pages of a store or a packed file: opening them, looking pages up, adding pages.

Pages that are loaded before a crawl go through `Store.check_and_add`, as in a crawl, so a crawl
could have left the same store. A page that the store already has is SEEN, so loading again
changes nothing.
"""

from __future__ import annotations

import asyncio
from asyncio import Runner
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from scrapy_neardup.errors import (
    ConfigurationError,
    InputError,
    StoreError,
    StoreMismatchError,
    StoreUnavailableError,
)
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.fingerprints.hashing import salt
from scrapy_neardup.judge.analysis import AnalysedPage, page_id, scope_of
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.evidence import stored_size
from scrapy_neardup.judge.knowledge import Context
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.files.storedpages import Row, Stored, explained, read_stored
from scrapy_neardup.offline.jobs.scanning import Analysed, judge
from scrapy_neardup.offline.readers.files import identity
from scrapy_neardup.stores import SCHEMES, Matching, Store, open_store
from scrapy_neardup.stores.base import differences
from scrapy_neardup.stores.packed import SHAPE, LayeredStore, PackedPages
from scrapy_neardup.stores.packfile import open_packed
from scrapy_neardup.urls import Address, redact, redact_store
from scrapy_neardup.verdict import Candidate, Decided, Decision, Match, Page, Verdict

PACKED = ".pack"
"""Extension of a packed file."""

_PROBE = page_id(b"scrapy-neardup: a page that is asked for")
"""Page id of every page that is looked up; it is withdrawn before the next one."""


def holds_pages(path: str) -> bool:
    """Return whether `path` is a packed file or the URI of a store, not a file of documents."""
    scheme, colon, _ = path.partition(":")
    is_store = bool(colon) and scheme.lower() in SCHEMES and scheme.lower() != "memory"
    return is_store or path.endswith(PACKED)


@contextmanager
def opened_store(
    uri: str, namespace: str, parameters: Parameters, *, expected_pages: int = 1_000_000
) -> Iterator[tuple[Store, Runner, Parameters]]:
    """Yield an open store, a runner of its calls, and the parameters with the store's key.

    A store in memory has the public key unless another one is given, so that its output is
    comparable with other runs. A packed file is the base of a store in memory.
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
    """The pages of an open store, compared by stored evidence alone, without learning.

    So the results don't depend on earlier look-ups. No crawl may use the namespace meanwhile,
    because each page is in the store while it is looked up.
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
        """Return the stored page that each of some pages repeats; the store doesn't change."""
        found = []
        for page in pages:
            verdict = self._judged(replace(page, id=_PROBE))
            if verdict.decision is Decision.NEW:
                self._runner.run(self._store.forget(_PROBE))
            found.append(verdict.match if verdict.is_duplicate else None)
        return found

    def add(self, pages: Sequence[Page]) -> None:
        """Add the pages that repeat no other one; pages that the store already has stay."""
        for page in pages:
            # One that was seen may be that of a run that was killed before it was confirmed.
            if self._judged(page).decision in (Decision.NEW, Decision.SEEN):
                self._runner.run(self._store.confirm(page.id))

    def _judged(self, page: Page) -> Verdict:
        known = deciding(page, self.parameters.matching, self._context)

        def decide(candidate: Candidate) -> Decided:
            if candidate.page_id == _PROBE:  # what a run that was killed has left
                return Decided(is_same=False, rule="")
            return known(candidate)

        return self._runner.run(self._store.check_and_add(page, decide))


def scanned_pages(rows: Iterable[Row], parameters: Parameters) -> Generator[Analysed]:
    """Yield the pages in lines printed by scan with the same parameters.

    These lines have no text, and so no knowledge about sites. Pages with different titles, or
    titles that say nothing, match only if their texts are equal, as on an unknown site.
    """
    if str(parameters.scope).endswith("language"):
        raise ConfigurationError(
            "what scan prints doesn't say languages: load the pages themselves, or use a --scope"
            " without language"
        )
    schema = parameters.schema()
    for where, line in rows:
        with explained(where):
            stored = read_stored(line)
            _compare(line["schema"], schema, where)
            page = line["page"], _page(line, stored, parameters)
        yield page


def _page(row: Mapping[str, Any], stored: Stored, parameters: Parameters) -> Page:
    name, tokens = row["page"], row["tokens"]
    fingerprint = int(row["fingerprint"], 16)
    if type(tokens) is not int or not 0 <= fingerprint < 1 << 64:
        raise ValueError("tokens or fingerprint is out of its range")
    exact = tokens < parameters.min_tokens and not parameters.matching.sketch
    _check_stored(stored, parameters.matching, exact=exact)
    return AnalysedPage(
        id=page_id(identity(name)),
        fingerprint=fingerprint,
        exact=exact,
        scope=scope_of(name, parameters.scope, ""),
        url=redact(name),
        tokens=tokens,
        features=stored.features,
        evidence=stored.evidence,
        address=Address.of(name, salt(parameters.hash_key)),
    )


def _check_stored(stored: Stored, matching: Matching, *, exact: bool) -> None:
    """Refuse, with a ValueError, a page whose features or sketch a store can't compare."""
    wanted = {key: getattr(matching, key) for key in SHAPE}
    if exact:
        wanted = {key: wanted[key] for key in ("text_bits", "named_bits")}
    for key, value in wanted.items():
        if stored.shape.get(key, 0) != value:
            raise ValueError(
                f"of its features and sketch, {key} is {stored.shape.get(key, 0)} and must be"
                f" {value}; scan with the options of load"
            )
    size = stored_size(matching.sketch) if matching.sketch else 0
    if len(stored.evidence) != size:
        raise ValueError(f"its sketch has {len(stored.evidence)} bytes and must have {size}")


def _compare(theirs: Mapping[str, Any], ours: Mapping[str, str | int | float], where: str) -> None:
    if theirs != ours:
        raise StoreMismatchError(
            f"{where}: its fingerprint was made with other parameters:"
            f" {differences(theirs, ours)}. Give the options that scan had"
        )


async def load_batch(pages: Iterable[Analysed], detector: Detector) -> Counter[Decision]:
    """Judge `pages` at the same time, and confirm the new ones.

    Exactly one of two near-duplicates of a batch is kept; across a network it may be either.
    """
    verdicts = await asyncio.gather(*(judge(page, detector) for _, page in pages))
    return Counter(verdict.decision for verdict in verdicts)
