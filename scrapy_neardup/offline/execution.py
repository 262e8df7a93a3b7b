"""Tasks in several processes or on a Dask cluster, with results in order; and free memory.

Processes aren't forked, because the parent may have threads. No process outlives the parent. On a
cluster a task may run twice, if its worker dies. So it must only read, or write a file that
appears when it is complete.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import SEEK_CUR, BytesIO
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from tempfile import NamedTemporaryFile, TemporaryDirectory
from threading import Lock, Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Self, cast

from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.offline.readers.files import required

if TYPE_CHECKING:
    from distributed import Client

if sys.platform != "win32":
    from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask

_AHEAD = 3
"""Number of running tasks per process, plus one: enough that no process waits for the parent, and
few enough that the parent holds few results."""


class Processes:
    """Processes of this machine that do one run of tasks after another; a context manager.

    There are `size` processes. With 1, and for a single task, it is this process. The first run
    starts the processes, because their imports take half a second each.
    """

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self._pool: ProcessPoolExecutor | None = None
        self._others = {*active_children()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
        finally:  # left by a second interrupt, or by one while the pool was made
            for process in {*active_children()} - self._others:
                process.kill()

    def __call__(
        self, start: Callable[..., Any], tasks: Iterable[Any], *arguments: Any
    ) -> Generator[Any]:
        """Yield the result of each task in order; each process calls ``start(*arguments)`` once.

        If it ends early, for example by an interrupt, running tasks are finished; a
        second interrupt ends the processes at once.
        """
        return self._done(_run, start, tasks, arguments)

    def stream(
        self, start: Callable[..., Any], tasks: Iterable[Any], *arguments: Any
    ) -> Generator[Any]:
        """Yield the results that each task yields, in order; processes pass them in files.

        An error of a task is raised after its results.
        """
        for found in self._done(_run_to_file, start, tasks, arguments):
            if isinstance(found, Path):
                with found.open("rb") as file:
                    yield from _unpickled(file)
                found.unlink()
            else:
                yield from found

    def _done(
        self,
        run: Callable[[Path, Any], Any],
        start: Callable[..., Any],
        tasks: Iterable[Any],
        arguments: tuple[Any, ...],
    ) -> Generator[Any]:
        rest = iter(tasks)
        first = [*islice(rest, 2)] if self.size > 1 else []
        if len(first) < 2:
            yield from map(start(*arguments), chain(first, rest))
            return
        with TemporaryDirectory(prefix="neardup-") as folder:
            made = Path(folder, "state")  # in a file, as it may have megabytes
            made.write_bytes(pickle.dumps((start, arguments)))
            futures = (self._submit(run, made, task) for task in chain(first, rest))
            try:
                yield from _in_order(self, futures, Future.result)
            except BrokenProcessPool as error:
                raise NeardupError(
                    f"one of {self.size} processes was killed, perhaps for lack of memory; use"
                    " fewer --jobs"
                ) from error

    def _submit(self, run: Callable[[Path, Any], Any], made: Path, task: Any) -> Future[Any]:
        with _deaf_to_interrupts():
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self.size, get_context("spawn"), _begin)
            return self._pool.submit(run, made, task)


ALONE = Processes()
"""This process."""


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes with SIGINT blocked, so that only the parent handles Ctrl-C."""
    if sys.platform == "win32":
        yield
        return
    mask = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, mask)


def _begin() -> None:
    """Make this process one of a pool, which always ends with its parent."""
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


LONGEST_ALONE = 60.0
"""Seconds that a cluster may be without workers before its tasks are given up."""

_LOOK = 1.0
"""Seconds between two checks for workers while a result is awaited."""


