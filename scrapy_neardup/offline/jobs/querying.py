"""Queries for the pages of a collection or packed file that are like a page or a text."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any, Self
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError, StoreMismatchError
from scrapy_neardup.fingerprints.batch import BINS, byte_sketches, estimated, shingles_of_each
from scrapy_neardup.fingerprints.hashing import token_hashes_of_each
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.sketch import Sketch, overlap
from scrapy_neardup.offline.execution import left_of
from scrapy_neardup.offline.jobs.scanning import analyse
from scrapy_neardup.offline.readers.files import FoundPage, batches
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.stores.packfile import open_packed
from scrapy_neardup.tables.packed import PackedIndex
from scrapy_neardup.verdict import Verdict

LEAST = 0.1
"""Default minimum resemblance, as sketches of unrelated documents agree in some bins by chance."""
_BATCH, _WINDOW = 256, 1 << 16
"""Number of documents that are sketched or compared at once."""
_COMPARED = 1 << 12
"""Maximum number of pages with one fingerprint or feature that are compared."""


class Index:
    """Sketches of documents, added by name and text, with queries for those that resemble a text.

    It holds the name of each document and a sketch of 256 bytes, on disk if these exceed half of
    `memory` (bytes). A query compares with all of them, so none is missed: O(n). The standard
    error of a resemblance is .019 at .9.

    >>> index = Index([("a", "one two three four five"), ("b", "six seven eight nine")])
    >>> index.query("one two three four five", top=1)
    [('a', 1.0)]
    """

    def __init__(
        self,
        documents: Iterable[tuple[str, str]],
        shingle_size: int = 4,
        *,
        memory: int = 1 << 30,
    ) -> None:
        self._size = shingle_size
        self._names: list[str] = []
        self._file = SpooledTemporaryFile(left_of(memory, 0) // 2)  # noqa: SIM115  (`finalize`)
        finalize(self, self._file.close)
        for batch in batches(documents, _BATCH):
            names, texts = zip(*batch, strict=True)
            sketches, has_words = self._sketched(texts)
            self._names += [name for name, has in zip(names, has_words, strict=True) if has]
            self._file.write(sketches[has_words].tobytes())

    def query(
        self, text: str, top: int, min_resemblance: float = LEAST
    ) -> list[tuple[str, float]]:
        """Return up to `top` documents that a text resembles most, nearest and earliest first.

        Each comes as its name and its resemblance, from `min_resemblance` to 1. A text without
        words resembles none.
        """
        (sketch,), (has_words,) = self._sketched([text])
        if not has_words:
            return []
        found: list[tuple[float, int]] = []
        for first, sketches in self._windows():
            shares = estimated(sketch, sketches)
            order = np.argsort(-shares, kind="stable")[:top]
            near = zip((-shares[order]).tolist(), (first + order).tolist(), strict=True)
            found = heapq.nsmallest(top, [*found, *near])
        return [(self._names[each], -share) for share, each in found if -share >= min_resemblance]

    def _windows(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        self._file.seek(0)
        for first in range(0, len(self._names), _WINDOW):
            content = self._file.read(_WINDOW * BINS)
            yield first, np.frombuffer(content, np.uint8).reshape(-1, BINS)

    def _sketched(self, texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return sketches, and the mask of texts with words."""
        tokens, counts = token_hashes_of_each(texts)
        hashes, numbers = shingles_of_each(tokens, counts, self._size)
        return byte_sketches(hashes, numbers), counts > 0


class PackedQueries:
    """Queries for the pages of a packed file that are like a page; open it with `opened`.

    A queried page is read and fingerprinted like those of the file, with the parameters that the
    file records. The query finds pages within `max_distance` bits, and by resemblance also pages
    with a common feature. With the default eight features 99 % of pairs with a resemblance of .9
    have one, and 77 % at .8.
    """

    def __init__(self, index: PackedIndex, parameters: Parameters) -> None:
        self._index, self._analyser = index, Analyser(parameters)
        records = index.records
        self._sizes = (0, 0)
        if records is not None:
            self._sizes = records.shape["text_bits"], records.shape["named_bits"]

    @classmethod
    def opened(cls, path: str, **changed: Any) -> Self:
        """Open a packed file of any size by `mmap`, in milliseconds.

        `changed` are the options of `Parameters` that the file records only as digests: `ignore`,
        `hash_key`, and functions. Raises `InputError` if the file can't be read, and
        `StoreMismatchError` if its pages were read in another way.
        """
        index = open_packed(path)
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
        asked = analyse(page, self._analyser)
        if isinstance(asked, Verdict):
            raise InputError(f"{page.page}: can't be asked for: {asked.reason}")
        assert isinstance(asked, AnalysedPage)  # noqa: S101  (for the type checker)
        index = self._index
        # Of a million copies of a page some are enough.
        most = top if min_resemblance is None else max(top, _COMPARED)
        rows = {
            row: distance
            for distance, _, equal in index.near(asked.fingerprint, max_distance)
            for row in equal[:most]
        }
        records = index.records
        if min_resemblance is None:
            near = sorted((distance, row) for row, distance in rows.items())[:top]
            return [(index.rows.name(row), distance, None) for distance, row in near]
        if records is None or not self._sizes[0]:
            raise StoreMismatchError("the packed file has no sketches: ask by distance alone")
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
    size = shape.get("feature_size")
    if size and shape["text_bits"]:
        known["features"] = shape["features"] - 1, size, shape["shared_features"]
        known["sketch"] = shape["text_bits"], shape["named_bits"]
    else:
        known |= {"method": "simhash", "min_resemblance": 0.0}
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
            f"{path}: its pages were read with another {' and '.join(differing)} than a query is;"
            f" give {', '.join(hint.get(name, name) for name in differing)} as scan had it"
        )
    return parameters
