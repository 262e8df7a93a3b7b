"""From pairs or features to clusters: connected components, a page to stand for each, greedy ones.

Rule of this room: numbers in, numbers out. A page is its place in the order in which pages
were seen, and so is the label of a cluster: that of its first page. Clustering that doesn't
fit into memory is in `scrapy_neardup.offline.clustering`.
"""

from scrapy_neardup.clusters.canonical import CanonicalRule, canonical
from scrapy_neardup.clusters.features import feature_clusters, feature_pairs
from scrapy_neardup.clusters.greedy import COMMON, GreedyClusters, Leader
from scrapy_neardup.clusters.unionfind import UnionFind, cluster, forest, members

__all__ = [
    "COMMON",
    "CanonicalRule",
    "GreedyClusters",
    "Leader",
    "UnionFind",
    "canonical",
    "cluster",
    "feature_clusters",
    "feature_pairs",
    "forest",
    "members",
]
