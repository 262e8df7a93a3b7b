"""Functions over tasks in several processes, results in their order.

Nothing is forked, as the parent may have threads; no process outlives the parent; and no more
results wait than a few for each process.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import Any, Protocol, TypeVar

from scrapy_neardup.errors import NeardupError

if sys.platform != "win32":
    from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask

_AHEAD = 3
"""Number of tasks in flight per process: enough that none waits for the parent."""

State = TypeVar("State")
Task = TypeVar("Task")
Result = TypeVar("Result")


class Parallel(Protocol):
    """A function that runs another over tasks, as `parallel` does on one machine."""

    def __call__(
        self,
        function: Callable[[State, Task], Result],
        tasks: Iterable[Task],
        *,
        jobs: int,
        start: Callable[..., State],
        arguments: tuple[Any, ...],
    ) -> Generator[Result]:
        """See `parallel`."""


def parallel(
    function: Callable[[State, Task], Result],
    tasks: Iterable[Task],
    *,
    jobs: int,
    start: Callable[..., State],
    arguments: tuple[Any, ...],
) -> Generator[Result]:
    """Yield ``function(state, task)`` for each task, in order.

    If it is ended early, by an interrupt for example, tasks that have begun are finished; a second
    interrupt ends the processes at once.

    Parameters
    ----------
    jobs
        Processes; with 1, the work is done in this one.
    start, arguments
        ``start(*arguments)`` is the state of a process, made once.
    """
    if jobs == 1:
        state = start(*arguments)
        for task in tasks:
            yield function(state, task)
        return
    waiting: deque[Future[Result]] = deque()
    others = {*active_children()}
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (start, arguments))
    try:
        for task in tasks:
            with _deaf_to_interrupts():
                waiting.append(pool.submit(_run, function, task))
            if len(waiting) > jobs * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise NeardupError(
            f"one of {jobs} processes was killed, perhaps for want of memory; use fewer --jobs"
        ) from error
    finally:
        try:
            pool.shutdown(cancel_futures=True)
        finally:  # left by a second interrupt, or by one while the pool was made
            for process in {*active_children()} - others:
                process.kill()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Have processes that are started here inherit a mask: a Ctrl-C is the parent's business."""
    if sys.platform == "win32":
        yield
        return
    mask = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, mask)


_state: Any = None
"""State that the processes of a pool share, set in each of them."""


def _begin(start: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Make this process one of a pool: it ends with its parent, however that ends."""
    global _state  # noqa: PLW0603  (what a pool's initializer is for)
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _state = start(*arguments)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _run(function: Callable[[Any, Any], Any], task: Any) -> Any:
    return function(_state, task)
