"""Pages that share no shingle with another one and look the same to who knows the key."""

import random
from functools import partial

import numpy as np

from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.shingles import hashes_of

SHINGLE, SIZE = 4, 1792
_MARGIN = 3.0
"""Shingles by which a bit of the fingerprint should lead before others are seen to."""


def random_words(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(count)]


def forged(victim: str, fingerprint: int, seed: int = 1) -> str:
    """Write words whose shingles have this fingerprint, and the sketch of the victim's text."""
    hashed = partial(token_hashes, key=None)
    wanted = np.zeros(SIZE, np.bool_)
    wanted[_places(hashes_of(hashed(victim), SHINGLE))] = True
    signs = np.where(_bits(np.array([fingerprint], np.uint64))[0], 1, -1)
    vocabulary = random_words(6000, seed)
    tokens = hashed(" ".join(vocabulary))
    chosen = [0, 1, 2]
    is_set = np.zeros(SIZE, np.bool_)
    lead = np.zeros(64)
    while not ((is_set == wanted).all() and (lead > 0).all()):
        runs = np.empty((len(tokens), SHINGLE), np.uint64)
        runs[:, :3], runs[:, 3] = tokens[chosen[-3:]], tokens
        shingles = np.array(hashes_of(runs.ravel(), SHINGLE)[::SHINGLE])
        bits = _places(shingles)
        fits = wanted[bits] & ~is_set[bits]
        if not fits.any():
            fits = wanted[bits]
        fits[chosen] = False
        places = np.flatnonzero(fits)
        gains = signs * (2 * _bits(shingles[places]).astype(np.int64) - 1)
        best = np.exp((-gains - lead) / _MARGIN).sum(axis=1).argmin()
        place = int(places[best])
        chosen.append(place)
        lead += gains[best]
        is_set[bits[place]] = True
    return " ".join(vocabulary[place] for place in chosen)


def _places(shingles: np.ndarray) -> np.ndarray:
    """The bits of a sketch that shingles set."""
    return (((shingles >> np.uint64(32)) * np.uint64(SIZE)) >> np.uint64(32)).astype(np.int64)


def _bits(values: np.ndarray) -> np.ndarray:
    octets = np.ascontiguousarray(values, "<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, bitorder="little")
