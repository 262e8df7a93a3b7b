"""Event loops for the verbs that talk to a store."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from signal import SIGINT, getsignal, signal
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Do as `asyncio.run` does, in a loop of `running`."""
    try:
        with running() as runner:
            return runner.run(coroutine)
    finally:
        coroutine.close()


@contextmanager
def running() -> Iterator[asyncio.Runner]:
    """Yield a runner whose loop is there.

    An interrupt waits until it is: an event loop that is half made complains when it goes.
    """
    runner = asyncio.Runner()
    try:
        with _interrupts_held():
            runner.get_loop()
        yield runner
    finally:
        runner.close()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    before = getsignal(SIGINT)
    if not callable(before):  # ignored, or not Python's business
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal(SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal(SIGINT, before)
    if held:
        before(*held[0])
