"""A job that removes from texts what repeats within them and in others, or marks it.

Units are lines, paragraphs or runs of words: those of many documents go, or those that occurred
before. The list of (digest, position) lies on disk in sorted runs (`sortedruns`). The result is
exact, as far as 64-bit digests are. The output folder holds files of the same names, and while the
job runs::

    _dedupe/plan.json       the options of the job, and the files that it reads
    _dedupe/units/          runs of each shard's units
    _dedupe/going/          positions of the units of each shard to be removed
    _dedupe/trimmed/        of each shard, that it is written, and the numbers of a `TrimSummary`
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from sys import maxsize
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from scrapy_neardup.dedupe.joboptions import TrimOptions, Unit
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
from scrapy_neardup.fingerprints import digest
from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.offline.execution import Processes, Workers, left_of
from scrapy_neardup.offline.files.sortedruns import (
    Hashes,
    Integers,
    Range,
    Run,
    entries_of,
    ranges_of,
    write_run,
)
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import (
    batches,
    compressed,
    content_of,
    exists,
    is_remote,
    lines,
    written,
)
from scrapy_neardup.offline.readers.tabular import MAX_LINE
from scrapy_neardup.urls import site

_PATTERNS: dict[Unit, re.Pattern[str]] = {
    "lines": re.compile(r"[^\n]*\S[^\n]*\n?"),
    "paragraphs": re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+(?:[^\S\n]*\n)*"),
    "substrings": re.compile(r"\S+\s*"),
}

_word_digest: Callable[[str], int] = lru_cache(1 << 16)(digest)


def spans_of(text: str, kind: Unit, size: int) -> Integers:
    """Return the ranges of the units of a text, int64 (units, 2), in characters.

    Lines that aren't blank, paragraphs (runs of such lines), or all runs of `size` words, which
    overlap; each with the white space after it.
    """
    spans = _matches(_PATTERNS[kind], text)
    if kind != "substrings":
        return spans
    if len(spans) < size:
        return spans[:0]
    return np.stack([spans[: len(spans) - size + 1, 0], spans[size - 1 :, 1]], axis=1)


def digests_of(text: str, kind: Unit, size: int) -> Hashes:
    """Return digests of the units of a text, equal for equal units; shape (units,)."""
    if kind == "substrings":
        words = np.array([_word_digest(word) for word in text.split()], np.uint64)
        return shingle_hashes(words, size) if len(words) >= size else words[:0]
    spans = _matches(_PATTERNS[kind], text).tolist()
    return np.array([digest(text[start:end].strip()) for start, end in spans], np.uint64)


def _matches(pattern: re.Pattern[str], text: str) -> Integers:
    found = [match.span() for match in pattern.finditer(text)]
    return np.array(found, np.int64).reshape(-1, 2)


def merged(spans: Integers) -> list[tuple[int, int]]:
    """Return spans, in the order of their beginnings, with touching ones merged."""
    found: list[tuple[int, int]] = []
    for start, end in spans.tolist():
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text without some ranges, as `merged` returns them."""
    kept = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


UNIT_BITS = 24
"""A position is the number of a document, then that of a unit in it, if that is small enough."""
MAX_UNITS = 1 << UNIT_BITS
_ENTRIES = 1 << 20
"""Number of entries of a run."""


def list_units(options: TrimOptions, task: Task) -> int:
    """Write the runs of a shard, with positions in its rows; return the number of rows.

    The result of the task is the same number, and the runs.
    """
    rows = 0

    def units() -> Iterator[tuple[Hashes, Integers]]:
        nonlocal rows
        for record in Corpus(task.shard.paths, options.columns):
            rows = record.row + 1
            digests = digests_of(record.text or "", options.unit, options.size)[:MAX_UNITS]
            if options.per_host:
                digests = digests ^ np.uint64(digest(site(record.url or "", "host")))
            yield digests, (record.row << UNIT_BITS) + np.arange(len(digests))

    runs: list[Run] = []
    for batch in batches(units(), maxsize, lambda each: len(each[0]), _ENTRIES):
        digests, positions = map(np.concatenate, zip(*batch, strict=True))
        path = f"{task.target}-{len(runs):04}.run"
        runs.append(write_run(digests[:, None], positions, 1, path))
    write_json(task.done, (rows, runs))
    return rows


def going(part: Range, more_than: int, *, but_first: bool) -> Integers:
    """Return the positions of units of a range that are to be removed.

    Units of more documents than `more_than` are removed, 0: those that occurred anywhere before;
    with `but_first` not from the first document that has them.
    """
    found = entries_of(part)
    found = found[np.lexsort((found["page"], found["digest"]))]
    digests, positions = found["digest"], found["page"].astype(np.int64)
    is_first = np.ones(len(found), np.bool_)
    np.not_equal(digests[1:], digests[:-1], out=is_first[1:])
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
    """Yield the number of each shard and the positions in it, counted by the shard's own rows."""
    positions = np.sort(positions)
    edges = np.searchsorted(positions, np.append(first_rows, np.iinfo(np.int64).max >> 24) << 24)
    for shard, (low, high) in enumerate(pairwise(edges.tolist())):
        if low < high:
            yield shard, positions[low:high] - (int(first_rows[shard]) << UNIT_BITS)


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
