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
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.offline.readers.files import required, using_temporary

if TYPE_CHECKING:
    from distributed import Client

if sys.platform != "win32":
    from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask

_AHEAD = 3
"""Number of running tasks per process, plus one: enough that no process waits for the parent, and
few enough that the parent holds few results."""


class Workers(ABC):
    """Does tasks in `size` processes, each with a state that is made once for each run."""

    size = 1

    def __call__(
        self, start: Callable[..., Any], tasks: Iterable[Any], *arguments: Any
    ) -> Generator[Any]:
        """Yield the result of each task in order; ``start(*arguments)`` makes a process's state.

        A few tasks are begun ahead. If the run is ended early, for example by an interrupt, tasks
        that have begun are finished; a second interrupt ends processes of this machine at once.
        """
        waiting: deque[Any] = deque()
        with self._running(pickle.dumps((start, arguments))) as submit:
            try:
                for task in tasks:
                    waiting.append(submit(task))
                    if len(waiting) > _AHEAD * self.size:
                        yield self._result(waiting.popleft())
                while waiting:
                    yield self._result(waiting.popleft())
            finally:
                for future in waiting:
                    future.cancel()

    @abstractmethod
    def _running(self, state: bytes) -> AbstractContextManager[Callable[[Any], Any]]:
        """Yield what begins a task, given the pickled state."""

    def _result(self, future: Any) -> Any:
        return future.result()


class Processes(Workers):
    """Processes of this machine that do one run of tasks after the other; a context manager.

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
        processes = {*active_children()} - self._others
        try:
            if self._pool is not None:
                # The pool itself joins a thread. If an interrupt ends that, CPython before 3.13
                # takes the thread for ended (in `_wait_for_tstate_lock`) and may never end itself.
                self._pool.shutdown(wait=False, cancel_futures=True)
                for process in processes:
                    while process.is_alive():  # joined by that thread at the same time
                        process.join()
        finally:  # left by a second interrupt, or by an interrupt while the pool was made
            for process in processes:
                process.kill()

    def __call__(
        self, start: Callable[..., Any], tasks: Iterable[Any], *arguments: Any
    ) -> Generator[Any]:
        """See `Workers`."""
        rest = iter(tasks)
        first = [*islice(rest, 2)] if self.size > 1 else []
        if len(first) < 2:
            yield from map(start(*arguments), chain(first, rest))
        else:
            yield from super().__call__(start, chain(first, rest), *arguments)

    @contextmanager
    def _running(self, state: bytes) -> Iterator[Callable[[Any], Any]]:
        with TemporaryDirectory(prefix="neardup-") as folder:
            made = Path(folder, "state")  # in a file, as it may have megabytes
            with using_temporary():
                made.write_bytes(state)

            def submit(task: Any) -> Future[Any]:
                if self._pool is None:  # its helper process, which comes first, unblocks SIGINT
                    context = get_context("spawn")
                    self._pool = ProcessPoolExecutor(self.size, context, _begin)
                with _deaf_to_interrupts():
                    return self._pool.submit(_run, made, task)

            try:
                yield submit
            except BrokenProcessPool as error:
                raise NeardupError(
                    f"one of {self.size} processes was killed, perhaps for lack of memory; use"
                    " fewer --jobs"
                ) from error


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


class Cluster(Workers):
    """The worker processes of a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of workers, at least one."""
        return max(1, len(self._client.nthreads()))  # type: ignore[no-untyped-call]

    @contextmanager
    def _running(self, state: bytes) -> Iterator[Callable[[Any], Any]]:
        import dask  # noqa: PLC0415  (an extra)
        from distributed import KilledWorker  # noqa: PLC0415

        client = self._client
        # Dask recommends to scatter large data, but scattered data are lost with the workers that
        # hold them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            made: Any = client.submit(bytes, state)
        try:
            yield lambda task: client.submit(_run, made, task, pure=False)
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
                return future.result(timeout=1.0)  # then it looks for workers
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


@contextmanager
def workers(address: str | None, jobs: int = 1) -> Iterator[Workers]:
    """Yield the cluster of the scheduler at this address (``tcp://HOST:8786``).

    Without an address, yield `jobs` processes of this machine.
    """
    if address is None:
        with Processes(jobs) as work:
            yield work
        return
    what = "NEARDUP_SCHEDULER needs the package distributed"
    distributed = required(what, "distributed", "dask", ConfigurationError)
    if not re.search(r"[:/]\d+$", address):  # closing a Client would take a minute
        raise ConfigurationError(f"NEARDUP_SCHEDULER {address}: not of the form tcp://HOST:8786")
    try:
        client = distributed.Client(address, set_as_default=False)
    except ValueError as error:
        raise ConfigurationError(f"NEARDUP_SCHEDULER {address}: {error}") from error
    except OSError as error:
        raise NeardupError(
            f"NEARDUP_SCHEDULER {address}: no Dask scheduler answers there; start one with"
            " `dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from error
    with client:
        yield Cluster(client)


_lock = Lock()


@lru_cache(1)
def _state(made: Path | bytes) -> Any:
    """Return the state for a run's tasks, made once in each process from a pickle or its file."""
    pickled = made if isinstance(made, bytes) else made.read_bytes()
    start, arguments = pickle.loads(pickled)  # noqa: S301  (what the parent wrote; as Dask does)
    return start(*arguments)


def _run(made: Path | bytes, task: Any) -> Any:
    """Do one task; only one at a time in a process, because threads can't share open files."""
    with _lock:
        return _state(made)(task)


_LEAST = 1 << 23
"""Minimum memory to work in, in bytes."""
_UNKNOWN = 100 << 20
"""Assumed memory of Python and its packages in bytes, if the system doesn't tell."""


def left_of(memory: int, held: int) -> int:
    """Return the bytes of a process's `memory` that remain for a step that holds `held`."""
    resident = _UNKNOWN
    if sys.platform == "linux":
        import resource  # noqa: PLC0415  (no such module on Windows)

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        resident = pages * resource.getpagesize()
    return max(_LEAST, memory - resident - held)


def release() -> None:
    """Return freed memory to the system, if the allocator keeps it (glibc)."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  (10 ms)

        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
