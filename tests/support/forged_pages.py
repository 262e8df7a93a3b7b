"""Pages that share no shingle with another one and look the same to who knows the key."""

from __future__ import annotations

import random
from functools import partial

import numpy as np

from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.minwise import minima_of
from scrapy_neardup.fingerprints.shingles import hashes_of

SHINGLE, BINS, BITS = 4, 512, 2
_RANK = np.uint64((1 << 53) - 1)
_MARGIN = 3.0
"""Shingles by which a bit of the fingerprint should lead before others are seen to."""


def random_words(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(count)]


def forged(victim: str, fingerprint: int, seed: int = 1) -> str:
    """Write words whose shingles have this fingerprint, and the sketch of the victim's text."""
    hashed = partial(token_hashes, key=None)
    wanted = _values(minima_of(hashes_of(hashed(victim), SHINGLE), BINS))
    signs = np.where(_bits(np.array([fingerprint], np.uint64))[0], 1, -1)
    vocabulary = random_words(4000, seed)
    tokens = hashed(" ".join(vocabulary))
    chosen = [0, 1, 2]
    held = np.full(BINS, _RANK)
    is_held = np.zeros(BINS, np.bool_)
    lead = np.zeros(64)
    while not (is_held.all() and (lead > 0).all()):
        runs = np.empty((len(tokens), SHINGLE), np.uint64)
        runs[:, :3], runs[:, 3] = tokens[chosen[-3:]], tokens
        shingles = np.array(hashes_of(runs.ravel(), SHINGLE)[::SHINGLE])
        bins, ranks = shingles >> np.uint64(55), shingles & _RANK
        fits = ~is_held[bins] & (_values(ranks) == wanted[bins])
        if not fits.any():
            fits = is_held[bins] & (ranks > held[bins])
        fits[chosen] = False
        places = np.flatnonzero(fits)
        gains = signs * (2 * _bits(shingles[places]).astype(np.int64) - 1)
        best = np.exp((-gains - lead) / _MARGIN).sum(axis=1).argmin()
        place = int(places[best])
        chosen.append(place)
        lead += gains[best]
        if not is_held[bins[place]]:
            is_held[bins[place]], held[bins[place]] = True, ranks[place]
    return " ".join(vocabulary[place] for place in chosen)


def _values(minima: np.ndarray) -> np.ndarray:
    return PUBLIC.mix(minima.copy()) & np.uint64((1 << BITS) - 1)


def _bits(values: np.ndarray) -> np.ndarray:
    octets = np.ascontiguousarray(values, "<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, bitorder="little")
