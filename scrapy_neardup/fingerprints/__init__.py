"""Text to fingerprint: token hashes, shingles, simhash. Pure, and numpy all through.

>>> from scrapy_neardup.fingerprints import hamming_distance, simhash
>>> hamming_distance(simhash("one and the same"), simhash("One, and the same."))
0
"""

from scrapy_neardup.fingerprints.charikar import hamming_distance, simhash, simhash_features
from scrapy_neardup.fingerprints.hashing import HASH_VERSION, digest, token_hashes
from scrapy_neardup.fingerprints.shingles import Weights, features

__all__ = [
    "HASH_VERSION",
    "Weights",
    "digest",
    "features",
    "hamming_distance",
    "simhash",
    "simhash_features",
    "token_hashes",
]
