"""Pages into a store before a crawl.

They are treated as in a crawl, through `Store.check_and_add`, so the store is one that a crawl
could have left. A page that is there already is SEEN, so that loading again changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scrapy_neardup.decision.evidence import stored_size
from scrapy_neardup.errors import ConfigurationError, InputError, StoreMismatchError
from scrapy_neardup.fingerprints.hashing import salt
from scrapy_neardup.offline.files.storedpages import SCANNED, Stored, read_stored
from scrapy_neardup.offline.jobs.scanning import Analysed, judge
from scrapy_neardup.offline.readers.files import objects
from scrapy_neardup.pipeline.analysis import AnalysedPage, page_id, scope_of
from scrapy_neardup.pipeline.detector import Detector
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores import Matching
from scrapy_neardup.stores.packed import SHAPE
from scrapy_neardup.urls import Address, identity, redact
from scrapy_neardup.verdict import Decision, Page

Row = tuple[str, Mapping[str, Any]]
"""Where a line stands that scan printed of a page that was judged, and the line."""


def scanned_rows(path: str) -> Iterator[Row]:
    """Yield the JSON lines that scan printed of judged pages; ``-`` is standard input."""
    for where, line in objects(path, SCANNED):
        if line.get("fingerprint", "") is not None:
            yield where, line


def scanned_pages(rows: Iterable[Row], parameters: Parameters) -> Generator[Analysed]:
    """Yield the pages of lines that scan printed with the same parameters.

    Their text is gone, and with it what the pages of a site share: titles that say nothing, or
    differ, are outweighed by equal text alone, as on a site of which nothing is known.
    """
    if str(parameters.scope).endswith("language"):
        raise ConfigurationError(
            "what scan prints doesn't say languages: load the pages themselves, or use a --scope"
            " without language"
        )
    schema = parameters.schema()
    for where, line in rows:
        with _explained(where):
            stored = read_stored(line)
            _compare(line["schema"], schema, where)
            page = line["page"], _page(line, stored, parameters)
        yield page


@contextmanager
def _explained(where: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{where}: not {SCANNED} ({type(error).__name__}: {error})") from error


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
        differing = "; ".join(
            f"{key} is {theirs.get(key)!r} there and {ours.get(key)!r} here"
            for key in sorted({*theirs, *ours})
            if theirs.get(key) != ours.get(key)
        )
        raise StoreMismatchError(
            f"{where}: its fingerprint was made with other parameters: {differing}. Give the"
            " options that scan had"
        )


async def load_batch(pages: Iterable[Analysed], detector: Detector) -> Counter[Decision]:
    """Judge `pages` and confirm those that are new, all at the same time.

    Across a network either of two near-duplicates of one batch may be kept; exactly one is.
    """
    verdicts = await asyncio.gather(*(judge(page, detector) for _, page in pages))
    return Counter(verdict.decision for verdict in verdicts)
