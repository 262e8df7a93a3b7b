"""Claims that some requests would show nothing new, with the evidence for and against them.

Every request that a crawl withholds is withheld under a claim. The only evidence is verdicts on
fetched pages: a page that shows the known content that the claim has predicted supports the claim,
a page that is new or can't be read contradicts it. `TRANSITIONS` has the life of a claim. While it
is in force, some of the requests that it covers are made to test it, more at first. The first
contradiction ends it, and the requests that it has withheld are made. It begins again only with
ten times the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

NEEDED: Final = 20
"""Number of requests in a row that must support a claim before it begins."""
LENT: Final = 2
"""The same number if a more general claim is in force, such as ``?sid=`` on the whole host."""
AGAIN: Final = 10
"""Factor of `NEEDED` each time a claim has ended."""
DENSE: Final = 3
"""When a claim begins, one in this number of covered requests is made."""
THINNING: Final = 10
"""Number of covered requests after which the interval between two tests grows by one request."""
ENOUGH: Final = 60
"""Number of requests that must have tested a claim before a crawl ends by itself. Then at most
3/60 of the withheld requests lead to something new, with 95 % confidence (the rule of three)."""

MAX_NAMES: Final = 8
"""Maximum number of parameters of a URL that are examined."""
MAX_EXAMPLE: Final = 240
"""Maximum characters of a URL that is kept as an example."""

Pair = tuple[str, str]
"""The URLs of two fetched pages; the second is ``""`` if it isn't known."""


class State(StrEnum):
    """The states of a claim."""

    OPEN = "open"
    IN_FORCE = "in force"
    ENDED = "ended"


class Event(StrEnum):
    """The events of a claim."""

    CONFIRMED = "enough requests in a row support it"
    CONTRADICTED = "a page contradicts it"


TRANSITIONS: Final = {
    (State.OPEN, Event.CONFIRMED): State.IN_FORCE,
    (State.OPEN, Event.CONTRADICTED): State.OPEN,
    (State.IN_FORCE, Event.CONFIRMED): State.IN_FORCE,
    (State.IN_FORCE, Event.CONTRADICTED): State.ENDED,
    (State.ENDED, Event.CONFIRMED): State.IN_FORCE,
    (State.ENDED, Event.CONTRADICTED): State.ENDED,
}
"""(state, event) -> next state."""


