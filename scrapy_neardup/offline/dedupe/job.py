"""A job, from its inputs to its output, which can be stopped and resumed.

The output folder holds the files without duplicates, and::

    _dedupe/plan.json       the options of the job, and the files that it reads
    _dedupe/sketches/       files of each shard (`sketching`)
    _dedupe/decisions       the decisions (`choosing`)
    _removed/               the removed documents of each shard (`writing`)
    _summary.json           the result; the job is complete

A file appears when it is complete. So a killed job is resumed where files are missing,
and writes the same bytes as one that wasn't killed. `_dedupe` is removed at the end.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.offline.dedupe import jobplan
from scrapy_neardup.offline.dedupe.choosing import choose, read_decisions
from scrapy_neardup.offline.dedupe.joboptions import DedupeOptions, TrimOptions
from scrapy_neardup.offline.dedupe.jobplan import Job
from scrapy_neardup.offline.dedupe.sketching import Sketched, SketchFiles, sketch
from scrapy_neardup.offline.dedupe.writing import removed_name, write
from scrapy_neardup.offline.execution import Processes, Workers
from scrapy_neardup.offline.readers.files import exists, remove_folder, using_temporary

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_log = logging.getLogger(__name__)

Options = TypeVar("Options", DedupeOptions, TrimOptions)
Summary = TypeVar("Summary", bound="DataclassInstance")


def run_job(
    kind: type[Summary],
    steps: Callable[[Job, Options], Summary],
    inputs: Sequence[str],
    output: str,
    options: Options,
    *,
    existing: Sequence[str] = (),
    resume: bool = False,
    turn: jobplan.ShardTurn | None = None,
    jobs: int = 1,
    work: Workers | None = None,
    watch: jobplan.Watch = lambda *_: None,
) -> Summary:
    """Do all steps of a job, or the rest of them, and return its summary, a dataclass.

    `output` is a folder or URL, new or empty, or with `resume` that of a job that was stopped.
    `existing` are files and folders of documents, such as earlier outputs, with which those of the
    `inputs` are compared. The tasks are done in `jobs` processes, or by `work`, a cluster with the
    same paths. Independent processes each do a `turn`, and end with a `PausedError` until all is
    done. `watch` is called with the progress. An output folder that isn't empty, and a job to be
    resumed that had other options, are a `ConfigurationError`.
    """
    if output == "-":
        raise ConfigurationError("--output: - isn't a folder, and files are written to one")
    output = jobplan.folder_of(output)
    if (resume or turn) and exists(f"{output}/{jobplan.SUMMARY}"):
        if exists(f"{output}/{jobplan.WORK}"):  # the job was stopped while this folder was removed
            remove_folder(f"{output}/{jobplan.WORK}")
        _log.warning("%s: is complete already; nothing was read or written", output)
        done: dict[str, Any] = jobplan.read_json(f"{output}/{jobplan.SUMMARY}")
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in done.items()})
    shards = jobplan.shards_of(inputs, output, existing=existing)
    if isinstance(options, TrimOptions):
        for shard in shards:
            if shard.kind in {"pages", "warc"}:
                path = shard.paths[0]
                raise InputError(
                    f"{path}: parts of texts can be removed only from files with columns"
                )
    with using_temporary(folder=output), nullcontext(work) if work else Processes(jobs) as does:
        job = Job(shards=shards, output=output, work=does, watch=watch, turn=turn)
        job.begin(asdict(options), resume=resume)
        summary = steps(job, options)
    job.finish(asdict(summary))
    return summary


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
    inputs: Sequence[str], output: str, options: DedupeOptions | None = None, **how: Any
) -> DedupeSummary:
    """Write files of documents without the duplicates among them.

    `inputs` are files, folders and URLs of them: Parquet, JSON lines, WARC, HTML
    (`corpus.ENDINGS`). For `output` and `how` see `run_job`.
    """
    return run_job(DedupeSummary, _deduped, inputs, output, options or DedupeOptions(), **how)


def _deduped(job: Job, options: DedupeOptions) -> DedupeSummary:
    """Do the remaining steps: sketch the shards, decide, and write the shards."""
    sketches = job.tasks("sketches", "sketches")
    sketched = [Sketched(*each) for each in job.results("read", sketches, sketch, options)]
    files = SketchFiles(sketches, [each.documents for each in sketched], options)
    choose(job, files, options)
    tasks = [
        task._replace(done=f"{job.output}/{removed_name(task.number, task.shard)}")
        for task, found in zip(sketches, sketched, strict=True)
        if not task.shard.is_existing and not found.skipped
    ]
    job.do_missing("written", tasks, write, files, job.folder, job.output)
    made: Counter[str] = Counter()
    for task in tasks:
        made.update(read_decisions(job.folder, len(files), *files.span(task.number)).counts())
    job.is_for_all()
    existing = int(files.starts[sum(shard.is_existing for shard in job.shards)])  # the first
    skipped = tuple(each.skipped for each in sketched if each.skipped)
    return DedupeSummary(
        documents=len(files) - existing,
        **{name: made[name] for name in ("kept", "equal", "similar")},
        existing=existing,
        files=len(job.shards),
        bad_files=len(skipped),
        bad_lines=sum(each.bad_lines for each in sketched),
        skipped=skipped,
    )
