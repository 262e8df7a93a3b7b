"""A job from its inputs to its output, and what of it is done already.

The output folder holds, besides the files without duplicates::

    _dedupe/plan.json       what the job was told, and the files that it reads
    _dedupe/sketches/       files of each shard (`sketching`)
    _dedupe/decisions.*     what was decided (`decisions`)
    _removed/               what was removed of each shard (`writing`)
    _summary.json           what came of it; the job is complete

A file appears when it is complete. So a job that was killed goes on where files are missing, and
writes the same bytes as one that wasn't; `_dedupe` is removed in the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from scrapy_neardup.dedupe.choosing import choose
from scrapy_neardup.dedupe.decisions import are_written
from scrapy_neardup.dedupe.options import DedupeOptions
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
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.aside import written
from scrapy_neardup.offline.pool import Parallel, parallel
from scrapy_neardup.offline.record import reading
from scrapy_neardup.offline.remote import (
    exists,
    is_empty,
    opened,
    remove_folder,
    remove_parts,
)

WORK = "_dedupe"
"""Folder, below the output folder, of what a job that goes on needs."""
SUMMARY = "_summary.json"
"""File, in the output folder, that says what came of a job."""

Watch = Callable[[str, int, float], None]
"""Is told the step, the number of documents that it has done, and its share in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came of a job.

    Parameters
    ----------
    documents
        Documents read, those of existing collections not counted.
    kept, equal, similar
        How many were kept; removed as their text is that of another; removed as they resemble
        another.
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
        A folder, new or empty, or that of a job that goes on; or a URL of one.
    options
        What counts as a duplicate.
    existing
        Files and folders of documents that are there already: what repeats one is removed.
    resume
        Whether to go on with a job that was stopped.
    jobs
        Number of processes.
    work
        What runs the tasks: processes of this machine, or of a cluster, for which all paths are
        the same.
    watch
        Is told of the progress.

    Raises
    ------
    ConfigurationError
        The output folder isn't empty, or the job that goes on was told something else.
    InputError
        A file can't be read or written.
    NeardupError
        A process died.
    """
    output = output.rstrip("/")
    if resume and exists(f"{output}/{SUMMARY}"):
        if exists(f"{output}/{WORK}"):  # it was stopped while this was removed
            remove_folder(f"{output}/{WORK}")
        return read_summary(output)
    job = _Job(
        shards=shards_of(inputs, existing=existing),
        output=output,
        options=options or DedupeOptions(),
        run=partial(_run, work, jobs),
        watch=watch,
    )
    job.begin(resume=resume)
    return job.finish(job.sketch())


def read_summary(output: str) -> Summary:
    """Return what came of a job that is complete."""
    found = _read_json(f"{output}/{SUMMARY}")
    return Summary(**{**found, "skipped": tuple(found["skipped"])})


def _check_plan(before: dict[str, Any], now: dict[str, Any], output: str) -> None:
    for name, value in now["options"].items():
        if before["options"].get(name) != value:
            raise ConfigurationError(
                f"{output}: can't go on with another {name.replace('_', ' ')}: {value!r}, which"
                f" was {before['options'].get(name)!r}"
            )
    if before["shards"] != now["shards"]:
        raise ConfigurationError(
            f"{output}: can't go on, as the inputs are other files, or were changed"
        )


def _read_json(path: str) -> dict[str, Any]:
    with reading(path), opened(path) as file:
        found: dict[str, Any] = json.loads(file.read())
    return found


Run = Callable[..., Iterable[Any]]


def _run(
    work: Parallel,
    jobs: int,
    function: Callable[[Any, Any], Any],
    tasks: Sequence[Any],
    start: Callable[..., Any],
    *arguments: Any,
) -> Iterable[Any]:
    """Run a function over tasks, if there are any."""
    if not tasks:
        return ()
    jobs = min(jobs, len(tasks))
    return work(function, tasks, jobs=jobs, start=start, arguments=arguments)


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

    def begin(self, *, resume: bool) -> None:
        """Write down what the job was told, or see that it is the same as before.

        Raises
        ------
        ConfigurationError
            There is something else in the output folder.
        """
        shards = [shard._asdict() for shard in self.shards]
        plan = json.loads(json.dumps({"options": self.options.as_plan(), "shards": shards}))
        path = f"{self._folder}/plan.json"
        if resume:
            remove_parts(self.output)
        if exists(path):
            if not resume:
                raise ConfigurationError(
                    f"{self.output}: holds a job that was stopped; go on with --resume, or remove"
                    " the folder"
                )
            _check_plan(_read_json(path), plan, self.output)
        elif not is_empty(self.output):
            raise ConfigurationError(f"{self.output}: isn't empty; name another folder")
        else:
            with written(path) as file:
                file.write(json.dumps(plan, indent=1).encode())

    def sketch(self) -> list[Sketched]:
        """Sketch the shards that aren't; return what came of each."""
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
        """Decide about the documents, write the shards, and say what came of it."""
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
        summary = Summary(
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
        with written(f"{self.output}/{SUMMARY}") as file:
            file.write(json.dumps(asdict(summary), indent=1).encode() + b"\n")
        remove_folder(self._folder)
        return summary

    def _write(self, files: SketchFiles, sketched: list[Sketched]) -> list[Written]:
        """Write the shards that aren't; return what came of each."""
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
