"""Pairs of random sets of hashes of a known resemblance, and sets from hypothesis."""

import numpy as np
from fingerprint_sets import uniform
from hypothesis import strategies as st

HASH_SETS = st.sets(st.integers(0, 2**64 - 1), min_size=1, max_size=120).map(
    lambda hashes: np.array(sorted(hashes), np.uint64)
)


def fixed(count):
    """The same hashes on every machine and for every version of numpy."""
    state, found = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(state ^ state >> 31)
    return np.array(found, np.uint64)


def resembling(random, size, resemblance):
    """Two sets of about `size` hashes each, and their exact resemblance."""
    union = round(2 * size / (1 + resemblance))
    shared = round(resemblance * union)
    hashes = uniform(random, union)
    middle = shared + (union - shared) // 2
    return hashes[:middle], np.concatenate([hashes[:shared], hashes[middle:]]), shared / union
