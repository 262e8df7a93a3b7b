"""Interrupts (SIGINT, Ctrl-C) that come where Python must not, or can't, raise them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, getsignal, signal
from threading import Timer, current_thread, main_thread
from types import FrameType

AGAIN_SECONDS = 0.01
"""Seconds after which an interrupt that was dropped comes again."""


@contextmanager
def held(at_first: Callable[[], object] | None = None) -> Iterator[None]:
    """Hold interrupts back until the block is over.

    Parameters
    ----------
    at_first
        Is called when the first interrupt comes, to end the block early. With it, a second
        interrupt is raised where it comes; without, all of them wait.

    Notes
    -----
    A mask of the main thread doesn't do this: another thread takes the signal, and Python raises
    it in the main one all the same.
    """
    before = getsignal(SIGINT)
    # Ignored, or not Python's business; only the main thread may set a handler.
    if not callable(before) or current_thread() is not main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        waiting.append((number, frame))
        if at_first is not None:
            if len(waiting) > 1:
                before(number, frame)
            at_first()

    signal(SIGINT, hold)
    try:
        yield
    finally:
        signal(SIGINT, before)
        if waiting:
            before(*waiting[0])


@contextmanager
def insistent() -> Iterator[None]:
    """Let an interrupt come again that Python drops.

    It drops what is raised in a callback of a weak reference, of which each import has one, or in
    a ``__del__``.
    """
    before = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is KeyboardInterrupt:
            Timer(AGAIN_SECONDS, _interrupt).start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt() -> None:
    """Interrupt the main thread, also where it waits in a call of the system."""
    if sys.platform == "win32":
        from _thread import interrupt_main  # noqa: PLC0415

        interrupt_main()
    else:
        from signal import pthread_kill  # noqa: PLC0415

        pthread_kill(main_thread().ident or 0, SIGINT)