@dataclass(slots=True)
class Claim:
    """One claim."""

    state: State = State.OPEN
    streak: int = 0
    """Number of requests that have supported it since the last contradiction."""
    supports: int = 0
    """Number of all requests that supported it before it began."""
    ended: int = 0
    """Number of times that it has ended."""
    covered: int = 0
    """Number of requests that it has covered while in force, made or withheld."""
    withheld: int = 0
    """Number of covered requests that weren't made, or not yet."""
    checks: int = 0
    """Number of pages that have tested it since it began."""
    since_test: int = 0
    """Number of requests withheld since the last one that was made."""
    examined: int = 0
    """The `streak` from which on stretches of requests may lack a test (`skipping.untested`)."""
    example: Pair | None = None
    """A pair of pages that supports it."""
    counter: Pair | None = None
    """The last pair that contradicted it."""
    values: tuple[int, ...] = ()
    """For each parameter, the first `NEEDED` values with which it had no effect."""

    @property
    def is_in_force(self) -> bool:
        """Whether requests are withheld under it."""
        return self.state is State.IN_FORCE

    def covers(self, values: Iterable[int]) -> bool:
        """Return whether each parameter has had no effect with its value, or `is_free`."""
        return all(value in self.values or self.is_free(value) for value in values)

    def see(self, values: Iterable[int]) -> None:
        """Note the values with which the parameters had no effect (`Part.values`)."""
        for value in values:
            if not self.covers((value,)):
                self.values += (value,)

    def is_free(self, value: int) -> bool:
        """Return whether the parameter of this value has had no effect with `NEEDED` values."""
        return sum(not (each - value) % MAX_NAMES for each in self.values) >= NEEDED

    def support(self, pair: Pair, *, is_lent: bool = False) -> bool:
        """Note that a page supports the claim; return whether the claim begins."""
        self.streak += 1
        if self.example is None and pair[1]:
            self.example = shortened(pair)
        if self.is_in_force:
            self.checks += 1
            return False
        self.supports += 1
        needed = LENT if is_lent and not self.ended else NEEDED * AGAIN**self.ended
        return self.streak >= needed and self._passes(Event.CONFIRMED)

    def contradict(self, pair: Pair) -> bool:
        """Note that a page contradicts the claim; return whether the claim ends."""
        return self._contradicted(shortened(pair), self.ended + self.is_in_force)

    def is_due(self, draw: float, explore: float) -> bool:
        """Return whether a request that it covers is made to test it.

        `draw` is a number from 0 to 1 that depends on the request, `explore` the share of requests
        that is made in the long run; 0 makes none.
        """
        interval = DENSE + self.covered // THINNING
        share = max(explore, 1 / interval) if explore else 0.0
        return draw < share or (share > 0 and self.since_test >= 3 / share)

    def cover(self, *, is_made: bool) -> None:
        """Count a request that it covers."""
        self.covered += 1
        self.withheld += not is_made
        self.since_test = 0 if is_made else self.since_test + 1

    def merge(self, other: Claim) -> bool:
        """Add what another crawler knows; return whether the claim begins or ends."""
        if other.ended > self.ended:
            return self._contradicted(other.counter, other.ended)
        if other.ended < self.ended or self.is_in_force:
            return False
        self.streak = max(self.streak, other.streak)
        self.supports = max(self.supports, other.supports)
        self.example = self.example or other.example
        self.see(other.values)
        return other.is_in_force and self._passes(Event.CONFIRMED)

    def dump(self) -> list[Any]:
        """Return the claim in types of JSON."""
        return [getattr(self, each.name) for each in fields(self)]

    @classmethod
    def load(cls, dump: list[Any]) -> Self:
        """Restore the output of `dump`; raise `ValueError` or `TypeError` for anything else."""
        state, *numbers, example, counter, given = dump
        if len(dump) != len(fields(cls)):
            raise ValueError("not a claim")
        values: list[Any] = [
            *map(_checked, numbers), pair_of(example), pair_of(counter),
            tuple(map(_checked, given))[: MAX_NAMES * NEEDED],
        ]  # fmt: skip
        return cls(State(state), *values)

    def _contradicted(self, pair: Pair | None, ended: int) -> bool:
        """Start anew after the claim has `ended` this many times; return whether it ends now."""
        self.counter, self.ended = pair, ended
        self.values = ()
        self.streak = self.covered = self.checks = self.since_test = self.examined = 0
        return self._passes(Event.CONTRADICTED)

    def _passes(self, event: Event) -> bool:
        """Go to the next state; return whether the claim begins or ends."""
        before, self.state = self.state, TRANSITIONS[self.state, event]
        return self.state is not before


class Change(NamedTuple):
    """A claim that begins, or ends."""

    key: Any
    """What it is about (`scrapy_neardup.claims.host.Key`)."""
    claim: Claim
    begins: bool
    pair: Pair
    """The URLs that decided."""


def bound(tests: int) -> float:
    """Return the maximum share of withheld requests that differ, with a confidence of 95 %.

    `tests` is the number of tests in a row that haven't contradicted the claim.
    """
    return min(1.0, 3 / tests) if tests else 1.0


def shortened(pair: Pair) -> Pair:
    """Return a pair of URLs that may be kept as an example."""
    return pair[0][:MAX_EXAMPLE], pair[1][:MAX_EXAMPLE]


def pair_of(value: object) -> Pair | None:
    """Return the pair of URLs that JSON has; raise `ValueError` for anything else."""
    match value:
        case None:
            return None
        case [str(one), str(other)]:
            return shortened((one, other))
    raise ValueError("not a pair of URLs")


def _checked(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 1 << 40:
        raise ValueError("not a number of requests")
    return number
