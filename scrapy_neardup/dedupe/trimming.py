"""Files whose texts lack some of their units, or have marks at them."""

from __future__ import annotations

import json
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.dedupe.counting import UNIT_BITS
from scrapy_neardup.dedupe.jobplan import read_json, write_json
from scrapy_neardup.dedupe.rewriting import compressed, parquet_writer, row_batches
from scrapy_neardup.dedupe.shards import Shard
from scrapy_neardup.dedupe.units import Unit, merged, spans_of, without
from scrapy_neardup.offline.files.atomic import written
from scrapy_neardup.offline.readers.lines import numbered_lines
from scrapy_neardup.offline.readers.parquet import reading_parquet
from scrapy_neardup.offline.readers.record import reading
from scrapy_neardup.offline.readers.remote import opened
from scrapy_neardup.offline.readers.tabular import MAX_LINE

Integers = NDArray[np.int64]

MARKS = "neardup_repeated"
"""Column of the marks: pairs of a beginning and an end, in characters."""


class TrimTask(NamedTuple):
    """A shard, the file of its positions to be removed, and the file that shows it is done."""

    shard: Shard
    positions: str
    done: str


class Trimmed(NamedTuple):
    """The numbers of documents, of trimmed ones, of removed characters, and of all characters."""

    documents: int
    trimmed: int
    characters: int
    of: int


class Trimmer:
    """Trims shards; one a process."""

    def __init__(self, kind: Unit, size: int, column: str, output: str, mark: bool) -> None:
        self._kind, self._size, self._column = kind, size, column
        self._output, self._mark = output, mark

    def trim(self, task: TrimTask) -> int:
        """Write a shard; return its number of documents."""
        with reading(task.positions), opened(task.positions) as file:
            positions = np.sort(np.frombuffer(file.read(), "<i8"))
        counts = np.zeros(4, np.int64)
        (path,) = task.shard.paths
        with written(f"{self._output}/{task.shard.name}") as target:
            write = self._parquet if task.shard.kind == "parquet" else self._lines
            write(path, target, positions, counts)
        write_json(task.done, Trimmed(*counts.tolist()))
        return int(counts[0])

    def _spans(
        self, text: str | None, row: int, positions: Integers, counts: Integers
    ) -> list[tuple[int, int]]:
        """Return the ranges of a text to be removed, and count them."""
        low, high = np.searchsorted(positions, [row << UNIT_BITS, (row + 1) << UNIT_BITS])
        counts += (1, low < high, 0, len(text or ""))
        if low == high or not text:
            return []
        spans = spans_of(text, self._kind, self._size)
        found = merged(spans[positions[low:high] & ((1 << UNIT_BITS) - 1)])
        counts[2] += sum(end - start for start, end in found)
        return found

    def _lines(self, path: str, target: IO[bytes], positions: Integers, counts: Integers) -> None:
        with compressed(target, path) as file:
            for number, line in numbered_lines(path, MAX_LINE):
                if line.isspace():
                    file.write(line)
                    continue
                item = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
                spans = self._spans(item.get(self._column), number - 1, positions, counts)
                if self._mark:
                    item[MARKS] = spans
                elif spans:
                    item[self._column] = without(item[self._column], spans)
                changed = self._mark or spans
                file.write(
                    json.dumps(item, ensure_ascii=False).encode() + b"\n" if changed else line
                )

    def _parquet(
        self, path: str, target: IO[bytes], positions: Integers, counts: Integers
    ) -> None:
        with reading_parquet(path), opened(path) as file:
            import pyarrow as pa  # noqa: PLC0415

            marks = pa.field(MARKS, pa.list_(pa.list_(pa.int64(), 2)))
            with parquet_writer(file, target, (marks,) if self._mark else ()) as (parquet, writer):
                row = 0
                for batch in row_batches(parquet):
                    at = batch.schema.names.index(self._column)
                    texts = batch.column(at).to_pylist()
                    spans = [
                        self._spans(text, each, positions, counts)
                        for each, text in enumerate(texts, row)
                    ]
                    row += batch.num_rows
                    columns = [*batch.columns]
                    if self._mark:
                        columns.append(pa.array([*map(_lists, spans)], marks.type))
                    else:
                        texts = [
                            without(text, own) if own else text
                            for text, own in zip(texts, spans, strict=True)
                        ]
                        columns[at] = pa.array(texts, batch.column(at).type)
                    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=writer.schema))


def _lists(spans: list[tuple[int, int]]) -> list[list[int]]:
    return [*map(list, spans)]


def read_trimmed(path: str) -> Trimmed:
    """Return the result for a shard."""
    return Trimmed(*read_json(path))
