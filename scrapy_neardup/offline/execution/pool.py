"""Tasks done in several processes, results in their order; and how much memory is left.

Nothing is forked, as the parent may have threads; no process outlives the parent.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Self

from scrapy_neardup.errors import NeardupError

if sys.platform != "win32":
    from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask

_AHEAD = 3
"""Number of tasks in flight per process: enough that none waits for the parent."""


class Processes:
    """Processes of this machine that do one run of tasks after the other; a context manager.

    They are `size`, or with 1 this process, which also does a single task. They are started by the
    first run, as importing what they need takes each half a second.
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
        """Yield the result for each task, in order, of ``start(*arguments)``, made once a process.

        If it is ended early, by an interrupt for example, tasks that have begun are finished; a
        second interrupt ends the processes at once.
        """
        rest = iter(tasks)
        first = [*islice(rest, 2)] if self.size > 1 else []
        if len(first) < 2:
            yield from map(start(*arguments), chain(first, rest))
            return
        waiting: deque[Future[Any]] = deque()
        with TemporaryDirectory(prefix="neardup-") as folder:
            made = Path(folder, "state")  # in a file, as it may have megabytes
            made.write_bytes(pickle.dumps((start, arguments)))
            try:
                for task in chain(first, rest):
                    with _deaf_to_interrupts():
                        waiting.append(self._started().submit(_run, made, task))
                    if len(waiting) > self.size * _AHEAD:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            except BrokenProcessPool as error:
                raise NeardupError(
                    f"one of {self.size} processes was killed, perhaps for want of memory; use"
                    " fewer --jobs"
                ) from error
            finally:
                for future in waiting:
                    future.cancel()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.size, get_context("spawn"), _begin)
        return self._pool


ALONE = Processes()
"""This process."""


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes with SIGINT blocked: the parent alone handles Ctrl-C."""
    if sys.platform == "win32":
        yield
        return
    mask = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, mask)


def _begin() -> None:
    """Make this process one of a pool: it ends with its parent, however that ends."""
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@lru_cache(1)
def _state(made: Path) -> Any:
    """Return the state that the processes of a pool share, made once in each of them."""
    start, arguments = pickle.loads(made.read_bytes())  # noqa: S301  (what the parent wrote)
    return start(*arguments)


def _run(made: Path, task: Any) -> Any:
    return _state(made)(task)


_LEAST = 1 << 23
"""Minimum bytes to work in."""
_UNKNOWN = 100 << 20
"""Bytes that Python and its packages are taken to have where the system doesn't say."""


def left_of(memory: int, held: int) -> int:
    """Return how many of a process's `memory` bytes are left for a step that holds `held`."""
    return max(_LEAST, memory - _resident() - held)


def _resident() -> int:
    if sys.platform != "linux":
        return _UNKNOWN
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    import resource  # noqa: PLC0415  (no such module on Windows)

    return pages * resource.getpagesize()


def release() -> None:
    """Give memory that was freed back to the system, where its allocator keeps it (glibc)."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  (10 ms)

        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
