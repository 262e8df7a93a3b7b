"""Exact similarity joins: all pairs of similar sets, without comparing all pairs.

The result is that of comparing every pair, with no estimate and no rounding.

============== =============================================================================
`tokensets`    texts and collections -> `TokenSets`, rarest token first
`measures`     Jaccard, cosine, overlap, containment; the overlap that a threshold requires
`setjoin`      `self_join`, `join`, by compiled code if there is any
`reference`    the same in Python, and All-Pairs, PPJoin and PPJoin+ as published
============== =============================================================================
"""

from scrapy_neardup.offline.joins.measures import containment, resemblance
from scrapy_neardup.offline.joins.reference import JoinStats
from scrapy_neardup.offline.joins.setjoin import SimilarPairs, join, self_join
from scrapy_neardup.offline.joins.tokensets import TokenSets, encode, hashed, shingles, words

__all__ = [
    "JoinStats", "SimilarPairs", "TokenSets", "containment", "encode", "hashed", "join",
    "resemblance", "self_join", "shingles", "words",
]  # fmt: skip
