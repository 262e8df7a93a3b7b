"""Collections to join: random ones with planted near-duplicates, and real texts.

Brute force here is the oracle of the joins: Python's sets and whole numbers, no filters.
"""

import inspect
from itertools import combinations, permutations, product

import numpy as np

BUILTINS = (str, bytes, bytearray, int, float, complex, list, tuple, set, frozenset, dict)


def planted(count, *, seed, vocabulary=300, mean=12, copies=0.4):
    """Random sets with Zipf-like tokens, some of them edited copies of earlier ones."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, vocabulary + 1)
    weights /= weights.sum()
    made = []
    for _ in range(count):
        if made and draw.random() < copies:
            tokens = set(made[draw.integers(len(made))])
            for token in draw.choice(vocabulary, draw.integers(4), p=weights):
                tokens ^= {int(token)}
        else:
            tokens = set(draw.choice(vocabulary, draw.poisson(mean), p=weights).tolist())
        made.append(tokens)
    return made


def real_texts():
    """What the interpreter says of its built-in types: short texts, many nearly the same."""
    return [
        text
        for kind in BUILTINS
        for _, member in inspect.getmembers(kind)
        if (text := getattr(member, "__doc__", None))
    ]


def similarity_reaches(a, b, threshold, measure):
    common, both = len(a & b), len(a) * len(b)
    if measure == "cosine":
        return common > 0 and common**2 >= threshold**2 * both
    measures = {"dice": (2 * common, len(a) + len(b)), "overlap": (common, 1),
                "jaccard": (common, len(a | b)), "containment": (common, len(a))}  # fmt: skip
    shared, whole = measures[measure]
    return common > 0 and shared >= threshold * whole


def brute_self_join(sets, threshold, measure):
    arranged = permutations if measure == "containment" else combinations
    return brute(arranged(enumerate(sets), 2), threshold, measure)


def brute_join(left, right, threshold, measure):
    return brute(product(enumerate(left), enumerate(right)), threshold, measure)


def brute(pairs, threshold, measure):
    return [(i, j) for (i, a), (j, b) in pairs if similarity_reaches(a, b, threshold, measure)]
