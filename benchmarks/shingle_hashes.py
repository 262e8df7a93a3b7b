"""Rabin fingerprints of shingles beside the hash that the plugin takes: speed and collisions.

Both papers of Broder fingerprint shingles by Rabin's method: the bits of a shingle are a
polynomial over GF(2), and its fingerprint the remainder by an irreducible polynomial of degree
64, drawn at random. Two different shingles of w tokens collide for a share of at most
64 w / 2^64 of the polynomials, whoever chose the shingles. For the plugin's hash
(`fingerprints.shingles`) there is no such proof without a key; but a min-wise sample takes the
order of hashes for random, and that of remainders is linear in the input: they would have to be
mixed all the same.

Required: the remainders are those of division by hand, no 64 bits collide, and the leading 32
collide as often as those of random numbers, for both.

    python benchmarks/shingle_hashes.py
    python benchmarks/shingle_hashes.py --quick
"""

from __future__ import annotations

import argparse
import timeit
from functools import cache
from math import sqrt

import numpy as np

from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.shingles import shingle_hashes

SIZE, DEGREE = 4, 64
SHINGLES = 4_000_000


def remainder(dividend: int, divisor: int) -> int:
    """Return the remainder of polynomials over GF(2), their coefficients being bits."""
    while (over := dividend.bit_length() - divisor.bit_length()) >= 0:
        dividend ^= divisor << over
    return dividend


def common_divisor(a: int, b: int) -> int:
    while b:
        a, b = b, remainder(a, b)
    return a


def squared(a: int) -> int:
    """Return the square: over GF(2), a 0 between any two bits."""
    return int(f"{a:b}", 4)


def irreducible(polynomial: int) -> bool:
    """Ben-Or's test: no divisor in common with x^(2^i) - x up to half the degree."""
    power = 2  # the polynomial x
    for _ in range((polynomial.bit_length() - 1) // 2):
        power = remainder(squared(power), polynomial)
        if common_divisor(polynomial, power ^ 2) != 1:
            return False
    return True


def drawn(seed: int) -> int:
    """Return an irreducible polynomial of degree 64: one in 64 or so is."""
    draw = np.random.default_rng(seed)
    while True:
        low = int(draw.integers(0, 2**DEGREE, dtype=np.uint64))
        if irreducible(polynomial := 1 << DEGREE | low | 1):
            return polynomial


@cache
def table(polynomial: int) -> np.ndarray:
    """Return the remainder of each byte times x^64."""
    return np.array([remainder(b << DEGREE, polynomial) for b in range(256)], np.uint64)


def rabin(tokens: np.ndarray, size: int, polynomial: int) -> np.ndarray:
    """Return the fingerprint of each run of `size` tokens, eight bytes each, byte by byte."""
    reduced = table(polynomial)
    found = np.ones(len(tokens) - size + 1, np.uint64)  # so that leading zeros count
    for place in range(size):
        part = tokens[place : place + len(found)]
        for shift in range(56, -1, -8):
            byte = part >> np.uint64(shift) & np.uint64(255)
            found = (
                found << np.uint64(8) ^ byte ^ reduced[(found >> np.uint64(56)).astype(np.intp)]
            )
    return found


def colliding(hashes: np.ndarray, bits: int) -> int:
    leading = np.sort(hashes >> np.uint64(64 - bits))
    return int(np.count_nonzero(leading[1:] == leading[:-1]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few shingles: does it work?")
    count = SHINGLES // (50 if parser.parse_args().quick else 1)
    polynomial = drawn(1)
    tokens = token_hashes(" ".join(map(str, range(count + SIZE - 1))))
    for number in range(3):
        bits = f"1{''.join(f'{token:064b}' for token in tokens[number : number + SIZE].tolist())}"
        by_hand = remainder(int(bits, 2), polynomial)
        assert rabin(tokens[number : number + SIZE], SIZE, polynomial)[0] == by_hand
    few = tokens[:1003]
    ways = {
        "Rabin": lambda given: rabin(given, SIZE, polynomial),
        "the plugin's": lambda given: shingle_hashes(given, SIZE),
    }
    expected = count**2 / 2**33
    print(f"{count:,} different {SIZE}-shingles; a random hash has {expected:,.0f} collisions in"
          f" the leading 32 bits; polynomial {polynomial:x}")  # fmt: skip
    print(f"{'':14}{'1,000 shingles':>16}{'64 bits':>10}{'leading 32':>12}")
    for name, way in ways.items():
        took = min(timeit.repeat(lambda w=way: w(few), number=20, repeat=5)) / 20
        hashes = way(tokens)
        whole, leading = colliding(hashes, 64), colliding(hashes, 32)
        print(f"{name:14}{took * 1e6:13.0f} µs{whole:10}{leading:12,}")
        assert whole == 0
        assert abs(leading - expected) <= 5 * sqrt(expected) + 1


if __name__ == "__main__":
    main()
