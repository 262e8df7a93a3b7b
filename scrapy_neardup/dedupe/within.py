"""A job that removes from texts what repeats within them and in others.

The output folder holds files of the same names, and while the job runs::

    _dedupe/plan.json       the options of the job, and the files that it reads
    _dedupe/units/          runs of each shard's units (`counting`)
    _dedupe/going/          positions of the units of each shard to be removed
    _dedupe/trimmed/        of each shard, that it is written (`trimming`)
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from scrapy_neardup.dedupe.counting import (
    CountTask,
    Listed,
    Lister,
    by_shard,
    check_kind,
    done_name,
    going,
    read_listed,
)
from scrapy_neardup.dedupe.joboptions import MIN_MEMORY
from scrapy_neardup.dedupe.jobplan import WORK, Run, Watch, begin, finish, finished, runner
from scrapy_neardup.dedupe.shards import Shard, shards_of
from scrapy_neardup.dedupe.trimming import Trimmed, Trimmer, TrimTask, read_trimmed
from scrapy_neardup.dedupe.units import Unit
from scrapy_neardup.offline.clustering.sortedruns import ranges_of
from scrapy_neardup.offline.execution.memorylimit import left_of
from scrapy_neardup.offline.execution.pool import Parallel, parallel
from scrapy_neardup.offline.files.atomic import written
from scrapy_neardup.offline.readers.remote import exists, is_remote
from scrapy_neardup.offline.readers.tabular import Columns
from scrapy_neardup.settings.arguments import whole_number


@dataclass(frozen=True, kw_only=True)
class TrimOptions:
    """What is removed from texts.

    Parameters
    ----------
    unit
        ``"lines"`` or ``"paragraphs"`` that more than `number` documents have; or
        ``"substrings"``: runs of at least `number` words that occurred before, in the same
        document or an earlier one (Lee et al. 2022).
    number
        See `unit`; 1 or more.
    per_host
        Whether only documents of one host are counted together.
    but_first
        Whether lines and paragraphs stay in the first document that has them.
    mark
        Whether texts stay as they are, with a column of the ranges of these units.
    text, url
        Names of the columns.
    memory
        Bytes of memory to work in.
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
        whole_number("memory", self.memory, least=MIN_MEMORY)

    @property
    def size(self) -> int:
        """Words of a unit, for substrings."""
        return self.number if self.unit == "substrings" else 1

    @property
    def more_than(self) -> int:
        """Number of documents that a removed unit exceeds; 0: any earlier occurrence counts."""
        return 0 if self.unit == "substrings" else self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimSummary:
    """The numbers of documents, of trimmed ones, of removed and all characters, and of files."""

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

    Parameters
    ----------
    inputs
        Parquet files, JSON lines, and folders of them, or URLs.
    options
        What is removed.
    output, resume, jobs, work, watch
        As of `job.dedupe`, with the same errors.
    """
    output = output.rstrip("/")
    if resume and (done := finished(output)):
        return TrimSummary(**done)
    shards = shards_of(inputs)
    for shard in shards:
        check_kind(shard)
    plan = asdict(options)
    del plan["memory"]
    begin(output, plan, shards, resume=resume)
    job = _Job(shards, output, options, runner(work, jobs), watch)
    listed = job.count()
    job.choose(listed)
    found = job.write(sum(each.rows for each in listed))
    summary = TrimSummary(
        documents=sum(each.documents for each in found),
        trimmed=sum(each.trimmed for each in found),
        characters=sum(each.characters for each in found),
        of_characters=sum(each.of for each in found),
        files=len(shards),
    )
    finish(output, asdict(summary))
    return summary


@dataclass(frozen=True)
class _Job:
    """The steps of a job."""

    shards: list[Shard]
    output: str
    options: TrimOptions
    run: Run
    watch: Watch

    def _paths(self, step: str) -> list[str]:
        return [f"{self.output}/{WORK}/{step}/{each:06}" for each in range(len(self.shards))]

    def count(self) -> list[Listed]:
        """List the units of the shards whose aren't listed."""
        tasks = [
            CountTask(shard, target)
            for shard, target in zip(self.shards, self._paths("units"), strict=True)
            if not exists(done_name(target))
        ]
        options, rows = self.options, 0
        columns = Columns(html=None, text=options.text, url=options.url)
        arguments = options.unit, options.size, columns, options.per_host
        for number, result in enumerate(self.run(Lister.write, tasks, Lister, *arguments), 1):
            rows += result
            self.watch("read", rows, number / len(tasks))
        return [read_listed(target) for target in self._paths("units")]

    def choose(self, listed: list[Listed]) -> None:
        """Find the units to be removed; the file that shows that all are found comes last."""
        paths = self._paths("going")
        complete = f"{self.output}/{WORK}/going/complete"
        if exists(complete):
            return
        firsts = np.array([0, *accumulate(each.rows for each in listed)][:-1], np.int64)
        runs = [run for each in listed for run in each.runs]
        of_runs = np.repeat(firsts, [len(each.runs) for each in listed])
        options = self.options
        local = None if is_remote(self.output) else f"{self.output}/{WORK}"
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

    def write(self, total: int) -> list[Trimmed]:
        """Write the shards that aren't written."""
        done = [f"{path}.json" for path in self._paths("trimmed")]
        tasks = [
            TrimTask(shard, positions, target)
            for shard, positions, target in zip(
                self.shards, self._paths("going"), done, strict=True
            )
            if not exists(target)
        ]
        options, rows = self.options, 0
        arguments = options.unit, options.size, options.text, self.output, options.mark
        for result in self.run(Trimmer.trim, tasks, Trimmer, *arguments):
            rows += result
            self.watch("written", rows, rows / max(total, 1))
        return [read_trimmed(path) for path in done]
