"""Tests that the CPU time of a call is in proportion to the size of what it is given."""

import gc
import time
from collections.abc import Callable

TIMES = 4
"""How much larger the larger thing is."""
MOST = 2.5 * TIMES
"""What it may cost, in times of the smaller one; in quadratic time it would be 16."""
LEAST, ENOUGH = 0.002, 0.2
"""Seconds below which nothing can be told, and those after which no call is repeated."""


def check_growth(call_of: Callable[[int], Callable[[], object]], size: int) -> None:
    """Compare the calls that `call_of` makes for a thing of this size, and for a larger one."""
    # Both things are made first: one made of the other's freed memory lies scattered.
    calls = [call_of(each) for each in (size, TIMES * size)]
    small, large = map(seconds, calls)
    for _ in range(3):
        if large > MOST * small:  # other work may have slowed it down
            small, large = max(small, seconds(calls[0])), min(large, seconds(calls[1]))
    assert large <= MOST * small, (small, large)


def seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of a call, the least of three, or of fewer that take long.

    That of collecting garbage, which depends on what else there is, isn't counted.
    """
    found: list[float] = []
    gc.disable()
    try:
        while len(found) < 3 and sum(found) < ENOUGH:
            start = time.process_time()
            call()
            found.append(time.process_time() - start)
    finally:
        gc.enable()
    return max(LEAST, min(found))
