"""The sketches of documents: the data that decisions need.

`sketch` writes the files of a shard: a head of each document with its sketch, its name, and its
shingles if they will be compared. `SketchFiles` reads the files of all shards on demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, groupby
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints.batch import minima_of_each, shingles_of_each
from scrapy_neardup.fingerprints.broder import group_digests
from scrapy_neardup.fingerprints.hashing import Integers, token_hashes_of_each
from scrapy_neardup.fingerprints.shingles import distinct
from scrapy_neardup.offline.dedupe.joboptions import DedupeOptions
from scrapy_neardup.offline.dedupe.jobplan import Shard, Task, write_json
from scrapy_neardup.offline.jobs.scanning import texts
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import REPEATED, FoundPage, Repeated

ENDINGS = ".head", ".names", ".shingles"
"""Extensions of the files of a shard's sketches."""
_BATCH_DOCUMENTS, _BATCH_CHARACTERS = 256, 1 << 22
"""Maximum number of documents, and of their characters, that are sketched at once."""
_WHOLE = 1 << 40
"""Size of a shingle with all tokens of any document."""


def head_type(options: DedupeOptions) -> np.dtype[np.void]:
    """Return the type of the head of a document.

    `row` is the number of its row, line, record or file in the shard, `tokens` the number of its
    words, `digest` a hash of them in their order, `rank` as in `Ranking`. Its name ends at `name`
    in the file of names; its `shingle_count` shingles begin at `shingles` in the file of shingles.
    """
    return np.dtype(
        [
            ("row", "<u4"),
            ("tokens", "<u4"),
            ("digest", "<u8"),
            ("rank", "<f8"),
            ("name", "<u8"),
            ("shingles", "<u8"),
            ("shingle_count", "<u4"),
            ("features", "<u8", (options.features.features,)),
        ]
    )


class Sketched(NamedTuple):
    """The result for a shard: documents, unreadable lines, and why the whole is unreadable."""

    documents: int
    bad_lines: int = 0
    skipped: str = ""


def sketch(options: DedupeOptions, task: Task) -> int:
    """Sketch a shard; return its number of documents."""
    sketcher = _Sketcher(options, task.shard)
    documents = texts(sketcher.records(), options.text, options.ignore)
    try:
        with ExitStack() as stack:
            targets = [stack.enter_context(files.written(task.target + end)) for end in ENDINGS]
            for batch in files.batches(
                documents, _BATCH_DOCUMENTS, lambda each: len(each[1]), _BATCH_CHARACTERS
            ):
                sketcher.write(batch, targets)
        result = Sketched(sketcher.documents, sketcher.bad_lines)
    except InputError as error:
        if not options.skip_bad:
            raise
        for ending in ENDINGS:
            with files.written(task.target + ending):
                pass
        result = Sketched(0, skipped=str(error))
    write_json(task.done, result)
    return result.documents


class _Sketcher:
    """Reads and sketches one shard, and counts its documents and unreadable lines."""

    def __init__(self, options: DedupeOptions, shard: Shard) -> None:
        self._options, self._shard, self._ranking = options, shard, options.ranking
        self._head_type = head_type(options)
        self._once: Repeated | None = None
        self.documents = self.bad_lines = self._name_bytes = self._shingles = 0

    def records(self) -> Iterator[FoundPage]:
        """Yield the documents; `skip_bad` leaves out unreadable ones."""
        if self._shard.kind != "pages":
            yield from Corpus(self._shard.paths, self._options.read_columns, self._unreadable)
            return
        for row, path in enumerate(self._shard.paths):
            try:
                (page,) = Corpus([path])
            except InputError as error:
                self._unreadable(error)
            else:
                yield replace(page, row=row)

    def _unreadable(self, error: InputError) -> None:
        if not self._options.skip_bad:
            raise error
        self.bad_lines += 1

    def write(self, batch: list[tuple[FoundPage, str]], targets: list[IO[bytes]]) -> None:
        """Write the sketches of some documents from their texts."""
        head, name, shingles = targets
        found: list[NDArray[np.void]] = []
        texts = (text for _, text in batch)
        for is_long, group in groupby(texts, lambda text: len(text) >= REPEATED):
            if is_long:
                self._once = self._once or Repeated(lambda text: self._sketched([text], shingles))
                found += map(self._once, group)
            else:
                found.append(self._sketched([*group], shingles))
        heads = np.concatenate(found)
        heads["row"] = [record.row for record, _ in batch]
        heads["rank"] = [
            -np.inf if self._shard.is_existing else self._rank(record, count)
            for (record, _), count in zip(batch, heads["tokens"].tolist(), strict=True)
        ]
        names = [
            (record.id or record.page).encode("utf-8", "surrogatepass") for record, _ in batch
        ]
        heads["name"] = np.cumsum([len(name) for name in names]) + self._name_bytes
        head.write(heads.tobytes())
        name.write(b"".join(names))
        self.documents += len(batch)
        self._name_bytes = int(heads["name"][-1])

    def _sketched(self, texts: Sequence[str], file: IO[bytes]) -> NDArray[np.void]:
        """Return the fields of the heads of some texts; write their shingles to a file."""
        kind = self._options.features
        tokens, counts = token_hashes_of_each(texts)
        hashes, numbers = shingles_of_each(tokens, counts, self._options.shingle_size)
        heads = np.zeros(len(texts), self._head_type)
        heads["tokens"] = counts
        whole, _ = shingles_of_each(tokens, counts, _WHOLE)
        heads["digest"][counts > 0] = whole
        sets = [distinct(part) for part in np.split(hashes, np.cumsum(numbers)[:-1])]
        numbers = np.array([len(each) for each in sets])
        minima = minima_of_each(np.concatenate(sets), numbers, kind.bins)
        minima = minima[:, : kind.features * kind.size]
        heads["features"] = group_digests(minima.ravel(), kind.size).reshape(len(texts), -1)
        heads["shingle_count"] = numbers
        heads["shingles"] = self._shingles + np.cumsum(numbers) - numbers
        self._shingles += int(numbers.sum())
        file.write(b"".join(each.astype("<u8").tobytes() for each in sets))
        return heads

    def _rank(self, record: FoundPage, tokens: int) -> float:
        """Return the key of a document; with `skip_bad`, one that can't be ranked comes last."""
        try:
            return self._ranking.key(record, tokens)
        except InputError as error:
            path = self._shard.paths[record.row if self._shard.kind == "pages" else 0]
            self._unreadable(InputError(f"{path}, row {record.row + 1}: {error}"))
            return np.inf


