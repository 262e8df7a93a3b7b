"""A job that removes from texts what repeats within them and in others, or marks it.

The output folder holds files of the same names, and while the job runs::

    _dedupe/plan.json       the options of the job, and the files that it reads
    _dedupe/units/          runs of each shard's units (`counting`)
    _dedupe/going/          positions of the units of each shard to be removed
    _dedupe/trimmed/        of each shard, that it is written, and the numbers of a `TrimSummary`
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from scrapy_neardup.dedupe.counting import (
    UNIT_BITS,
    by_shard,
    going,
    list_units,
    merged,
    spans_of,
    without,
)
from scrapy_neardup.dedupe.joboptions import TrimOptions
from scrapy_neardup.dedupe.jobplan import (
    Job,
    Task,
    Watch,
    finished,
    folder_of,
    shards_of,
    write_json,
)
from scrapy_neardup.dedupe.writing import parquet_copy
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.execution import Processes, Workers, left_of
from scrapy_neardup.offline.files.sortedruns import Integers, Run, ranges_of
from scrapy_neardup.offline.readers.files import (
    compressed,
    content_of,
    exists,
    is_remote,
    lines,
    written,
)
from scrapy_neardup.offline.readers.tabular import MAX_LINE

MARKS = "neardup_repeated"
"""Column of the marks: pairs of a beginning and an end, in characters."""


class _Trimmer:
    """Writes one shard without the parts of texts at `positions`, or with marks at them.

    `counts` are the numbers of a `TrimSummary`.
    """

    def __init__(self, options: TrimOptions, positions: Integers) -> None:
        self._options, self._positions = options, np.sort(positions)
        self.counts = np.zeros(4, np.int64)

    def _spans(self, text: str | None, row: int) -> list[tuple[int, int]]:
        """Return the ranges of a text to be removed, and count them."""
        edges = row << UNIT_BITS, (row + 1) << UNIT_BITS
        low, high = np.searchsorted(self._positions, edges)
        self.counts += (1, low < high, 0, len(text or ""))
        if low == high or not text:
            return []
        spans = spans_of(text, self._options.unit, self._options.size)
        found = merged(spans[self._positions[low:high] & ((1 << UNIT_BITS) - 1)])
        self.counts[2] += sum(end - start for start, end in found)
        return found

    def lines(self, path: str, target: IO[bytes]) -> None:
        """Write a file of JSON lines."""
        column, mark = self._options.text, self._options.mark
        with compressed(target, path) as file:
            for number, line in lines(path, MAX_LINE):
                if line.isspace():
                    file.write(line)
                    continue
                item = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
                spans = self._spans(item.get(column), number - 1)
                if mark:
                    item[MARKS] = spans
                elif spans:
                    item[column] = without(item[column], spans)
                changed = mark or spans
                file.write(
                    json.dumps(item, ensure_ascii=False).encode() + b"\n" if changed else line
                )

    def parquet(self, path: str, target: IO[bytes]) -> None:
        """Write a Parquet file."""
        import pyarrow as pa  # noqa: PLC0415  (an extra)

        marks = pa.field(MARKS, pa.list_(pa.list_(pa.int64(), 2)))
        more = (marks,) if self._options.mark else ()
        with parquet_copy(path, target, more) as (batches, writer):
            row = 0
            for batch in batches:
                at = batch.schema.names.index(self._options.text)
                texts = batch.column(at).to_pylist()
                spans = [self._spans(text, each) for each, text in enumerate(texts, row)]
                row += batch.num_rows
                columns = [*batch.columns]
                if more:
                    columns.append(pa.array(spans, marks.type))
                else:
                    texts = [
                        without(text, own) if own else text
                        for text, own in zip(texts, spans, strict=True)
                    ]
                    columns[at] = pa.array(texts, batch.column(at).type)
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=writer.schema))


@dataclass(frozen=True, slots=True)
class TrimSummary:
    """Numbers of documents, trimmed documents, removed and all characters, and files."""

    documents: int
    trimmed: int
    characters: int
    of_characters: int
    files: int


def trim(
    inputs: Sequence[str],
    output: str,
    options: TrimOptions,
    *,
    resume: bool = False,
    jobs: int = 1,
    work: Workers | None = None,
    watch: Watch = lambda *_: None,
) -> TrimSummary:
    """Write files of documents without the parts of texts that repeat.

    `inputs` are Parquet files, JSON lines, and folders or URLs of them; the rest is as of
    `dedupe`.
    """
    output = folder_of(output)
    if resume and (done := finished(output)):
        return TrimSummary(**done)
    shards = shards_of(inputs, output)
    for shard in shards:
        if shard.kind not in {"parquet", "json"}:
            path = shard.paths[0]
            raise InputError(
                f"{path}: parts of texts are removed from Parquet and JSON lines only"
            )
    with nullcontext(work) if work else Processes(jobs) as does:
        job = Job(shards=shards, output=output, work=does, watch=watch)
        job.begin(asdict(options), resume=resume)
        listed = job.results("read", job.tasks("units", "units"), list_units, options)
        tasks = job.tasks("going", "trimmed")
        _choose(job, tasks, options, listed)
        counts = job.results("written", tasks, _trim_shard, options, output)
    documents, cut, characters, of = map(sum, zip(*counts, strict=True))
    summary = TrimSummary(documents, cut, characters, of, len(shards))
    job.finish(asdict(summary))
    return summary


def _choose(
    job: Job, tasks: Sequence[Task], options: TrimOptions, listed: Sequence[tuple[int, list[Any]]]
) -> None:
    """Find the units to be removed; the file that shows that all are found comes last.

    `listed` are the results of `list_units`: the rows and the runs of each shard.
    """
    complete = f"{job.folder}/going/complete"
    if exists(complete):
        return
    firsts = np.array([0, *accumulate(rows for rows, _ in listed)][:-1], np.int64)
    runs = [
        Run(path, cuts, first << UNIT_BITS)
        for first, (_, found) in zip(firsts.tolist(), listed, strict=True)
        for path, cuts, _ in found
    ]
    local = None if is_remote(job.output) else job.folder
    with TemporaryDirectory(prefix="going-", dir=local) as folder:
        parts = [Path(folder, str(task.number)) for task in tasks]
        for part in ranges_of(runs, left_of(options.memory, 0) // 2):
            positions = going(part, options.more_than, but_first=options.but_first)
            for shard, own in by_shard(positions, firsts):
                with parts[shard].open("ab") as file:
                    file.write(own.astype("<i8").tobytes())
        for task, found in zip(tasks, parts, strict=True):
            with written(task.target) as target:
                if found.exists():
                    target.write(found.read_bytes())
    with written(complete):
        pass


def _trim_shard(options: TrimOptions, output: str, task: Task) -> int:
    """Write a shard; return its number of documents."""
    trimmer = _Trimmer(options, np.frombuffer(content_of(task.target), "<i8"))
    (path,) = task.shard.paths
    with written(f"{output}/{task.shard.name}") as target:
        write = trimmer.parquet if task.shard.kind == "parquet" else trimmer.lines
        write(path, target)
    write_json(task.done, trimmer.counts.tolist())
    return int(trimmer.counts[0])
