"""Interpolation search (Perl & Reingold 1977; Manku et al. 2007, section 3.2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import isqrt

_NARROW = 512
"""Number of keys at which bisection takes over: all its steps, in C, cost less than one here."""


def interpolation_search(keys: Sequence[int] | memoryview, value: int, bits: int = 64) -> int:
    """Return the first place in sorted `keys` whose key is not less than `value`.

    Parameters
    ----------
    keys
        Non-decreasing integers of at most `bits` bits.
    value
        What is looked for, of at most `bits` bits.

    Returns
    -------
    int
        As `bisect.bisect_left`: ``len(keys)`` if all keys are less.

    Notes
    -----
    O(log log n) expected for uniform keys. From where the key is expected, steps of the
    square root of the width, then doubling, enclose it; the enclosed keys are searched in
    the same way. As steps double, no distribution makes it worse than O(log^2 n).
    """
    low, high = 0, len(keys)
    floor, ceiling = 0, 1 << bits
    while high - low > _NARROW:
        guess = low + (value - floor) * (high - low) // (ceiling - floor)
        guess = min(max(guess, low), high - 1)
        step = isqrt(high - low)
        if keys[guess] < value:
            while guess < high and (key := keys[guess]) < value:
                low, floor = guess + 1, key
                guess += step
                step *= 2
            if guess < high:
                high, ceiling = guess, key
        else:
            while guess >= low and (key := keys[guess]) >= value:
                high, ceiling = guess, key
                guess -= step
                step *= 2
            if guess >= low:
                low, floor = guess + 1, key
    return bisect_left(keys, value, low, high)
