"""From a text to its fingerprint: token hashes, shingles, simhash, sketches. Pure, in numpy.

============== =============================================================================
`hashing`      text -> one 64-bit hash a token
`shingles`     token hashes -> the features of a page
`weights`      features -> weighted features, and their simhash
`simhashes`    features -> simhash, compared by Hamming distance
`minwise`      features -> one-permutation sketch, compared by resemblance
`independent`  features -> their minima under independent permutations
`broder`       minima -> k digests of s minima each, compared for equality: a filter
`units`        text -> words, characters, lines, sentences
============== =============================================================================

>>> from scrapy_neardup.fingerprints import hamming_distance, simhash
>>> hamming_distance(simhash("one and the same"), simhash("One, and the same."))
0

`weights` and `independent`, which a crawl needs only with some settings, are imported when one
of their names is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_neardup.fingerprints.hashing import HASH_VERSION, PUBLIC_KEY, digest, token_hashes
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.fingerprints.simhashes import hamming_distance

if TYPE_CHECKING:
    from scrapy_neardup.fingerprints.independent import minima
    from scrapy_neardup.fingerprints.weights import Weights, features, simhash, simhash_features

__all__ = [
    "HASH_VERSION",
    "PUBLIC_KEY",
    "Weights",
    "digest",
    "features",
    "hamming_distance",
    "minima",
    "one_permutation_sketch",
    "simhash",
    "simhash_features",
    "token_hashes",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = "independent" if name == "minima" else "weights"
    return getattr(import_module(f"{__name__}.{place}"), name)
