"""The offline work on a Dask cluster: the same kernels, other processes.

Rule of this room: Dask brings tasks to worker processes and results back; what a task does
is defined elsewhere, and knows nothing of Dask. A task may run twice (its worker died), so
each of them only reads, or writes one file aside.

The shape is that of Manku et al. 2007, section 3.3: the fingerprints F lie in files that all
workers can read, one map task takes a chunk of 64 MB, and compares it with the queries Q.
Their tables are built once a worker process, whatever the number of its tasks. Q travels
inside the task graph, so the scheduler holds it: it survives the death of any worker.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.clusters import UnionFind, forest
from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.offline.pagefiles import PageFile, fingerprint_file
from scrapy_neardup.offline.pairs import Found, PairJob
from scrapy_neardup.settings.parameters import Parameters

if TYPE_CHECKING:
    from distributed import Client

CHUNK_ROWS = 1 << 23
"""Number of fingerprints that a task scans: 64 MB."""
BLOCK_ROWS = 1 << 20
"""Number of queries at a time: 8 MB in the task graph, 180 MB of tables in a worker process."""

LONGEST_ALONE = 60.0
"""Seconds that a cluster may be without workers before its tasks are given up."""

_LOOK = 1.0
"""Seconds between two checks for workers while a result is awaited."""
_AHEAD = 4
"""Number of tasks in flight per worker process: enough to keep it busy, few enough to hold few
results here."""
_HELD_STATES = 2
"""Number of states that a worker process keeps: that of the current block, and of the one before
it."""

State = TypeVar("State")
Task = TypeVar("Task")
Result = TypeVar("Result")


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Yield a client of the scheduler at `address` (``tcp://HOST:8786``).

    Raises
    ------
    ConfigurationError
        Dask isn't installed, or the address can't be one.
    NeardupError
        No scheduler answers there.
    """
    try:
        from distributed import Client  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ConfigurationError(
            "NEARDUP_SCHEDULER needs the package distributed: pip install 'scrapy-neardup[dask]'"
        ) from error
    try:
        client = Client(address, set_as_default=False)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ConfigurationError(f"NEARDUP_SCHEDULER {address}: {error}") from error
    except OSError as error:
        raise NeardupError(
            f"NEARDUP_SCHEDULER {address}: no Dask scheduler answers there; start one with"
            " `dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from error
    with client:
        yield client


class Cluster:
    """The worker processes of a Dask cluster, to be used as `pool.parallel` is.

    Parameters
    ----------
    client
        Connected with the scheduler.
    after
        What the workers do with each result before they send it.
    """

    def __init__(self, client: Client, after: Callable[[Any], Any] | None = None) -> None:
        self._client = client
        self._after = after

    def __call__(
        self,
        function: Callable[[State, Task], Result],
        tasks: Iterable[Task],
        *,
        jobs: int,  # noqa: ARG002  (there are as many as there are workers)
        start: Callable[..., State],
        arguments: tuple[Any, ...],
    ) -> Generator[Result]:
        """Yield ``function(state, task)`` for each task, in order.

        Raises
        ------
        NeardupError
            A task took several workers with it, all workers are gone, or the scheduler is.
        """
        from distributed import KilledWorker  # noqa: PLC0415  (an extra)

        client = self._client
        pickled = pickle.dumps((start, arguments))
        key = blake2b(pickled, digest_size=16).hexdigest()
        # Submitted and not scattered: scattered data are lost with the workers that hold them.
        made = client.submit(bytes, pickled, key=f"neardup-state-{key}")
        waiting: deque[Any] = deque()
        rest = iter(tasks)
        try:
            while True:
                workers: dict[str, int] = client.nthreads()  # type: ignore[no-untyped-call]
                while len(waiting) < _AHEAD * max(len(workers), 1):
                    try:
                        task = next(rest)
                    except StopIteration:
                        break
                    waiting.append(
                        client.submit(_run, function, self._after, key, made, task, pure=False)
                    )
                if not waiting:
                    return
                result: Result = self._result(waiting.popleft())
                yield result
        except KilledWorker as error:
            raise NeardupError(
                f"a task took several workers with it, perhaps for want of memory: {error}"
            ) from error
        except (OSError, TimeoutError) as error:
            raise NeardupError(f"the connection with the scheduler broke: {error}") from error
        finally:
            client.cancel([*waiting, made])  # type: ignore[no-untyped-call]

    def _result(self, future: Any) -> Any:
        """Return what a task came to; without workers Dask itself would wait for ever."""
        attended = monotonic()
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.done():
                    return future.result()
            if self._client.nthreads():  # type: ignore[no-untyped-call]
                attended = monotonic()
            elif monotonic() - attended > LONGEST_ALONE:
                raise NeardupError(
                    f"the Dask cluster has had no workers for {LONGEST_ALONE:g} s; start some "
                    "with `dask worker ADDRESS`"
                )


_states: OrderedDict[str, Any] = OrderedDict()
"""States made last in this worker process."""
_lock = Lock()


def _run(
    function: Callable[[Any, Any], Any],
    after: Callable[[Any], Any] | None,
    key: str,
    made: bytes,
    task: Any,
) -> Any:
    """Do one task; one at a time in a process, as open files aren't shared by threads."""
    with _lock:
        result = function(_state(key, made), task)
    return result if after is None else after(result)


def _state(key: str, made: bytes) -> Any:
    if key not in _states:
        while len(_states) >= _HELD_STATES:
            _states.popitem(last=False)
        start, arguments = pickle.loads(made)  # noqa: S301  (what Dask itself does)
        _states[key] = start(*arguments)
    _states.move_to_end(key)
    return _states[key]


def on_cluster(client: Client, job: PairJob) -> PairJob:
    """Return `job` as one that the workers of `client` run.

    Its files must be where all of the workers can read them: on a shared or remote file
    system. Of two collections the smaller one is held in tables and the other streams past
    it, so where there are more queries Q than existing fingerprints F, blocks of F are
    indexed (Abedjan and Flach's formulation).

    The pairs are those of the same job on one machine; with ``group_equal`` those may be
    others, as blocks differ, that connect the same rows.
    """
    sizes: dict[str, Any] = {
        "block_rows": min(job.block_rows, BLOCK_ROWS),
        "part_rows": max(job.part_rows, CHUNK_ROWS),
    }
    if job.existing is None or len(job.collection) <= len(job.existing):
        return replace(job, work=Cluster(client), **sizes)
    work = Cluster(client, after=_turned)
    return replace(job, collection=job.existing, existing=job.collection, work=work, **sizes)


def _turned(found: Found) -> Found:
    order = np.lexsort((found.b, found.a))
    return Found(found.b[order], found.a[order], found.distances[order], found.scanned)


def by_query(results: Iterable[Found]) -> dict[int, dict[int, int]]:
    """Merge results into query row -> {other row: distance}, the paper's reduce."""
    merged: dict[int, dict[int, int]] = {}
    for found in results:
        rows = zip(found.a.tolist(), found.b.tolist(), found.distances.tolist(), strict=True)
        for a, b, distance in rows:
            merged.setdefault(a, {})[b] = distance
    return merged


def clusters_on(client: Client, job: PairJob) -> NDArray[np.int64]:
    """Return the connected components of the pairs of `job`, a job of one collection.

    The workers reduce the pairs of each chunk to a forest, so that fewer edges travel than
    there are rows, however many pairs there are.

    Returns
    -------
    labels
        Shape (n,), int64: the smallest row that each is connected with.
    """
    if job.existing is not None:
        raise ConfigurationError("clusters are those of one collection")
    sets = UnionFind(len(job.collection))
    for found in replace(on_cluster(client, job), work=Cluster(client, after=_forest)).run():
        sets.union_many(found.a, found.b)
    return sets.labels()


def _forest(found: Found) -> Found:
    """Return pairs that connect what `found` connects, without circles."""
    i, j = forest(found.a, found.b)
    return Found(i, j, np.zeros(len(i), np.uint8), found.scanned)


def fingerprint_on(
    client: Client, inputs: Sequence[str], folder: str, parameters: Parameters
) -> list[str]:
    """Have the workers make a Parquet file of fingerprints of each file of pages.

    Parameters
    ----------
    inputs
        WARC, JSON lines, Parquet or HTML files; a task each.
    folder
        Where the results go, as ``00000.parquet`` and so on, in the order of `inputs`.
    parameters
        How fingerprints are made; recorded in the files.

    Returns
    -------
    list of str
        The paths of the results, for `open_source`.
    """
    tasks = [
        PageFile(path, f"{folder.rstrip('/')}/{number:05}.parquet")
        for number, path in enumerate(inputs)
    ]
    work = Cluster(client)
    for _ in work(fingerprint_file, tasks, jobs=1, start=Analyser, arguments=(parameters,)):
        pass
    return [task.target for task in tasks]
