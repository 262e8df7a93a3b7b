"""Resemblance and containment of sets of hashes, exact or from Broder's two sketches.

A set is an array of distinct 64-bit hashes, in any order; `scrapy_neardup.joins` has the
measures for sets of anything.

Both are ratios of sizes of sets (Broder, "On the resemblance and containment of documents",
1997, sections 2 and 3), and two samples of a document keep them:

* M_s, `bottom_sketch`: the s least hashes. Of fixed size; estimates resemblance, by
  `bottom_resemblance`, and containment, by `bottom_containment`, in sets of like size.
* V_m, `mod_sketch`: the hashes that m divides. It grows with the document and estimates both,
  by `resemblance` and `containment` of the sketches themselves; where documents were sketched
  with different moduli, ``mod_sketch(sketch, larger)`` of the one comes first.

Of any other estimate of resemblance, such as that of one-permutation sketches, follows that
of containment where the sizes of the sets are known: `containment_of`.

Hashes are taken for random, so the order of the numbers is the random permutation that the
paper asks for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.settings.arguments import whole_number

__all__ = [
    "bottom_containment",
    "bottom_resemblance",
    "bottom_sketch",
    "containment",
    "containment_of",
    "mod_sketch",
    "number_occurrences",
    "resemblance",
]

_LARGEST = np.uint64(2**64 - 1)
_OCCURRENCE = np.uint64(0xD1B54A32D192ED03)
"""Odd, and not the step of the throws of `minwise`: numbered shingles must not be throws."""


def resemblance(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    """Return |A & B| / |A | B|, 0 where both are empty.

    Of V_m sketches, an unbiased estimate of the documents' resemblance J (given that the
    sketches are not both empty), with standard error sqrt(J * (1 - J) / u) for u distinct
    hashes in the two.

    Parameters
    ----------
    a, b
        Shape (n,) and (m,), uint64, each distinct.

    Notes
    -----
    O((n + m) * log(n + m)). Broder 1997, section 2 and theorem 1.
    """
    shared = _shared(a, b)
    union = len(a) + len(b) - len(shared)
    return len(shared) / union if union else 0.0


def containment(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    """Return |A & B| / |A|: which share of `a` is also in `b`; 0 where `a` is empty.

    Of V_m sketches, an unbiased estimate C (given that the first is not empty), with
    standard error sqrt(C * (1 - C) / |A|).

    Parameters
    ----------
    a, b
        Shape (n,) and (m,), uint64, each distinct.

    Notes
    -----
    O((n + m) * log(n + m)). Broder 1997, section 2 and theorem 1.
    """
    return len(_shared(a, b)) / len(a) if len(a) else 0.0


def mod_sketch(shingles: NDArray[np.uint64], modulus: int) -> NDArray[np.uint64]:
    """Return the shingles that are 0 modulo `modulus`.

    Of two documents' sketches, |A & B| / |A | B| is an unbiased estimate of their
    resemblance and |A & B| / |A| of the containment of the first in the second.

    Parameters
    ----------
    shingles
        Shape (n,), uint64, distinct, uniform.
    modulus
        From 1, which keeps all. Broder et al. ("Syntactic clustering of the Web", 1997)
        took 25.

    Returns
    -------
    ndarray of uint64, sorted
        n / `modulus` of them on average.

    Raises
    ------
    ConfigurationError
        `modulus` isn't a whole number from 1.

    Notes
    -----
    O(n + m * log(m)) for m that are kept. Broder, "On the resemblance and containment of
    documents", 1997, section 3.
    """
    divisor = np.uint64(whole_number("the modulus", modulus, least=1))
    return np.sort(shingles[shingles % divisor == 0])


def bottom_sketch(hashes: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Return M_s: the `size` least hashes, all of a set that has fewer.

    Parameters
    ----------
    hashes
        Shape (n,), uint64, distinct, uniform.
    size
        1 or more.

    Returns
    -------
    ndarray of uint64, sorted
        A smaller sketch is the beginning of a larger one.

    Raises
    ------
    ConfigurationError
        `size` is not positive.

    Notes
    -----
    O(n + size * log(size)). Broder 1997, section 3.
    """
    _check_size(size)
    if size < len(hashes):
        hashes = np.partition(hashes, size - 1)[:size]
    return np.sort(hashes)


