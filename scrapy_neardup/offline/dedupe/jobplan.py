"""Common parts of jobs: the files of documents, the recorded options, the tasks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from scrapy_neardup.errors import ConfigurationError, InputError, NeardupError
from scrapy_neardup.offline.execution import Workers
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.corpus import ENDINGS, PAGES, documents_in, kind_of

PAGE_FILES = 1_000
"""Maximum number of single-document files in a shard."""


class Shard(NamedTuple):
    """A file of documents, or some single-document files, which are processed together.

    `name` is the path of its output below the output folder; for several files, of their folder.
    `kind` is a format of `corpus.ENDINGS`, or ``"pages"``; `stamps` has the size of each file, and
    a value that changes when the file does. Existing documents are only compared with.
    """

    name: str
    kind: str
    paths: tuple[str, ...]
    stamps: tuple[tuple[int, str], ...]
    is_existing: bool = False

    @property
    def size(self) -> int:
        """Size of its files in bytes."""
        return sum(size for size, _ in self.stamps)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Paths of its files below the output folder."""
        if self.kind != "pages":
            return (self.name,)
        inside = f"{self.name}/" if self.name else ""
        return tuple(inside + PurePosixPath(path).name for path in self.paths)


def folder_of(output: str) -> str:
    """Return the path or URL of an output folder; without ``file://`` for this machine."""
    return output.removeprefix("file://").rstrip("/")


def _whole(path: str) -> str:
    path = folder_of(path)
    return f"{path if files.is_remote(path) else Path(path).resolve()}/"


def shards_of(inputs: Sequence[str], output: str, *, existing: Sequence[str] = ()) -> list[Shard]:
    """Return the shards of files, folders and their URLs, in order; in a folder by path.

    Hidden files in folders, and those whose names begin with ``_``, are skipped. No folder may
    hold the `output`, because it would have other files when the job is resumed.
    """
    for folder in (*inputs, *existing):
        if _whole(output).startswith(_whole(folder)):
            raise ConfigurationError(
                f"{output}: is in {folder}, which is an input; name another folder"
            )
    found = [shard for path in inputs for shard in _shards(path)]
    named = Counter(name for shard in found for name in shard.outputs)
    for name, count in named.items():
        if count > 1:
            raise InputError(
                f"{name}: {count} inputs would be written to this path; rename one, or name the"
                " folder above them"
            )
    known = (shard for path in existing for shard in _shards(path))
    return [*(shard._replace(is_existing=True) for shard in known), *found]


def _shards(path: str) -> Iterator[Shard]:
    files.check_rereadable(path)
    whole, below = files.files_of(path)
    if below == [whole]:
        kind = kind_of(whole)
        if kind is None:
            known = f"its name ends in none of {', '.join(ENDINGS)}"
            why = known if files.exists(whole) else "there is no such file or folder"
            raise InputError(f"{path}: {why}")
        found, folder = [(whole, kind)], whole.rpartition("/")[0]
    else:
        found, folder = documents_in(whole, below), whole
    # A shard is a file, or some of the single-document files of a folder.
    for (_, kind), group in groupby(
        found, lambda each: (each[0].rpartition("/")[0], "pages") if each[1] in PAGES else each
    ):
        for some in files.batches(group, PAGE_FILES):
            paths = tuple(each for each, _ in some)
            name = files.inside(folder, paths[0])
            if kind == "pages":
                name = name.rpartition("/")[0]
            yield Shard(name, kind, paths, tuple(map(_stamp, paths)))


def _stamp(path: str) -> tuple[int, str]:
    """Return the stamp of a file; a dangling link has none, and fails when it is read."""
    is_dangling = not files.is_remote(path) and Path(path).is_symlink() and not files.exists(path)
    return (0, "") if is_dangling else files.stamp(path)


WORK = "_dedupe"
"""Folder, below the output folder, of the files for resuming a job."""
SUMMARY = "_summary.json"
"""File, in the output folder, of the result of a job."""

_FREE = {"memory", "skip_bad"}
"""Options that may differ when a job is resumed, because its files don't depend on them."""

Watch = Callable[[str, int, float], None]
"""Function of the step, its number of finished documents, and its progress in [0, 1]."""


class Task(NamedTuple):
    """A shard, its number, and the paths of its input or output and of its result."""

    number: int
    shard: Shard
    target: str
    done: str


