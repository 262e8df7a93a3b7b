"""Documents that repeat a page of a store or a packed file, and kept ones to add to it.

Documents are analysed as by `scan`. Each shard has two more files: the data that a store keeps of
its documents, and the documents that repeat a page of the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.offline.files.storedpages import SCANNED, printed
from scrapy_neardup.offline.jobs.knownpages import KnownPages, scanned_pages
from scrapy_neardup.offline.jobs.scanning import analyse_all
from scrapy_neardup.offline.readers.files import FoundPage, batches, exists, objects, written
from scrapy_neardup.verdict import Page

PAGES, KNOWN = ".pages", ".known"
"""Extensions of the two files of a shard, which are JSON lines."""
_BATCH = 64
"""Number of pages passed to a store at once."""


def page_lines(records: Iterable[FoundPage], analyser: Analyser) -> bytes:
    """Return the data that a store keeps of each document that can be judged, as lines."""
    return b"".join(
        json.dumps(
            {
                "row": record.row,
                "page": record.page,
                "fingerprint": f"{page.fingerprint:016x}",
                "tokens": page.tokens,
                **printed(page, analyser.parameters),
            }
        ).encode()
        + b"\n"
        for record, page in analyse_all(records, analyser)
        if isinstance(page, Page)
    )


def find_known(known: KnownPages, targets: Sequence[str]) -> None:
    """Write for each shard (a path without extension) which documents repeat a known page."""
    for target in targets:
        if exists(target + KNOWN) or not exists(target + PAGES):
            continue
        with written(target + KNOWN) as file:
            for rows, pages in _pages(target, known):
                for row, match in zip(rows, known.find(pages), strict=True):
                    if match is not None:
                        line = {
                            "row": row,
                            "of": match.url or f"{match.page_id:016x}",
                            "distance": match.distance,
                            "resemblance": match.resemblance,
                        }
                        file.write(json.dumps(line).encode() + b"\n")


def add_kept(known: KnownPages, target: str, kept: NDArray[np.int64]) -> None:
    """Add the documents of a shard in these rows, ascending; those already added stay."""
    for rows, pages in _pages(target, known):
        is_kept = np.isin(rows, kept).tolist()
        known.add([page for page, keep in zip(pages, is_kept, strict=True) if keep])


def _pages(target: str, known: KnownPages) -> Iterator[tuple[list[int], list[Page]]]:
    """Yield the rows and pages of a shard, some at a time."""
    schema = known.parameters.schema()
    for batch in batches(objects(target + PAGES, SCANNED), _BATCH):
        found = [(where, line | {"schema": schema}) for where, line in batch]
        pages = (page for _, page in scanned_pages(found, known.parameters))
        rows = [line["row"] for _, line in batch]
        yield rows, [page for page in pages if isinstance(page, Page)]


def known_lines(target: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a shard's documents that repeat a known page, in order."""
    if exists(target + KNOWN):
        for _, line in objects(target + KNOWN, "a document that is known"):
            yield line
