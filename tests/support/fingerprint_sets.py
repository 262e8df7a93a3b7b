"""Fingerprints for the tests of tables, and brute force over them."""

import numpy as np


def uniform(random, count):
    return random.integers(0, 2**64, count, dtype=np.uint64)


def clustered(random, count, *, clusters=8, flips=4):
    """Fingerprints within `flips` bits of a few centres; some of them equal."""
    centres = uniform(random, clusters)
    found = centres[random.integers(0, clusters, count)]
    for _ in range(flips):
        found = found ^ (np.uint64(1) << random.integers(0, 64, count, dtype=np.uint64))
    return found


def biased(random, count):
    """Fingerprints that share most of their leading bits, and so their tables' buckets."""
    return uniform(random, count) >> random.integers(20, 60, count, dtype=np.uint64)


KINDS = {"uniform": uniform, "clustered": clustered, "biased": biased}


def pairs(queries, scanned, max_distance):
    """Every (place in scanned, place in queries, distance) within the distance."""
    return {
        (place, int(query), int(distances[query]))
        for place, fingerprint in enumerate(scanned)
        for distances in [np.bitwise_count(queries ^ fingerprint)]
        for query in np.flatnonzero(distances <= max_distance)
    }


def self_pairs(fingerprints, max_distance):
    """Every (a, b, distance) within the distance, with a < b."""
    found = pairs(fingerprints, fingerprints, max_distance)
    return {(a, b, distance) for a, b, distance in found if a < b}
