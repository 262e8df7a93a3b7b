"""The sketches of all shards, by the numbers of documents, read as they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.dedupe.sketching import BINS
from scrapy_neardup.offline.readers.record import reading
from scrapy_neardup.offline.readers.remote import opened

Integers = NDArray[np.int64]

_WINDOW = 1 << 14
"""Number of documents that are read at once."""


class SketchFiles:
    """The documents of all shards, numbered from 0 in their order.

    Parameters
    ----------
    targets
        Paths without ending, one a shard, as in `sketching.SketchTask`.
    counts
        Number of documents of each.
    head_type
        See `sketching.head_type`.
    """

    def __init__(
        self, targets: Sequence[str], counts: Sequence[int], head_type: np.dtype[np.void]
    ) -> None:
        self.targets = targets
        self.starts = np.array([0, *accumulate(counts)], np.int64)
        self._head_type = head_type

    def __len__(self) -> int:
        return int(self.starts[-1])

    def span(self, shard: int) -> tuple[int, int]:
        """Return the range of a shard's documents: the first, and the one after the last."""
        return int(self.starts[shard]), int(self.starts[shard + 1])

    def windows(self) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Yield the heads of all documents, some at a time, and the number of the first."""
        for shard in range(len(self.targets)):
            for first in range(*self.span(shard), _WINDOW):
                yield first, self._window(shard, first, ".head", self._head_type)

    def heads(self, documents: Integers) -> NDArray[np.void]:
        """Return the heads of documents, in the order given."""
        return self._gathered(documents, ".head", self._head_type)

    def bins(self, documents: Integers) -> NDArray[np.uint8]:
        """Return the sketches of documents, shape (documents, `BINS`)."""
        kind = np.dtype((np.uint8, (BINS,)))
        return self._gathered(documents, ".bins", kind)

    def names(self, documents: Integers) -> list[str]:
        """Return the names of documents."""
        return [part.decode() for part in self._parts(documents, "name", ".names", 1)]

    def shingles(self, documents: Integers) -> list[NDArray[np.uint64]]:
        """Return the distinct shingles of documents."""
        parts = self._parts(documents, "shingles", ".shingles", 8)
        return [np.frombuffer(part, "<u8").astype(np.uint64, copy=False) for part in parts]

    def shard_of(self, documents: Integers) -> Integers:
        """Return the number of each document's shard."""
        return np.searchsorted(self.starts, documents, side="right") - 1

    def _gathered(self, documents: Integers, ending: str, kind: np.dtype[Any]) -> NDArray[Any]:
        found = np.empty(len(documents), kind)
        order = np.argsort(documents, kind="stable")
        wanted = documents[order]
        at = 0
        while at < len(wanted):
            shard = int(self.shard_of(wanted[at : at + 1])[0])
            start = int(self.starts[shard])
            first = start + (int(wanted[at]) - start) // _WINDOW * _WINDOW
            window = self._window(shard, first, ending, kind)
            until = int(np.searchsorted(wanted, first + len(window)))
            found[order[at:until]] = window[wanted[at:until] - first]
            at = until
        return found

    def _window(self, shard: int, first: int, ending: str, kind: np.dtype[Any]) -> NDArray[Any]:
        count = min(_WINDOW, int(self.starts[shard + 1]) - first)
        base, shape = kind.base, kind.shape
        content = self._bytes(
            shard, ending, (first - int(self.starts[shard])) * kind.itemsize, count * kind.itemsize
        )
        return np.frombuffer(content, base).reshape(count, *shape)

    def _parts(self, documents: Integers, column: str, ending: str, each: int) -> list[bytes]:
        """Return the parts of a file for documents, which end as a column of the heads says."""
        shards = self.shard_of(documents)
        before = np.maximum(documents - 1, self.starts[shards])
        ends, starts = self.heads(documents)[column], self.heads(before)[column]
        starts[before == documents] = 0
        found = [b""] * len(documents)
        for shard in np.unique(shards).tolist():
            path = self.targets[shard] + ending
            with reading(path), opened(path) as file:
                for index in np.flatnonzero(shards == shard).tolist():
                    file.seek(int(starts[index]) * each)
                    found[index] = file.read(int(ends[index] - starts[index]) * each)
        return found

    def _bytes(self, shard: int, ending: str, start: int, size: int) -> bytes:
        path = self.targets[shard] + ending
        with reading(path), opened(path) as file:
            file.seek(start)
            return file.read(size)
