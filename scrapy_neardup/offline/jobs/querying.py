"""Queries for the pages of a collection or packed file that are like a page or a text."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from scrapy_neardup.errors import InputError, StoreMismatchError
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.sketch import Sketch, overlap
from scrapy_neardup.offline.execution import left_of
from scrapy_neardup.offline.files.fingerprintfiles import packed_at
from scrapy_neardup.offline.jobs.joining import Shingles
from scrapy_neardup.offline.jobs.scanning import analyse
from scrapy_neardup.offline.readers.files import FoundPage, batches
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.tables.arrays import ranges
from scrapy_neardup.tables.packed import PackedIndex
from scrapy_neardup.verdict import Page, Verdict

LEAST = 0.1
"""Default minimum resemblance."""
_WINDOW = 1 << 16
"""Maximum number of documents that are compared at once."""
_HASH_BYTES = 80
"""Bytes of memory that a hash of these documents takes, if a text shares all of them."""
_COMPARED = 1 << 12
"""Maximum number of pages with one fingerprint or feature that are compared."""


def nearest(
    asked: Iterable[str],
    documents: Iterable[tuple[str, str]],
    *,
    shingle_size: int = 4,
    top: int = 10,
    min_resemblance: float = LEAST,
    memory: int = 1 << 30,
) -> list[list[tuple[str, float]]]:
    """Return for each queried text the `documents` that it resembles most.

    Documents have a name and a text. Up to `top` are returned as name and resemblance, from
    `min_resemblance` to 1, the nearest and earliest first. A text without words resembles none.
    The result is exact: all shingles are compared. Documents are read once, as many at a time as
    `memory` (bytes) has room for; the queried texts take 8 bytes a word. O(n log n) for n words of
    the documents, and for each text O(its words * log n) and what it shares with them.

    >>> nearest(["one two three four five"], [("a", "one two three four five"), ("b", "six")])
    [[('a', 1.0)]]
    """
    shingles = Shingles(size=shingle_size)
    texts = [shingles(text)[1] for text in asked]
    best: list[list[tuple[float, int, str]]] = [[] for _ in texts]
    made = ((name, shingles(text)[1]) for name, text in documents)
    most = max(1, left_of(memory, 0) // _HASH_BYTES)
    first = 0
    for window in batches(made, _WINDOW, lambda each: len(each[1]), most):
        names, sets = zip(*window, strict=True)
        sizes = np.array([len(each) for each in sets])
        hashes, owners = np.concatenate(sets), np.repeat(np.arange(len(sets)), sizes)
        order = np.argsort(hashes)
        hashes, owners = hashes[order], owners[order]
        for number, own in enumerate(texts):
            if not len(own):
                continue
            low, high = (np.searchsorted(hashes, own, side) for side in ("left", "right"))
            shared = np.bincount(owners[ranges(low, high - low)], minlength=len(sets))
            shares = shared / (len(own) + sizes - shared)
            near = np.argsort(-shares, kind="stable")[:top]
            near = near[shares[near] >= min_resemblance]
            found = zip((-shares[near]).tolist(), (first + near).tolist(), strict=True)
            rows = [(share, place, names[place - first]) for share, place in found]
            best[number] = heapq.nsmallest(top, best[number] + rows)
        first += len(names)
    return [[(name, -share) for share, _, name in rows] for rows in best]


class PackedQueries:
    """Queries for the pages of a packed file that are like a page; open it with `opened`.

    A queried page is read and fingerprinted like those of the file, with the parameters that the
    file records. The query finds pages within `max_distance` bits, and by resemblance also pages
    with a common feature. With the default eight features 99 % of pairs with a resemblance of .9
    have one, and 77 % at .8.
    """

    def __init__(self, index: PackedIndex, parameters: Parameters) -> None:
        self._index, self._analysers = index, [Analyser(parameters)]
        shape = index.records.shape if index.records else {"text_bits": 0, "named_bits": 0}
        self._sizes = shape["text_bits"], shape["named_bits"]
        if not self._sizes[0]:
            # pack left them out, or scan made none; then short pages have other fingerprints.
            unconfirmed = replace(parameters, method="simhash", min_resemblance=0.0)
            self._analysers.append(Analyser(unconfirmed))

    @classmethod
    def opened(cls, path: str, **changed: Any) -> Self:
        """Open a packed file of any size by `mmap`, in milliseconds.

        `changed` are the options of `Parameters` that the file records only as digests: `ignore`,
        `hash_key`, and functions. Raises `InputError` if the file can't be read, and
        `StoreMismatchError` if its pages were read in another way.
        """
        index = packed_at(path)
        if index.schema is None:  # raw fingerprints, supposed to be those of scan by default
            return cls(index, Parameters(**changed))
        shape = {} if index.records is None else dict(index.records.shape)
        return cls(index, _parameters(index.schema, shape, changed, path))

    def query(
        self,
        page: FoundPage,
        top: int,
        *,
        max_distance: int = 3,
        min_resemblance: float | None = None,
    ) -> list[tuple[str | int, int, float | None]]:
        """Return up to `top` pages: name (URL, else page id, else row), distance, resemblance.

        The nearest come first: by distance, without a resemblance; or, with a `min_resemblance`,
        by the resemblance of sketches. A file without sketches is a `StoreMismatchError` then. A
        page that can't be judged is an `InputError`.
        """
        asked, *others = (analyse(page, each) for each in self._analysers)
        if isinstance(asked, Verdict):
            raise InputError(f"{page.page}: can't be searched for: {asked.reason}")
        index = self._index
        # A few of a million copies of a page are enough.
        most = top if min_resemblance is None else max(top, _COMPARED)
        rows = {
            row: distance
            for each in (*others, asked)
            if isinstance(each, Page)
            for distance, _, equal in index.near(each.fingerprint, max_distance)
            for row in equal[:most]
        }
        records = index.records
        if min_resemblance is None:
            near = sorted((distance, row) for row, distance in rows.items())[:top]
            return [(index.rows.name(row), distance, None) for distance, row in near]
        if records is None or not self._sizes[0] or not isinstance(asked, AnalysedPage):
            raise StoreMismatchError("the packed file has no sketches: search by distance alone")
        found = []
        for column, feature in zip(records.postings, asked.features, strict=False):
            rows |= dict.fromkeys(column.rows(feature, most), -1)
        for row in rows:
            record = records[row]
            distance = (PACKED.unpack_from(record)[0] ^ asked.fingerprint).bit_count()
            share = self._resemblance(asked, record[PACKED.size :])
            if share >= min_resemblance:
                found.append((-share, distance, row))
        return [
            (index.rows.name(row), distance, -share)
            for share, distance, row in heapq.nsmallest(top, found)
        ]

    def _resemblance(self, asked: AnalysedPage, stored: bytes) -> float:
        if not stored:
            return 0.0
        theirs = Evidence.unpack(stored, self._sizes).sketches
        parts = [
            overlap(one, other, 0, size)
            for one, other, size in zip(asked.known.sketches, theirs, self._sizes, strict=True)
            if size and (one, other) != (_EMPTY, _EMPTY)
        ]
        return parts[0].resemblance if len(parts) == 1 else parts[0].plus(parts[1]).resemblance


_EMPTY = Sketch(0, 0)


def _parameters(
    schema: Mapping[str, Any], shape: Mapping[str, int], changed: Mapping[str, Any], path: str
) -> Parameters:
    """Return the parameters that a packed file records, with `changed` ones."""
    known: dict[str, Any] = {
        name: schema[name]
        for name in ("shingle_size", "weights", "text", "min_tokens", "permutations")
        if name in schema
    }
    known["scope"], known["min_resemblance"] = "all", 1.0 if schema.get("exact") else 0.9
    size, has_sketches = shape.get("feature_size"), shape.get("text_bits")
    if has_sketches:
        known["sketch"] = shape["text_bits"], shape["named_bits"]
    if size and has_sketches:
        known["features"] = shape["features"] - 1, size, shape["shared_features"]
    else:
        known["method"] = "simhash"
    try:
        parameters = Parameters(**{**known, **changed})
    except ValueError as error:
        raise StoreMismatchError(f"{path}: {error}") from error
    ours = parameters.schema()
    differing = [
        name
        for name in sorted({*schema, *ours} - {"scope", "exact", "permutations"})
        if schema.get(name) != ours.get(name)
    ]
    if differing:
        hint = {"hash_key": "--hash-key", "ignore": "--ignore"}
        raise StoreMismatchError(
            f"{path}: its pages were read with another {' and '.join(differing)}; give"
            f" {', '.join(hint.get(name, name) for name in differing)} as for scan"
        )
    return parameters
