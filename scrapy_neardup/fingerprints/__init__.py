"""Text to fingerprint: token hashes, shingles, simhash, sketches. Pure, and numpy all through.

============== =============================================================================
`hashing`      text -> one 64-bit hash a token
`shingles`     token hashes -> the features of a page; samples of them
`simhashes`    features -> simhash, compared by Hamming distance
`minwise`      features -> one-permutation sketch, compared by resemblance
`broder`       features -> k digests of s minima, compared for equality: a filter
`filtering`    the choice of a filter, mega-shingles
`units`        text -> words, characters, lines, sentences, phrases; stop words, stems
`signatures`   token hashes -> winnowing, I-Match, word buckets, mod p
============== =============================================================================

>>> from scrapy_neardup.fingerprints import hamming_distance, simhash
>>> hamming_distance(simhash("one and the same"), simhash("One, and the same."))
0
"""

from scrapy_neardup.fingerprints.broder import minima
from scrapy_neardup.fingerprints.hashing import HASH_VERSION, PUBLIC_KEY, digest, token_hashes
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.fingerprints.shingles import Weights, features
from scrapy_neardup.fingerprints.simhashes import hamming_distance, simhash, simhash_features

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