_WINDOW = 1 << 14
"""Number of documents read at once."""


class SketchFiles:
    """The documents of all shards, numbered from 0 in order.

    `tasks` and the numbers of documents (`counts`) are one a shard.
    """

    def __init__(
        self, tasks: Sequence[Task], counts: Sequence[int], options: DedupeOptions
    ) -> None:
        self.tasks = tasks
        self.starts = np.array([0, *accumulate(counts)], np.int64)
        self._head_type = head_type(options)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def span(self, shard: int) -> tuple[int, int]:
        """Return the range of a shard's documents: the first number, and one past the last."""
        return int(self.starts[shard]), int(self.starts[shard + 1])

    def windows(self) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Yield the heads of all documents, some at a time, and the number of the first."""
        for shard in range(len(self.tasks)):
            for first in range(*self.span(shard), _WINDOW):
                yield first, self._window(shard, first)

    def heads(self, documents: Integers, column: str) -> NDArray[Any]:
        """Return a column of the heads of documents, in the given order."""
        found = np.empty(len(documents), self._head_type[column])
        order = np.argsort(documents, kind="stable")
        wanted = documents[order]
        at = 0
        while at < len(wanted):
            shard = int(self.shard_of(wanted[at : at + 1])[0])
            start = int(self.starts[shard])
            first = start + (int(wanted[at]) - start) // _WINDOW * _WINDOW
            window = self._window(shard, first)
            until = int(np.searchsorted(wanted, first + len(window)))
            found[order[at:until]] = window[column][wanted[at:until] - first]
            at = until
        return found

    def names(self, documents: Integers) -> list[str]:
        """Return the names of documents."""
        before = np.maximum(documents - 1, self.starts[self.shard_of(documents)])
        starts = self.heads(before, "name")
        starts[before == documents] = 0
        sizes = self.heads(documents, "name") - starts
        found = self._parts(documents, ".names", starts, sizes)
        return [part.decode("utf-8", "surrogatepass") for part in found]

    def shingles(self, documents: Integers) -> list[NDArray[np.uint64]]:
        """Return the distinct shingles of documents."""
        starts, sizes = (self.heads(documents, each) for each in ("shingles", "shingle_count"))
        parts = self._parts(documents, ".shingles", starts * 8, sizes.astype(np.int64) * 8)
        return [np.frombuffer(part, "<u8").astype(np.uint64, copy=False) for part in parts]

    def shard_of(self, documents: Integers) -> Integers:
        """Return the number of each document's shard."""
        return np.searchsorted(self.starts, documents, side="right") - 1

    def _window(self, shard: int, first: int) -> NDArray[np.void]:
        each = self._head_type.itemsize
        count = min(_WINDOW, int(self.starts[shard + 1]) - first)
        start = (first - int(self.starts[shard])) * each
        content = files.content_of(f"{self.tasks[shard].target}.head", start, count * each)
        return np.frombuffer(content, self._head_type)

    def _parts(
        self, documents: Integers, ending: str, starts: NDArray[Any], sizes: NDArray[Any]
    ) -> list[bytes]:
        """Return parts of the files of documents' shards, given in bytes."""
        shards = self.shard_of(documents)
        found = [b""] * len(documents)
        for shard in np.unique(shards).tolist():
            path = self.tasks[shard].target + ending
            with files.reading(path), files.opened(path) as file:
                for index in np.flatnonzero(shards == shard).tolist():
                    file.seek(int(starts[index]))
                    found[index] = file.read(int(sizes[index]))
        return found
