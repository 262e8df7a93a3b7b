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
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.dedupe.counting import (
    UNIT_BITS,
    Listed,
    Lister,
    Unit,
    by_shard,
    going,
    merged,
    spans_of,
    without,
)
from scrapy_neardup.dedupe.joboptions import check_memory
from scrapy_neardup.dedupe.jobplan import (
    Job,
    Task,
    Watch,
    begin,
    finish,
    finished,
    folder_of,
    shards_of,
    write_json,
)
from scrapy_neardup.dedupe.writing import parquet_copy
from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.offline.clustering.sortedruns import ranges_of
from scrapy_neardup.offline.execution.pool import Parallel, left_of, parallel
from scrapy_neardup.offline.readers.files import (
    compressed,
    content_of,
    exists,
    is_remote,
    numbered_lines,
    written,
)
from scrapy_neardup.offline.readers.tabular import MAX_LINE, Columns
from scrapy_neardup.settings.arguments import whole_number

Integers = NDArray[np.int64]

MARKS = "neardup_repeated"
"""Column of the marks: pairs of a beginning and an end, in characters."""


class Trimmer:
    """Trims shards; one per process."""

    def __init__(self, kind: Unit, size: int, column: str, output: str, mark: bool) -> None:
        self._kind, self._size, self._column = kind, size, column
        self._output, self._mark = output, mark

    def trim(self, task: Task) -> int:
        """Write a shard; return its number of documents."""
        positions = np.sort(np.frombuffer(content_of(task.target), "<i8"))
        counts = np.zeros(4, np.int64)
        (path,) = task.shard.paths
        with written(f"{self._output}/{task.shard.name}") as target:
            write = self._parquet if task.shard.kind == "parquet" else self._lines
            write(path, target, positions, counts)
        write_json(task.done, counts.tolist())
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
        import pyarrow as pa  # noqa: PLC0415  (an extra)

        marks = pa.field(MARKS, pa.list_(pa.list_(pa.int64(), 2)))
        with parquet_copy(path, target, (marks,) if self._mark else ()) as (batches, writer):
            row = 0
            for batch in batches:
                at = batch.schema.names.index(self._column)
                texts = batch.column(at).to_pylist()
                spans = [
                    self._spans(text, each, positions, counts)
                    for each, text in enumerate(texts, row)
                ]
                row += batch.num_rows
                columns = [*batch.columns]
                if self._mark:
                    columns.append(pa.array(spans, marks.type))
                else:
                    texts = [
                        without(text, own) if own else text
                        for text, own in zip(texts, spans, strict=True)
                    ]
                    columns[at] = pa.array(texts, batch.column(at).type)
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=writer.schema))


@dataclass(frozen=True, kw_only=True)
class TrimOptions:
    """What is removed from texts: lines or paragraphs that more than `number` documents have.

    Of ``"substrings"``: runs of at least `number` words that occurred before, in the same document
    or an earlier one (Lee et al. 2022). With `per_host` only documents of one host are counted
    together; with `but_first` lines and paragraphs stay in the first document that has them; with
    `mark` texts stay as they are, with a column of the ranges. `text` and `url` are columns,
    `memory` is in bytes.
    """

    unit: Unit
    number: int
    per_host: bool = False
    but_first: bool = False
    mark: bool = False
    text: str = "text"
    url: str = "url"
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        whole_number(f"the number for {self.unit}", self.number, least=1)
        check_memory(self.memory)
        if "." in self.text:
            raise ConfigurationError(
                f"{self.text}: parts are removed from texts in a column of their own, not in a"
                " field of one"
            )

    @property
    def size(self) -> int:
        """Words of a unit, for substrings."""
        return self.number if self.unit == "substrings" else 1

    @property
    def more_than(self) -> int:
        """Number of documents that a removed unit exceeds; 0: any earlier occurrence counts."""
        return 0 if self.unit == "substrings" else self.number


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
    work: Parallel = parallel,
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
    plan = asdict(options)
    del plan["memory"]
    begin(output, plan, shards, resume=resume)
    how: dict[str, Any] = {"jobs": jobs, "work": work, "watch": watch}
    job = _Job(shards=shards, output=output, options=options, **how)
    job.choose(job.list_units())
    documents, cut, characters, of = map(sum, zip(*job.write(), strict=True))
    summary = TrimSummary(documents, cut, characters, of, len(shards))
    finish(output, asdict(summary))
    return summary


@dataclass(frozen=True, kw_only=True)
class _Job(Job):
    """The steps of a job."""

    options: TrimOptions

    def list_units(self) -> list[Listed]:
        """List the units of the shards whose aren't listed."""
        tasks, options = self.tasks("units", "units"), self.options
        others = (options.url,) if options.per_host else ()
        columns = Columns(html=None, text=options.text, url=options.url, others=others)
        arguments = options.unit, options.size, columns, options.per_host
        return [*map(Listed.of, self.results("read", tasks, Lister.write, Lister, *arguments))]

    def choose(self, listed: list[Listed]) -> None:
        """Find the units to be removed; the file that shows that all are found comes last."""
        paths = [task.target for task in self.tasks("going", "trimmed")]
        complete = f"{self.folder}/going/complete"
        if exists(complete):
            return
        firsts = np.array([0, *accumulate(each.rows for each in listed)][:-1], np.int64)
        runs = [run for each in listed for run in each.runs]
        of_runs = np.repeat(firsts, [len(each.runs) for each in listed])
        options = self.options
        local = None if is_remote(self.output) else self.folder
        with TemporaryDirectory(prefix="going-", dir=local) as folder, ExitStack() as stack:
            parts = [Path(folder, str(number)) for number in range(len(paths))]
            for part in ranges_of(runs, left_of(options.memory, 0) // 2):
                positions = going(part, of_runs, options.more_than, but_first=options.but_first)
                for shard, own in by_shard(positions, firsts):
                    with parts[shard].open("ab") as file:
                        file.write(own.astype("<i8").tobytes())
            for path, part_path in zip(paths, parts, strict=True):
                target = stack.enter_context(written(path))
                if part_path.exists():
                    target.write(part_path.read_bytes())
        with written(complete):
            pass

    def write(self) -> list[list[int]]:
        """Write the shards that aren't written; return the numbers of each."""
        tasks, options = self.tasks("going", "trimmed"), self.options
        arguments = options.unit, options.size, options.text, self.output, options.mark
        return self.results("written", tasks, Trimmer.trim, Trimmer, *arguments)
