"""What jobs share: their options and inputs, written down to resume them, and their tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from scrapy_neardup.dedupe.shards import Shard
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.execution.pool import Parallel
from scrapy_neardup.offline.files.atomic import written
from scrapy_neardup.offline.readers.files import (
    exists,
    is_empty,
    opened,
    remove_folder,
    remove_parts,
)
from scrapy_neardup.offline.readers.record import reading

WORK = "_dedupe"
"""Folder, below the output folder, of the files for resuming a job."""
SUMMARY = "_summary.json"
"""File, in the output folder, of the result of a job."""

Watch = Callable[[str, int, float], None]
"""Is called with the step, the number of documents that it has done, and its share in [0, 1]."""
Run = Callable[..., Iterable[Any]]
"""(function, tasks, start, *arguments) -> results, in order: a `Parallel`."""


def runner(work: Parallel, jobs: int) -> Run:
    """Return a function that runs others over tasks, in `jobs` processes."""
    return partial(_run, work, jobs)


def _run(
    work: Parallel,
    jobs: int,
    function: Callable[[Any, Any], Any],
    tasks: Iterable[Any],
    start: Callable[..., Any],
    *arguments: Any,
) -> Iterable[Any]:
    if isinstance(tasks, Sequence):
        jobs = min(jobs, len(tasks))
        if not tasks:
            return ()
    return work(function, tasks, jobs=jobs, start=start, arguments=arguments)


class Task(NamedTuple):
    """A shard, its number, and the paths of what is read or written, and of the result."""

    number: int
    shard: Shard
    target: str
    done: str


def run_missing(
    tasks: Sequence[Task],
    run: Run,
    watch: Watch,
    function: Callable[[Any, Task], int],
    start: Callable[..., Any],
    *arguments: Any,
    step: str,
) -> None:
    """Run the tasks that aren't done; `function` returns the number of a shard's documents."""
    missing = [task for task in tasks if not exists(task.done)]
    size, documents = sum(task.shard.size for task in tasks), 0
    left = sum(task.shard.size for task in missing)
    for task, count in zip(missing, run(function, missing, start, *arguments), strict=True):
        left -= task.shard.size
        documents += count
        watch(step, documents, 1 - left / max(size, 1))


def begin(
    output: str, options: Mapping[str, Any], shards: Sequence[Shard], *, resume: bool
) -> None:
    """Write down the options of the job, or check that they are the same as before."""
    current = {"options": options, "shards": [shard._asdict() for shard in shards]}
    plan = json.loads(json.dumps(current))
    path = f"{output}/{WORK}/plan.json"
    if resume:
        remove_parts(output)
    if exists(path):
        if not resume:
            raise ConfigurationError(
                f"{output}: holds a job that was stopped; go on with --resume, or remove the"
                " folder"
            )
        _check(read_json(path), plan, output)
    elif not is_empty(output):
        raise ConfigurationError(f"{output}: isn't empty; name another folder")
    else:
        write_json(path, plan)


def _check(before: Mapping[str, Any], now: Mapping[str, Any], output: str) -> None:
    for name, value in now["options"].items():
        if before["options"].get(name) != value:
            raise ConfigurationError(
                f"{output}: can't go on with another {name.replace('_', ' ')}: {value!r}, which"
                f" was {before['options'].get(name)!r}"
            )
    if before["options"].keys() != now["options"].keys():
        raise ConfigurationError(f"{output}: can't go on with a job of another kind")
    if before["shards"] != now["shards"]:
        raise ConfigurationError(
            f"{output}: can't go on, as the inputs are other files, or were changed"
        )


def finished(output: str) -> dict[str, Any] | None:
    """Return the result of a job that is complete, None for another one."""
    if not exists(f"{output}/{SUMMARY}"):
        return None
    if exists(f"{output}/{WORK}"):  # it was stopped while this was removed
        remove_folder(f"{output}/{WORK}")
    summary: dict[str, Any] = read_json(f"{output}/{SUMMARY}")
    return summary


def finish(output: str, summary: Mapping[str, Any]) -> None:
    """Write the result of a job, and remove its files for resuming."""
    remove_parts(output)  # of workers that were killed
    write_json(f"{output}/{SUMMARY}", summary)
    remove_folder(f"{output}/{WORK}")


def write_json(path: str, content: Any) -> None:
    """Write a file of JSON, all or nothing."""
    with written(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")


def read_json(path: str) -> Any:
    """Return the content of a file of JSON."""
    with reading(path), opened(path) as file:
        return json.loads(file.read())
