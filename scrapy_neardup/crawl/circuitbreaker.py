"""The connection of a crawl to a store that may fail: a circuit breaker.

After `FAILURES_IN_A_ROW` failures the store isn't called for a second. Then one call probes
whether it answers again. As long as that fails the pauses double, up to `PAUSE_SECONDS`; the first
success ends them (Nygard, *Release It!*, 2007, section 5.2). A call during a pause waits for its
end if that is within the call's patience, and otherwise fails at once. So a short disturbance
costs time but no verdicts, and a dead store costs little time. `TRANSITIONS` has the states.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import StrEnum
from typing import Final

from scrapy_neardup.errors import StoreError
from scrapy_neardup.verdict import Reason

FAILURES_IN_A_ROW: Final = 3
"""Number of failed calls in a row after which the store isn't called for a while."""

FIRST_PAUSE_SECONDS: Final = 1.0
"""Seconds of the first pause."""

PAUSE_SECONDS: Final = 30.0
"""Maximum seconds of a pause."""


class CircuitState(StrEnum):
    """Whether a store is called."""

    CLOSED = "closed"
    """Every call is made."""
    OPEN = "open"
    """No call is made."""
    HALF_OPEN = "half-open"
    """One call is under way, and all others wait for its outcome."""


class CircuitEvent(StrEnum):
    """The events of the connection."""

    FAILED_REPEATEDLY = "the third call in a row, or a later one, fails"
    PAUSE_ENDED = "the pause is over, and a call comes: it probes"
    SUCCEEDED = "a call succeeds"
    PROBE_FAILED = "the call that probes fails: a longer pause"
    PROBE_CANCELLED = "the call that probes is cancelled"


_S, _E = CircuitState, CircuitEvent
TRANSITIONS: Final = {
    (_S.CLOSED, _E.FAILED_REPEATEDLY): _S.OPEN,
    (_S.OPEN, _E.PAUSE_ENDED): _S.HALF_OPEN,
    (_S.OPEN, _E.SUCCEEDED): _S.CLOSED,
    (_S.HALF_OPEN, _E.SUCCEEDED): _S.CLOSED,
    (_S.HALF_OPEN, _E.PROBE_FAILED): _S.OPEN,
    (_S.HALF_OPEN, _E.PROBE_CANCELLED): _S.OPEN,
}
"""(state, event) -> next state. Any other event changes nothing: calls that were made earlier may
end in every state."""


class StoreCallFailedError(StoreError):
    """A store call failed or was not made; `reason` says which."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class CircuitBreaker:
    """Whether calls may be made now."""

    def __init__(self) -> None:
        self.state = CircuitState.CLOSED
        self.failures = 0
        """Number of failures in a row."""
        self._seconds = 0.0
        self._until = 0.0
        self._changed = asyncio.Event()

    async def turn(self, patience: float) -> bool:
        """Wait until a call may be made, at most `patience` seconds; return whether it probes.

        Raises `StoreCallFailedError` if it would take longer.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        while self.state is not CircuitState.CLOSED:
            now, is_probed = loop.time(), self.state is CircuitState.HALF_OPEN
            if not is_probed and now >= self._until:
                self._on(CircuitEvent.PAUSE_ENDED)
                return True
            until = deadline if is_probed else self._until
            if now >= deadline or until > deadline:
                raise self.refusal()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._changed.wait()
        return False

    def refusal(self) -> StoreCallFailedError:
        """Return the error of a call that isn't made."""
        return StoreCallFailedError(Reason.PAUSED, "the store failed repeatedly")

    def failed(self, *, probe: bool) -> None:
        """Note that a call failed."""
        self.failures += 1
        if probe:
            self._on(CircuitEvent.PROBE_FAILED)
        elif self.failures >= FAILURES_IN_A_ROW:
            self._on(CircuitEvent.FAILED_REPEATEDLY)

    def succeeded(self) -> None:
        """Note that a call succeeded: the next pause is a short one again."""
        self.failures = 0
        self._seconds = 0.0
        self._on(CircuitEvent.SUCCEEDED)

    def probed(self) -> None:
        """Note that the call that probes is over. If it had no outcome, it was cancelled."""
        self._on(CircuitEvent.PROBE_CANCELLED)

    def _on(self, event: CircuitEvent) -> None:
        before, self.state = self.state, TRANSITIONS.get((self.state, event), self.state)
        if self.state is before:
            return
        if self.state is CircuitState.OPEN and event is not CircuitEvent.PROBE_CANCELLED:
            self._seconds = min(max(FIRST_PAUSE_SECONDS, 2 * self._seconds), PAUSE_SECONDS)
            self._until = asyncio.get_running_loop().time() + self._seconds
        self._changed.set()
        self._changed = asyncio.Event()
