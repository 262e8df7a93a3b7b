"""Sources of fingerprints: rows, numbered from 0, optionally with a name and a page id."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError, StoreMismatchError
from scrapy_neardup.offline.readers.files import identity, stamp
from scrapy_neardup.tables.packed.rows import Unpacked

Name = int | str
"""Name of a row: its page or URL, a page id in hexadecimal, or its number."""


class Source:
    """The rows of a file: `fingerprints`, and `names` and `ids` if its kind of file has them.

    Its length is the number of rows. `schema` is the parameters that made the fingerprints, if
    they were recorded; `stored` the records and features of the rows, if it has them.
    """

    length: int
    schema: Mapping[str, Any] | None = None
    stored: Unpacked | None = None
    has_names: bool = False
    """Whether rows have names other than their numbers."""

    def __len__(self) -> int:
        return self.length

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the fingerprints of rows `start` to `stop`."""
        raise NotImplementedError

    def names(self, start: int, stop: int) -> Sequence[Name]:
        """Return the names of these rows."""
        return range(start, stop)

    def names_of(self, rows: NDArray[np.int64]) -> list[Name]:
        """Return the names of rows in any order; shape (n,)."""
        distinct, indexes = np.unique(rows, return_inverse=True)
        names = [self.names(row, row + 1)[0] for row in distinct.tolist()]
        return [names[index] for index in indexes.tolist()]

    def ids(self) -> NDArray[np.uint64] | None:
        """Return the recorded page ids of all rows, or else ids made from their names."""
        if not self.has_names:
            return None
        from scrapy_neardup.judge.analysis import page_id  # noqa: PLC0415  (it imports lxml)

        names = self.names(0, len(self))
        return np.array([page_id(identity(str(name))) for name in names], np.uint64)

    def parts(self, start: int, size: int) -> Iterator[RowRange]:
        """Yield all rows from `start` on, `size` at a time, each within one file."""
        for first in range(start, len(self), size):
            yield RowRange(first, self, first, min(first + size, len(self)))


class RowRange(NamedTuple):
    """Some rows of a source, readable in any process; `row` is the number of the first."""

    row: int
    source: Source
    start: int
    stop: int

    def read(self) -> NDArray[np.uint64]:
        """Return the fingerprints."""
        return self.source.fingerprints(self.start, self.stop)


class FileSource(Source):
    """A source that other processes can open by its path, too."""

    def __init__(self, path: str, *options: Any) -> None:
        self.path, self.stamp, self._options = path, stamp(path), options

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (type(self), self.path, self.stamp, *self._options)


class Chain(Source):
    """Several sources as one, with consecutive rows; made with the same parameters."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._starts = [0, *accumulate(map(len, sources))]
        self.length = self._starts[-1]
        self.schema = common_schema(sources)
        self.has_names = any(source.has_names for source in sources)
        if shape := common_shape(sources):
            columns = shape.get("features", 0)
            self.stored = Unpacked(shape, self._record, self._features, columns)

    def parts(self, start: int, size: int) -> Iterator[RowRange]:
        """See `Source.parts`."""
        for source, first in zip(self._sources, self._starts, strict=False):
            for part in source.parts(max(start - first, 0), size):
                yield part._replace(row=part.row + first)

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        """See `Source.fingerprints`."""
        found = [source.fingerprints(*rows) for source, rows in self._within(start, stop)]
        return np.concatenate([np.empty(0, np.uint64), *found])

    def names(self, start: int, stop: int) -> Sequence[Name]:
        """See `Source.names`; rows without a name have their number in the whole."""
        if not self.has_names:
            return range(start, stop)
        names: list[Name] = []
        for source, (low, high) in self._within(start, stop):
            first = start + len(names)
            numbers = range(first, first + high - low)
            names += source.names(low, high) if source.has_names else numbers
        return names

    def ids(self) -> NDArray[np.uint64] | None:
        """See `Source.ids`; None if any of the sources has none."""
        found = [source.ids() for source in self._sources if len(source)]
        known = [ids for ids in found if ids is not None]
        return np.concatenate(known) if known and len(known) == len(found) else None

    def _record(self, row: int) -> bytes:
        number = bisect_right(self._starts, row) - 1
        stored = self._sources[number].stored
        return stored.record(row - self._starts[number]) if stored else b""

    def _features(self, column: int) -> NDArray[np.uint64]:
        found = [
            source.stored.features(column)
            if source.stored and source.stored.columns
            else np.zeros(len(source), np.uint64)
            for source in self._sources
        ]
        return np.concatenate([np.empty(0, np.uint64), *found])

    def _within(self, start: int, stop: int) -> Iterator[tuple[Source, tuple[int, int]]]:
        for number, rows in within(self._starts, start, stop):
            yield self._sources[number], rows


def within(starts: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield each part that has some of the rows `start` to `stop`: its number, and its own rows.

    Part n has the rows from ``starts[n]`` to ``starts[n + 1]``.
    """
    for number in range(bisect_right(starts, start) - 1, len(starts) - 1):
        first, end = starts[number : number + 2]
        if stop <= first:
            break
        if start < end:
            yield number, (max(start - first, 0), min(stop, end) - first)


def common_schema(sources: Sequence[Source]) -> Mapping[str, Any] | None:
    """Return the parameters of the fingerprints of all `sources`, which must not differ."""
    schemas = [source.schema for source in sources if source.schema is not None]
    for schema in schemas[1:]:
        _check_equal(schemas[0], schema, "their fingerprints were made with another")
    return schemas[0] if schemas else None


def common_shape(sources: Sequence[Source]) -> Mapping[str, int] | None:
    """Return the shape of all records, which must not differ; None if a source has no records."""
    found: dict[str, int] = {}
    for source in sources:
        shape = source.stored.parameters if source.stored else {}
        known = {key: found[key] for key in shape.keys() & found.keys()}
        _check_equal(known, {key: shape[key] for key in known}, "of their features and sketches")
        found |= shape
    return found if all(source.stored for source in sources if len(source)) else None


def _check_equal(one: Mapping[str, Any], other: Mapping[str, Any], what: str) -> None:
    differing = ", ".join(
        f"{key} ({one.get(key)!r}, {other.get(key)!r})"
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    )
    if differing:
        raise StoreMismatchError(f"the inputs can't be compared: {what} {differing}")


@lru_cache(maxsize=64)  # files held open
def _reopened(kind: type[FileSource], path: str, found: tuple[int, str], *options: Any) -> Source:
    if stamp(path) != found:
        raise InputError(f"{path}: was changed while it was read")
    return kind(path, *options)
