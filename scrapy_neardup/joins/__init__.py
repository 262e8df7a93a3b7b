"""Exact similarity joins: all pairs of sets that resemble each other, without comparing all.

Rule of this room: no estimate, no rounding, no luck. What is returned is what comparing every
pair would have returned; filters only rule out pairs that can't reach the threshold.

============== =============================================================================
`tokens`       texts and collections -> `TokenSets`, rarest token first
`measures`     Jaccard, cosine, overlap, containment; what overlap a threshold requires
`setjoin`      `self_join`, `join`
`kernel`       how: prefix, size, positional and bitmap filters over arrays
`contained`    the same for containment, whose bounds differ on the two sides
`reference`    how the papers do it: All-Pairs, PPJoin, PPJoin+
`edit`         `edit_join`: strings within an edit distance, by q-grams
============== =============================================================================
"""

from scrapy_neardup.joins.edit import EditPairs, edit_distance, edit_join
from scrapy_neardup.joins.measures import containment, resemblance
from scrapy_neardup.joins.setjoin import JoinStats, SimilarPairs, join, self_join
from scrapy_neardup.joins.tokensets import TokenSets, encode, hashed, qgrams, shingles, words

__all__ = [
    "EditPairs",
    "JoinStats",
    "SimilarPairs",
    "TokenSets",
    "containment",
    "edit_distance",
    "edit_join",
    "encode",
    "hashed",
    "join",
    "qgrams",
    "resemblance",
    "self_join",
    "shingles",
    "words",
]
