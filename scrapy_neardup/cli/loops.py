"""Event loops for the verbs that talk to a store."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from scrapy_neardup.interrupts import held

T = TypeVar("T")


class Runner:
    """Runs coroutines in a loop, one at a time.

    An interrupt cancels what runs, between two steps of the loop: `asyncio.Runner` lets it through
    to a task that is half made, and may cancel one in the middle of a step.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what the coroutine returns."""

        def cancel() -> None:
            task.cancel()

        with held(lambda: self._loop.call_soon_threadsafe(cancel)):
            task = self._loop.create_task(coroutine)
            return self._loop.run_until_complete(task)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Do as `asyncio.run` does, in a loop of `running`."""
    try:
        with running() as runner:
            return runner.run(coroutine)
    finally:
        coroutine.close()


@contextmanager
def running() -> Iterator[Runner]:
    """Yield a runner whose loop is there.

    An interrupt waits until it is: an event loop that is half made complains when it goes.
    """
    runner = asyncio.Runner()
    try:
        with held():
            loop = runner.get_loop()
        yield Runner(loop)
    finally:
        runner.close()