def _connected(address: str) -> Client:
    """Return a client of the scheduler at `address` (``tcp://HOST:8786``)."""
    what = "NEARDUP_SCHEDULER needs the package distributed"
    distributed = required(what, "distributed", "dask", ConfigurationError)
    if not re.search(r"[:/]\d+$", address):  # a Client would be closed for a minute
        raise ConfigurationError(f"NEARDUP_SCHEDULER {address}: no address as tcp://HOST:8786")
    try:
        client: Client = distributed.Client(address, set_as_default=False)
    except ValueError as error:
        raise ConfigurationError(f"NEARDUP_SCHEDULER {address}: {error}") from error
    except OSError as error:
        raise NeardupError(
            f"NEARDUP_SCHEDULER {address}: no Dask scheduler answers there; start one with"
            " `dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from error
    return client


class Cluster:
    """The worker processes of a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def size(self) -> int:
        """Number of workers, at least one."""
        return max(1, len(self._client.nthreads()))  # type: ignore[no-untyped-call]

    def __call__(
        self, start: Callable[..., Any], tasks: Iterable[Any], *arguments: Any
    ) -> Generator[Any]:
        """Yield the result of each task in order; see `Processes`."""
        return self._done(_run, start, tasks, arguments)

    def stream(
        self, start: Callable[..., Any], tasks: Iterable[Any], *arguments: Any
    ) -> Generator[Any]:
        """Yield the results that each task yields, in order; see `Processes`."""
        for found in self._done(_run_to_bytes, start, tasks, arguments):
            yield from _unpickled(BytesIO(found))

    def _done(
        self,
        run: Callable[[bytes, Any], Any],
        start: Callable[..., Any],
        tasks: Iterable[Any],
        arguments: tuple[Any, ...],
    ) -> Generator[Any]:
        import dask  # noqa: PLC0415  (an extra)
        from distributed import KilledWorker  # noqa: PLC0415

        client = self._client
        # Submitted and not scattered, which Dask warns of: scattered data are lost with the
        # workers that hold them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            made: Any = client.submit(bytes, pickle.dumps((start, arguments)))
        futures = (client.submit(run, made, task, pure=False) for task in tasks)
        try:
            yield from _in_order(self, futures, self._result)
        except KilledWorker as error:
            raise NeardupError(
                f"a task took several workers with it, perhaps for lack of memory: {error}"
            ) from error
        except (OSError, TimeoutError) as error:
            raise NeardupError(f"the connection with the scheduler broke: {error}") from error
        finally:
            made.cancel()

    def _result(self, future: Any) -> Any:
        """Wait for a result; without workers Dask itself would wait for ever."""
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


Workers = Processes | Cluster
"""An executor of tasks."""


@contextmanager
def workers(address: str | None, jobs: int = 1) -> Iterator[Workers]:
    """Yield the cluster at this address, or without one `jobs` processes of this machine."""
    if address is None:
        with Processes(jobs) as work:
            yield work
    else:
        with _connected(address) as client:
            yield Cluster(client)


def _in_order(
    work: Workers, futures: Iterable[Any], result: Callable[[Any], Any]
) -> Generator[Any]:
    """Yield the results of futures, with a few submitted ahead; cancel the rest at the end."""
    waiting: deque[Any] = deque()
    try:
        for future in futures:
            waiting.append(future)
            if len(waiting) > _AHEAD * work.size:
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()


_lock = Lock()


@lru_cache(1)
def _state(made: Path | bytes) -> Any:
    """Return the state for a run's tasks, made once a process from a pickle or its file."""
    pickled = made if isinstance(made, bytes) else made.read_bytes()
    start, arguments = pickle.loads(pickled)  # noqa: S301  (what the parent wrote; as Dask does)
    return start(*arguments)


def _run(made: Path | bytes, task: Any) -> Any:
    """Do one task; only one at a time in a process, because threads can't share open files."""
    with _lock:
        return _state(made)(task)


_TOGETHER = 64
"""Number of the results of a task that are pickled together."""


def _pickle(made: Path | bytes, task: Any, file: IO[bytes]) -> None:
    """Write a task's results to a file, some at a time, and then its error if it has one."""
    found: list[Any] = []
    with _lock:
        try:
            for each in _state(made)(task):
                found.append(each)
                if len(found) == _TOGETHER:
                    pickle.dump(found, file, pickle.HIGHEST_PROTOCOL)
                    found = []
        except NeardupError as error:
            pickle.dump(found, file, pickle.HIGHEST_PROTOCOL)
            pickle.dump(error, file, pickle.HIGHEST_PROTOCOL)
        else:
            pickle.dump(found, file, pickle.HIGHEST_PROTOCOL)


def _run_to_file(made: Path, task: Any) -> Path:
    with NamedTemporaryFile(dir=made.parent, delete=False) as file:
        _pickle(made, task, cast("IO[bytes]", file))
    return Path(file.name)


def _run_to_bytes(made: bytes, task: Any) -> bytes:
    _pickle(made, task, file := BytesIO())
    return file.getvalue()


def _unpickled(file: IO[bytes]) -> Iterator[Any]:
    while file.read(1):
        file.seek(-1, SEEK_CUR)
        found = pickle.load(file)  # noqa: S301  (what our own processes wrote; as Dask does)
        if isinstance(found, NeardupError):
            raise found
        yield from found


_LEAST = 1 << 23
"""Minimum memory to work in, in bytes."""
_UNKNOWN = 100 << 20
"""Assumed memory of Python and its packages in bytes, if the system doesn't tell."""


def left_of(memory: int, held: int) -> int:
    """Return the bytes of a process's `memory` that remain for a step that holds `held`."""
    return max(_LEAST, memory - _resident() - held)


def _resident() -> int:
    if sys.platform != "linux":
        return _UNKNOWN
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    import resource  # noqa: PLC0415  (no such module on Windows)

    return pages * resource.getpagesize()


def release() -> None:
    """Return freed memory to the system, if the allocator keeps it (glibc)."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  (10 ms)

        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
