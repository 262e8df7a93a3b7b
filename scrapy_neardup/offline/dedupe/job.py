"""A job, from its inputs to its output, which can be stopped and resumed.

The output folder holds the files without duplicates, and::

    _dedupe/plan.json       the options of the job, and the files that it reads
    _dedupe/sketches/       files of each shard (`sketching`)
    _dedupe/decisions       the decisions (`deciding`)
    _removed/               the removed documents of each shard (`writing`)
    _summary.json           the result; the job is complete

A file appears when it is complete. So a killed job is resumed where files are missing,
and writes the same bytes as one that wasn't killed. `_dedupe` is removed at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass

from scrapy_neardup.offline.dedupe.choosing import choose
from scrapy_neardup.offline.dedupe.deciding import are_written, read_decisions
from scrapy_neardup.offline.dedupe.joboptions import DedupeOptions
from scrapy_neardup.offline.dedupe.jobplan import (
    Job,
    ShardTurn,
    Task,
    Watch,
    finished,
    folder_of,
    shards_of,
)
from scrapy_neardup.offline.dedupe.sketching import Sketched, SketchFiles, sketch
from scrapy_neardup.offline.dedupe.writing import removed_name, write
from scrapy_neardup.offline.execution import Processes, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeSummary:
    """The numbers of documents, without those of existing collections, and of files and lines.

    `equal` and `similar` documents are removed, for an equal text or a similar one. `skipped` says
    why unreadable files were left out.
    """

    documents: int
    kept: int
    equal: int
    similar: int
    existing: int
    files: int
    bad_files: int
    bad_lines: int
    skipped: tuple[str, ...] = ()


def dedupe(
    inputs: Sequence[str],
    output: str,
    options: DedupeOptions | None = None,
    *,
    existing: Sequence[str] = (),
    resume: bool = False,
    turn: ShardTurn | None = None,
    jobs: int = 1,
    work: Workers | None = None,
    watch: Watch = lambda *_: None,
) -> DedupeSummary:
    """Write files of documents without the duplicates among them.

    `inputs` are files, folders and URLs of them: Parquet, JSON lines, WARC, HTML
    (`corpus.ENDINGS`). `output` is a folder or URL, new or empty, or with `resume` that of a job
    that was stopped. `existing` are files and folders of documents, such as earlier outputs:
    documents that repeat one of theirs are removed. The tasks are done in `jobs` processes, or by
    `work`: a cluster with the same paths; or of independent processes each does its `turn`, and
    ends with a `PausedError` until all is done. `watch` is called with the progress. An output
    folder that isn't empty, and a job to be resumed that had other options, are a
    `ConfigurationError`.
    """
    output = folder_of(output)
    if (resume or turn) and (done := finished(output)):
        return DedupeSummary(**done | {"skipped": tuple(done["skipped"])})
    options = options or DedupeOptions()
    shards = shards_of(inputs, output, existing=existing)
    with nullcontext(work) if work else Processes(jobs) as does:
        job = _Job(
            shards=shards, output=output, options=options, work=does, watch=watch, turn=turn
        )
        job.begin(asdict(options), resume=resume)
        summary = job.summary()
    job.finish(asdict(summary))
    return summary


@dataclass(frozen=True, kw_only=True)
class _Job(Job):
    options: DedupeOptions

    @property
    def _sketches(self) -> list[Task]:
        return self.tasks("sketches", "sketches")

    def summary(self) -> DedupeSummary:
        """Do the remaining steps: sketch the shards, decide, and write the shards."""
        found = self.results("read", self._sketches, sketch, self.options)
        sketched = [Sketched(*each) for each in found]
        counts = [each.documents for each in sketched]
        files = SketchFiles(self._sketches, counts, self.options)
        if not are_written(self.folder):
            self.is_for_all()
            choose(files, self.folder, self.options, self.run)
        made = self._write(files, sketched)
        self.is_for_all()
        existing = int(files.starts[sum(shard.is_existing for shard in self.shards)])  # the first
        skipped = tuple(each.skipped for each in sketched if each.skipped)
        return DedupeSummary(
            documents=len(files) - existing,
            **{name: made[name] for name in ("kept", "equal", "similar")},
            existing=existing,
            files=len(self.shards),
            bad_files=len(skipped),
            bad_lines=sum(each.bad_lines for each in sketched),
            skipped=skipped,
        )

    def _write(self, files: SketchFiles, sketched: list[Sketched]) -> Counter[str]:
        """Write the remaining shards; return the numbers of documents (`Decided.counts`)."""
        tasks = [
            task._replace(done=f"{self.output}/{removed_name(task.number, task.shard)}")
            for task, found in zip(self._sketches, sketched, strict=True)
            if not task.shard.is_existing and not found.skipped
        ]
        self.do_missing("written", tasks, write, files, self.folder, self.output)
        counts: Counter[str] = Counter()
        for task in tasks:
            decided = read_decisions(self.folder, len(files), *files.span(task.number))
            counts.update(decided.counts())
        return counts
