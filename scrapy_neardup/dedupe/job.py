"""A job from its inputs to its output, resumed where it was stopped.

The output folder holds, besides the files without duplicates::

    _dedupe/plan.json       the options of the job, and the files that it reads
    _dedupe/sketches/       files of each shard (`sketching`)
    _dedupe/decisions.*     the decisions (`decisions`)
    _removed/               the removed documents of each shard (`writing`)
    _summary.json           the result; the job is complete

A file appears when it is complete. So a job that was killed is resumed where files are missing,
and writes the same bytes as one that wasn't; `_dedupe` is removed in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from scrapy_neardup.dedupe.choosing import choose
from scrapy_neardup.dedupe.decisions import are_written
from scrapy_neardup.dedupe.joboptions import DedupeOptions
from scrapy_neardup.dedupe.jobplan import WORK, Run, Watch, begin, finish, finished, runner
from scrapy_neardup.dedupe.shards import Shard, shards_of
from scrapy_neardup.dedupe.sketchfiles import SketchFiles
from scrapy_neardup.dedupe.sketching import (
    Sketched,
    Sketcher,
    SketchTask,
    done_name,
    head_type,
    read_sketched,
)
from scrapy_neardup.dedupe.writing import Writer, WriteTask, Written, counted, removed_name
from scrapy_neardup.offline.execution.pool import Parallel, parallel
from scrapy_neardup.offline.readers.remote import exists


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The result of a job.

    Parameters
    ----------
    documents
        Documents read, without those of existing collections.
    kept, equal, similar
        Number of documents kept, removed for an equal text, removed for a similar one.
    existing
        Documents of existing collections.
    files, bad_files, bad_lines
        Files read; files and lines that can't be read and were left out.
    skipped
        Why files were left out.
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
    jobs: int = 1,
    work: Parallel = parallel,
    watch: Watch = lambda *_: None,
) -> Summary:
    """Write files of documents without the duplicates among them.

    Parameters
    ----------
    inputs
        Files and folders, or URLs of them: Parquet, JSON lines, WARC, HTML; see `shards.ENDINGS`.
    output
        A folder, new or empty, or that of a job to be resumed; or a URL of one.
    options
        What counts as a duplicate.
    existing
        Files and folders of existing documents: those that repeat one are removed.
    resume
        Whether to resume a job that was stopped.
    jobs
        Number of processes.
    work
        Runs the tasks: processes of this machine, or of a cluster with the same paths.
    watch
        Is called with the progress.

    Raises
    ------
    ConfigurationError
        The output folder isn't empty, or the job to be resumed had other options.
    InputError
        A file can't be read or written.
    NeardupError
        A process died.
    """
    output = output.rstrip("/")
    if resume and (done := finished(output)):
        return Summary(**{**done, "skipped": tuple(done["skipped"])})
    options = options or DedupeOptions()
    shards = shards_of(inputs, existing=existing)
    begin(output, options.as_plan(), shards, resume=resume)
    job = _Job(shards=shards, output=output, options=options, run=runner(work, jobs), watch=watch)
    summary = job.finish(job.sketch())
    finish(output, asdict(summary))
    return summary


@dataclass(frozen=True, kw_only=True)
class _Job:
    """The steps of a job."""

    shards: list[Shard]
    output: str
    options: DedupeOptions
    run: Run
    watch: Watch

    @property
    def _folder(self) -> str:
        return f"{self.output}/{WORK}"

    @property
    def _targets(self) -> list[str]:
        return [f"{self._folder}/sketches/{number:06}" for number in range(len(self.shards))]

    def sketch(self) -> list[Sketched]:
        """Sketch the shards that aren't yet; return the result for each."""
        targets = self._targets
        missing = [each for each, target in enumerate(targets) if not exists(done_name(target))]
        tasks = [SketchTask(self.shards[each], targets[each]) for each in missing]
        size, documents = sum(shard.size for shard in self.shards), 0
        left = sum(self.shards[each].size for each in missing)
        results = self.run(Sketcher.sketch, tasks, Sketcher, self.options)
        for number, result in zip(missing, results, strict=True):
            left -= self.shards[number].size
            documents += result.documents
            self.watch("read", documents, 1 - left / max(size, 1))
        return [read_sketched(target) for target in targets]

    def finish(self, sketched: list[Sketched]) -> Summary:
        """Decide about the documents, write the shards, and return the result."""
        files = SketchFiles(
            self._targets,
            [each.documents for each in sketched],
            head_type(self.options.features.features),
        )
        if not are_written(self._folder):
            choose(files, self._folder, self.options)
        counts = self._write(files, sketched)
        existing = sum(
            each.documents
            for each, shard in zip(sketched, self.shards, strict=True)
            if shard.is_existing
        )
        return Summary(
            documents=len(files) - existing,
            kept=sum(each.kept for each in counts),
            equal=sum(each.equal for each in counts),
            similar=sum(each.similar for each in counts),
            existing=existing,
            files=len(self.shards),
            bad_files=sum(bool(each.skipped) for each in sketched),
            bad_lines=sum(each.bad_lines for each in sketched),
            skipped=tuple(each.skipped for each in sketched if each.skipped),
        )

    def _write(self, files: SketchFiles, sketched: list[Sketched]) -> list[Written]:
        """Write the shards that aren't yet; return the result for each."""
        tasks = [
            WriteTask(number, f"{self.output}/{removed_name(number, shard)}")
            for number, (shard, found) in enumerate(zip(self.shards, sketched, strict=True))
            if not shard.is_existing and not found.skipped
        ]
        missing = [task for task in tasks if not exists(task.target)]
        arguments = tuple(self.shards), files, self._folder, self.output
        documents = 0
        for result in self.run(Writer.write, missing, Writer, *arguments):
            documents += result
            self.watch("written", documents, documents / max(len(files), 1))
        return [counted(task, files) for task in tasks]