class ShardTurn(NamedTuple):
    """The part of a job for one of several processes with a common output folder.

    `share` k of `shares` (1 to n) handles its files of a step if the step before is complete;
    share 0 does the work between the steps.
    """

    share: int
    shares: int


class PausedError(NeardupError):
    """The rest of a job needs another turn; the message says which."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job: the common parts of its steps; with a `turn` it does only that part."""

    shards: list[Shard]
    output: str
    work: Workers
    watch: Watch
    turn: ShardTurn | None = None

    def run(self, function: Any, tasks: Iterable[Any], *arguments: Any) -> Iterable[Any]:
        """Yield ``function(*arguments, task)`` for each task."""
        return self.work(partial, tasks, function, *arguments)

    @property
    def folder(self) -> str:
        """The folder of the files for resuming it."""
        return f"{self.output}/{WORK}"

    def tasks(self, targets: str, results: str) -> list[Task]:
        """Return a task for each shard, with the folders of targets and results."""
        return [
            Task(number, shard, f"{self.folder}/{targets}/{number:06}",
                 f"{self.folder}/{results}/{number:06}.json")
            for number, shard in enumerate(self.shards)
        ]  # fmt: skip

    def do_missing(self, step: str, tasks: Sequence[Task], function: Any, *arguments: Any) -> None:
        """Run the remaining tasks; `function` returns a shard's number of documents."""
        left_over = missing = [task for task in tasks if not files.exists(task.done)]
        if self.turn:
            share, shares = self.turn
            missing = [task for task in missing if share and task.number % shares == share - 1]
        size, documents = sum(task.shard.size for task in tasks), 0
        left = sum(task.shard.size for task in missing)
        found = self.run(function, missing, *arguments)
        for task, count in zip(missing, found, strict=True):
            left -= task.shard.size
            documents += count
            self.watch(step, documents, 1 - left / max(size, 1))
        if self.turn and (count := sum(not files.exists(task.done) for task in left_over)):
            raise PausedError(f"files that have yet to be {step}, by --shard: {count}")

    def is_for_all(self) -> None:
        """Raise a `PausedError` if this turn has only some files: the next work is done once."""
        if self.turn and self.turn.share:
            raise PausedError("all files are read; --merge is next")

    def results(self, step: str, tasks: Sequence[Task], *how: Any) -> list[Any]:
        """Return the results that all tasks have written; run missing tasks first."""
        self.do_missing(step, tasks, *how)
        return [read_json(task.done) for task in tasks]

    def begin(self, options: Mapping[str, Any], *, resume: bool) -> None:
        """Record the options of the job, or check that its files were made with them."""
        output, path = self.output, f"{self.folder}/plan.json"
        known = {name: value for name, value in options.items() if name not in _FREE}
        current = {"options": known, "shards": [shard._asdict() for shard in self.shards]}
        plan = json.loads(json.dumps(current))
        if resume:
            files.remove_parts(output)
        count, begun = files.count_of(output), files.exists(path)  # other turns may be at work
        if count and not begun:
            raise ConfigurationError(f"{output}: isn't empty; name another folder")
        if not (begun and (self.turn or count > 1)):  # there is only its plan
            write_json(path, plan)
        elif not (resume or self.turn):
            raise ConfigurationError(
                f"{output}: has a stopped job; continue it with --resume, or remove the folder"
            )
        _check(read_json(path), plan, output)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the result of the job, and remove its files for resuming."""
        files.remove_parts(self.output)  # left by workers that were killed
        write_json(f"{self.output}/{SUMMARY}", summary)
        files.remove_folder(self.folder)


def _check(before: Mapping[str, Any], now: Mapping[str, Any], output: str) -> None:
    if before["options"].keys() != now["options"].keys():
        raise ConfigurationError(f"{output}: has a job of another kind; name another folder")
    for name, value in now["options"].items():
        if before["options"][name] != value:
            raise ConfigurationError(
                f"{output}: the job was begun with {name.replace('_', ' ')}"
                f" {before['options'][name]!r}, and can't be resumed with {value!r}"
            )
    if before["shards"] != now["shards"]:
        raise ConfigurationError(
            f"{output}: can't resume, because the inputs are other files or have changed"
        )


def write_json(path: str, content: Any) -> None:
    """Write a JSON file, which appears when it is complete."""
    with files.written(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")


def read_json(path: str) -> Any:
    """Return the content of a JSON file."""
    return json.loads(files.content_of(path))
