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
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.judge.parameters import Parameters
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
from scrapy_neardup.offline.dedupe.known import PAGES, add_kept, find_known, known_lines
from scrapy_neardup.offline.dedupe.sketching import Sketched, SketchFiles, sketch
from scrapy_neardup.offline.dedupe.writing import removed_name, write
from scrapy_neardup.offline.execution import Processes, Workers
from scrapy_neardup.offline.files.sortedruns import Integers
from scrapy_neardup.offline.jobs.knownpages import PACKED, KnownPages, holds_pages
from scrapy_neardup.offline.readers.files import exists
from scrapy_neardup.urls import redact_store


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeSummary:
    """The numbers of documents, without those of existing collections, and of files and lines.

    `equal`, `similar` and `known` documents are removed, for an equal text, a similar one, or a
    page of a store. `skipped` says why unreadable files were left out.
    """

    documents: int
    kept: int
    equal: int
    similar: int
    existing: int
    files: int
    bad_files: int
    bad_lines: int
    known: int = 0
    skipped: tuple[str, ...] = ()


def dedupe(
    inputs: Sequence[str],
    output: str,
    options: DedupeOptions | None = None,
    *,
    existing: Sequence[str] = (),
    namespace: str = "default",
    parameters: Parameters | None = None,
    update: bool = False,
    resume: bool = False,
    turn: ShardTurn | None = None,
    jobs: int = 1,
    work: Workers | None = None,
    watch: Watch = lambda *_: None,
) -> DedupeSummary:
    """Write files of documents without the duplicates among them.

    `inputs` are files, folders and URLs of them: Parquet, JSON lines, WARC, HTML
    (`corpus.ENDINGS`). `output` is a folder or URL, new or empty, or with `resume` that of a job
    that was stopped. `existing` are files and folders of documents, such as earlier outputs, and
    the URI of a store or a packed file (``.pack``): documents that repeat one of theirs are
    removed. `namespace` and `parameters` are the store's, by default those of a crawl without
    settings; with `update` kept documents are added to it. The tasks are done in
    `jobs` processes, or by `work`: a cluster with the same paths; or of independent processes each
    does its `turn`, and ends with a `PausedError` until all is done. `watch` is called with the
    progress. An output folder that isn't empty, a job to be resumed that had other options, and a
    store that has other parameters or can't be updated are a `ConfigurationError`.
    """
    output = folder_of(output)
    if (resume or turn) and (done := finished(output)):
        return DedupeSummary(**done | {"skipped": tuple(done["skipped"])})
    options = options or DedupeOptions()
    store = _store_in(existing, update=update)
    shards = shards_of(inputs, output, existing=[path for path in existing if path != store])
    shown = store and redact_store(store)
    opened = store and KnownPages.opened(
        store, namespace, parameters or Parameters(), may_be_empty=update
    )
    with opened or nullcontext() as known, nullcontext(work) if work else Processes(jobs) as does:
        of_store = {"store": shown and [shown, namespace], "update": update}
        job = _Job(
            shards=shards,
            output=output,
            options=options,
            work=does,
            watch=watch,
            turn=turn,
            known=known,
            store=shown or "",
        )
        job.begin(asdict(options) | of_store, resume=resume)
        summary = job.summary(update=update)
    job.finish(asdict(summary))  # all that was added is durable
    return summary


def _store_in(existing: Sequence[str], *, update: bool) -> str | None:
    """Return the store or packed file among the existing collections, or None."""
    found = [path for path in existing if holds_pages(path)]
    if len(found) > 1:
        raise ConfigurationError(
            f"{redact_store(found[1])}: of stores and packed files one can be existing; compare"
            " the output with the other one"
        )
    if update and not found:
        raise ConfigurationError(
            "only a store can be updated: what is kept of files is a collection of its own, to be"
            " named as another existing one the next time"
        )
    if update and found[0].endswith(PACKED):
        raise ConfigurationError(
            f"{found[0]}: a packed file can't be updated; scan the output and pack both:"
            f" scrapy-neardup pack {found[0]} scanned.jsonl --output new.pack"
        )
    return found[0] if found else None


@dataclass(frozen=True, kw_only=True)
class _Job(Job):
    options: DedupeOptions
    known: KnownPages | None
    store: str
    """The name of the collection of known pages."""

    @property
    def _sketches(self) -> list[Task]:
        return self.tasks("sketches", "sketches")

    def summary(self, *, update: bool) -> DedupeSummary:
        """Do the remaining steps: sketch the shards, decide, and write the shards."""
        parameters = self.known and self.known.parameters
        found = self.results("read", self._sketches, sketch, self.options, parameters)
        sketched = [Sketched(*each) for each in found]
        counts = [each.documents for each in sketched]
        files = SketchFiles(self._sketches, counts, self.options)
        if not are_written(self.folder):
            self.is_for_all()
            if self.known:
                find_known(self.known, [task.target for task in files.tasks])
            known = self._known_documents(files)
            choose(files, self.folder, self.options, self.run, known)
        made = self._write(files, sketched)
        self.is_for_all()
        if self.known and update:
            self._add(files, self.known)
        existing = int(files.starts[sum(shard.is_existing for shard in self.shards)])  # the first
        skipped = tuple(each.skipped for each in sketched if each.skipped)
        return DedupeSummary(
            documents=len(files) - existing,
            **{name: made[name] for name in ("kept", "equal", "similar", "known")},
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
        self.do_missing("written", tasks, write, files, self.folder, self.output, self.store)
        counts: Counter[str] = Counter()
        for task in tasks:
            decided = read_decisions(self.folder, len(files), *files.span(task.number))
            counts.update(decided.counts())
        return counts

    def _known_documents(self, files: SketchFiles) -> Iterator[Integers]:
        """Yield the documents of each shard that repeat known pages."""
        for task in files.tasks:
            if known := [line["row"] for line in known_lines(task.target)]:
                documents = np.arange(*files.span(task.number))
                yield documents[np.isin(files.heads(documents, "row"), known)]

    def _add(self, files: SketchFiles, known: KnownPages) -> None:
        for task in files.tasks:
            if task.shard.is_existing or not exists(task.target + PAGES):
                continue
            start, stop = files.span(task.number)
            decided = read_decisions(self.folder, len(files), start, stop)
            kept = decided.documents[~decided.are_removed]
            add_kept(known, task.target, files.heads(kept, "row"))
            self.watch("added", stop, stop / max(len(files), 1))
