"""An event loop whose clock jumps to the next timer once nothing else is to be done.

Tests that wait take no time in it, and none depends on how fast a machine is, or on what else it
does at the time. It is for what waits for timers alone: while a thread, a socket or a process is
waited for, the clock goes on as well.
"""

import asyncio
import selectors


class _Jumping(selectors.DefaultSelector):
    """Passes over the time for which nothing happens."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        happened = super().select(timeout and 0)
        if timeout and not happened:
            self.passed += timeout
        return happened


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.passed
