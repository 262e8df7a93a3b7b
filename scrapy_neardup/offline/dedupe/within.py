"""A job that removes repeated parts of texts, or marks them.

Units are lines, paragraphs or runs of words. The job removes units of many documents, or units
that occurred before. The list of (digest, position) is on disk in sorted runs (`sortedruns`). The
result is exact, unless 64-bit digests collide. The output folder has files of the same names, and
while the job runs::

    _dedupe/plan.json       the options of the job, and the files that it reads
    _dedupe/units/          runs of each shard's units
    _dedupe/going/          positions of the units to remove, for each shard
    _dedupe/trimmed/        a file for each written shard, with the numbers of a `TrimSummary`
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from sys import maxsize
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import digest
from scrapy_neardup.fingerprints.hashing import Hashes, Integers
from scrapy_neardup.fingerprints.shingles import first_of_each
from scrapy_neardup.offline.dedupe import cutting
from scrapy_neardup.offline.dedupe.cutting import digests_of, merged, spans_of
from scrapy_neardup.offline.dedupe.job import run_job
from scrapy_neardup.offline.dedupe.joboptions import TrimOptions
from scrapy_neardup.offline.dedupe.jobplan import Job, Task, write_json
from scrapy_neardup.offline.dedupe.writing import describe, table_copy
from scrapy_neardup.offline.execution import left_of
from scrapy_neardup.offline.files import sortedruns
from scrapy_neardup.offline.files.sortedruns import Range, Run
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.compression import compressed
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.tables import strings
from scrapy_neardup.offline.readers.textual import KINDS, Header, pieces
from scrapy_neardup.urls import site

UNIT_BITS = 24
"""A position is the number of a document and that of a unit in it, if it is small enough."""
MAX_UNITS = 1 << UNIT_BITS
_ENTRIES = 1 << 20
"""Number of entries of a run."""


def list_units(options: TrimOptions, task: Task) -> int:
    """Write the runs of a shard, with positions in its rows; return the number of rows.

    The result of the task is the same number, and the runs.
    """
    rows = 0
    digests_of_text = files.Repeated(lambda text: digests_of(text, options.unit, options.size))

    def units() -> Iterator[tuple[Hashes, Integers]]:
        nonlocal rows
        for record in Corpus(task.shard.paths, options.columns):
            rows = record.row + 1
            digests = digests_of_text(record.text or "")[:MAX_UNITS]
            if options.per_host:
                digests = digests ^ np.uint64(digest(site(record.url or "", "host")))
            yield digests, (record.row << UNIT_BITS) + np.arange(len(digests))

    runs: list[Run] = []
    for batch in files.batches(units(), maxsize, lambda each: len(each[0]), _ENTRIES):
        digests, positions = map(np.concatenate, zip(*batch, strict=True))
        path = f"{task.target}-{len(runs):04}.run"
        runs.append(sortedruns.write_run(digests[:, None], positions, 1, path))
    write_json(task.done, (rows, runs))
    return rows


def going(part: Range, more_than: int, *, but_first: bool) -> Integers:
    """Return the positions of units to remove within a range.

    Units of more than `more_than` documents are removed; with 0, units that occurred anywhere
    before. With `but_first` the first document that has them keeps them.
    """
    found = sortedruns.sorted_entries(part)
    is_first, positions = first_of_each(found["digest"]), found["page"].astype(np.int64)
    if not more_than:
        return np.compress(~is_first, positions)
    documents = positions >> UNIT_BITS
    is_new = is_first.copy()
    is_new[1:] |= documents[1:] != documents[:-1]
    groups = np.cumsum(is_first) - 1
    goes = (np.bincount(groups, weights=is_new) > more_than)[groups]
    if but_first:
        goes &= documents != documents[is_first][groups]
    return np.compress(goes, positions)


def by_shard(positions: Integers, first_rows: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield the number of each shard and the positions in it, in the shard's own rows."""
    positions = np.sort(positions)
    edges = np.searchsorted(positions, np.append(first_rows, np.iinfo(np.int64).max >> 24) << 24)
    for shard, (low, high) in enumerate(pairwise(edges.tolist())):
        if low < high:
            yield shard, positions[low:high] - (int(first_rows[shard]) << UNIT_BITS)


