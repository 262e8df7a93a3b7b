"""The CPU time of a call, for tests that compare what two sizes of a thing cost."""

import gc
import time
from collections.abc import Callable

LEAST, ENOUGH = 0.002, 0.2
"""Seconds below which nothing can be told, and those after which no call is repeated."""


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