def bottom_resemblance(a: NDArray[np.uint64], b: NDArray[np.uint64], size: int) -> float:
    """Return the estimated resemblance of two sets from their M_s.

    The s least of the union are the s least of both sketches together; they are a sample of
    the union without replacement, and what share of them is in both sketches is without
    bias. Its standard error is sqrt(J * (1 - J) / s * (n - s) / (n - 1)) for n hashes in the
    union, 0 where they are no more than s: then it is the resemblance.

    Parameters
    ----------
    a, b
        From `bottom_sketch`, each of `size` or more (as far as its set had them).
    size
        1 or more.

    Raises
    ------
    ConfigurationError
        `size` is not positive.

    Notes
    -----
    O(size * log(size)). Broder 1997, theorem 1. The share of equal hashes among all that the
    two sketches hold would be biased: what is not among the s least of the union is in one
    of them only.
    """
    _check_size(size)
    sample = np.union1d(a, b)[:size]
    if not len(sample):
        return 0.0
    shared = _shared(a, b)
    return int(np.count_nonzero(shared <= sample[-1])) / len(sample)


def bottom_containment(a: NDArray[np.uint64], b: NDArray[np.uint64], size: int) -> float:
    """Return the estimated containment of set A in set B from their M_s; 0 where A is empty.

    Up to the largest hash that both sketches reach, each holds all of its set: V_m sketches
    for a threshold in place of a modulus. What share of A's there is B's, too, estimates the
    containment with standard error sqrt(C * (1 - C) / n) for the n hashes of A below it. If B
    is f times as large as A, that is s / f of them: one sketch of fixed size says little of a
    much larger set, which is what V_m is for.

    Parameters
    ----------
    a, b
        From `bottom_sketch`, each of `size` or more. A set that has fewer is known whole.
    size
        1 or more.

    Raises
    ------
    ConfigurationError
        `size` is not positive.

    Notes
    -----
    O(size * log(size)).

    References
    ----------
    Broder 1997, section 3; Beyer, Haas, Reinwald, Sismanis & Gemulla, "On synopses for
    distinct-value estimation under multiset operations", SIGMOD 2007, for the threshold.
    """
    _check_size(size)
    reach = min((each[-1] for each in (a, b) if len(each) >= size), default=_LARGEST)
    return containment(a[a <= reach], b[b <= reach])


def containment_of(resemblance: float, ours: int, theirs: int) -> float:
    """Return the containment of a set in another, given their resemblance and sizes.

    |A & B| is J / (1 + J) of |A| + |B|, as |A | B| is the rest of it.

    Parameters
    ----------
    resemblance
        J, exact or estimated; an estimate below 0 counts as 0.
    ours, theirs
        |A| and |B|, numbers of distinct shingles.

    Returns
    -------
    float
        From 0 to 1: an estimate beyond what sets of these sizes can share is cut off.

    Notes
    -----
    An error of e in J becomes one of about e * (|A| + |B|) / (|A| * (1 + J)^2).

    Examples
    --------
    >>> containment_of(0.2, 20, 100)
    1.0
    """
    if not ours:
        return 0.0
    resemblance = max(resemblance, 0.0)
    shared = resemblance / (1 + resemblance) * (ours + theirs)
    return min(shared, ours, theirs) / ours


def number_occurrences(
    shingles: NDArray[np.uint64], counts: NDArray[np.float64]
) -> NDArray[np.uint64]:
    """Return a set in which each occurrence of a shingle is an element: (shingle, i).

    Plain sets forget how often a shingle occurs: "a rose is a rose is a rose" is then the
    same document as "a rose is a rose". Numbered, the second "is a rose" of one document
    only meets the second of another. The resemblance of such sets is the sum of the smaller
    counts over that of the larger ones.

    Parameters
    ----------
    shingles, counts
        Shape (n,), as ``features(tokens, weights="tf")`` returns them.

    Returns
    -------
    ndarray of uint64, shape (counts.sum(),), distinct
        The first occurrence is hashed as the shingle itself.

    Notes
    -----
    O(counts.sum()). Broder 1997, section 2, option A: the labelled shingles of a document.
    """
    times = counts.astype(np.int64)
    numbered = np.repeat(shingles, times)
    starts = np.repeat(np.cumsum(times) - times, times)
    numbers = np.arange(len(numbered)) - starts
    later = numbers > 0
    numbered[later] = PUBLIC.mix(numbered[later] + numbers[later].astype(np.uint64) * _OCCURRENCE)
    return numbered


def _shared(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.intersect1d(a, b, assume_unique=True)


def _check_size(size: int) -> None:
    if size < 1:
        raise ConfigurationError(f"the size of a sketch must be 1 or more, not {size}")