class _Trimmer:
    """Writes one shard without the parts of texts at `positions`, or with marks at them.

    `counts` are the numbers of a `TrimSummary`.
    """

    def __init__(self, options: TrimOptions, positions: Integers) -> None:
        self._options, self._positions = options, np.sort(positions)
        self.counts = np.zeros(4, np.int64)

    def _spans(self, text: str | None, row: int) -> list[tuple[int, int]]:
        """Return the ranges of a text to remove, and count them."""
        edges = row << UNIT_BITS, (row + 1) << UNIT_BITS
        low, high = np.searchsorted(self._positions, edges)
        self.counts += (1, low < high, 0, len(text or ""))
        if low == high or not text:
            return []
        spans = spans_of(files.unicode_of(text), self._options.unit, self._options.size)
        found = merged(spans[self._positions[low:high] & ((1 << UNIT_BITS) - 1)])
        self.counts[2] += sum(end - start for start, end in found)
        return found

    def _check(self, path: str, columns: Container[str]) -> None:
        """Raise an `InputError` for a second column of marks."""
        if self._options.mark and cutting.MARKS in columns:
            raise InputError(f"{path}: has a column {cutting.MARKS} already; rename or remove it")

    def pieces(self, path: str, kind: str, target: IO[bytes]) -> None:
        """Write a file of text."""
        with compressed(target, path) as file:
            header: Header | None = None
            for piece in pieces(path, kind):
                raw, item = piece.raw.decode("utf-8", "surrogateescape"), piece.item()
                if piece.row is not None:
                    self._check(path, item)
                    raw = self._changed(raw, item, piece.row, header)
                elif item:
                    header = item
                    if self._options.mark:
                        raw = cutting.mark_record(raw, item.delimiter, None)
                file.write(raw.encode("utf-8", "surrogateescape"))

    def _changed(self, raw: str, item: Any, row: int, header: Header | None) -> str:
        """Return the text `raw` of a document, cut or marked; only CSV has a `header`."""
        column = self._options.text
        spans = self._spans(item.get(column), row)
        if header:
            if self._options.mark:
                return cutting.mark_record(raw, header.delimiter, spans)
            return cutting.cut_record(raw, column, header, spans) if spans else raw
        if self._options.mark:
            return cutting.mark_object(raw, spans)
        return cutting.cut_object(raw, column, spans) if spans else raw

    def table(self, path: str, kind: str, target: IO[bytes]) -> None:
        """Write a Parquet or Arrow file."""
        import pyarrow as pa  # noqa: PLC0415  (an extra)

        marks = pa.field(cutting.MARKS, pa.list_(pa.list_(pa.int64(), 2)))
        more = (marks,) if self._options.mark else ()
        with table_copy(path, kind, target, more) as (batches, write):
            row = 0
            for batch in batches:
                self._check(path, batch.schema.names)
                at = batch.schema.names.index(self._options.text)
                texts = strings(batch.column(at))
                spans = [self._spans(text, each) for each, text in enumerate(texts, row)]
                row += batch.num_rows
                columns, names = [*batch.columns], [*batch.schema.names]
                if more:
                    columns.append(pa.array(spans, marks.type))
                    names.append(marks.name)
                elif any(spans):
                    cut = [
                        text and cutting.without(text, own).encode("utf-8", "surrogateescape")
                        for text, own in zip(texts, spans, strict=True)
                    ]
                    columns[at] = pa.array(cut, pa.large_binary())  # `write` casts it
                write(pa.RecordBatch.from_arrays(columns, names))


@dataclass(frozen=True, slots=True)
class TrimSummary:
    """Numbers of documents, of trimmed ones, of removed and all characters, and of files."""

    documents: int
    trimmed: int
    characters: int
    of_characters: int
    files: int


def trim(inputs: Sequence[str], output: str, options: TrimOptions, **how: Any) -> TrimSummary:
    """Write files of documents without the repeated parts of texts.

    `inputs` are files with columns, and folders or URLs of them. For `output` and `how` see
    `run_job`.
    """
    return run_job(TrimSummary, _trimmed, inputs, output, options, **how)


def _trimmed(job: Job, options: TrimOptions) -> TrimSummary:
    listed = job.results("read", job.tasks("units", "units"), list_units, options)
    tasks = job.tasks("going", "trimmed")
    _choose(job, tasks, options, listed)
    counts = job.results("written", tasks, _trim_shard, options, job.output)
    job.is_for_all()
    documents, cut, characters, of = map(sum, zip(*counts, strict=True))
    return TrimSummary(documents, cut, characters, of, len(job.shards))


def _choose(
    job: Job, tasks: Sequence[Task], options: TrimOptions, listed: Sequence[tuple[int, list[Any]]]
) -> None:
    """Find the units to remove; the last file written shows that all were found.

    `listed` are the results of `list_units`: the rows and the runs of each shard.
    """
    complete = f"{job.folder}/going/complete"
    if files.exists(complete):
        return
    job.is_for_all()
    firsts = np.array([0, *accumulate(rows for rows, _ in listed)][:-1], np.int64)
    runs = [
        Run(path, cuts, first << UNIT_BITS)
        for first, (_, found) in zip(firsts.tolist(), listed, strict=True)
        for path, cuts, _ in found
    ]
    local = None if files.is_remote(job.output) else job.folder
    with TemporaryDirectory(prefix="going-", dir=local) as folder:
        parts = [Path(folder, str(task.number)) for task in tasks]
        for part in sortedruns.ranges_of(runs, left_of(options.memory, 0) // 2):
            positions = going(part, options.more_than, but_first=options.but_first)
            for shard, own in by_shard(positions, firsts):
                with parts[shard].open("ab") as file:
                    file.write(own.astype("<i8").tobytes())
        for task, found in zip(tasks, parts, strict=True):
            with files.written(task.target) as target:
                if found.exists():
                    target.write(found.read_bytes())
    with files.written(complete):
        pass


def _trim_shard(options: TrimOptions, output: str, task: Task) -> int:
    """Write a shard; return its number of documents."""
    trimmer = _Trimmer(options, np.frombuffer(files.content_of(task.target), "<i8"))
    (path,) = task.shard.paths
    with files.written(f"{output}/{task.shard.name}") as target:
        write = trimmer.pieces if task.shard.kind in KINDS else trimmer.table
        write(path, task.shard.kind, target)
    describe(task.shard, output, has_more=options.mark)
    write_json(task.done, trimmer.counts.tolist())
    return int(trimmer.counts[0])
