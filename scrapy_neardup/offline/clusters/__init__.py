"""Clusters of pages: connected components of pairs or of shared features, or greedy clusters.

A page is a number, its index in the order of the pages; the label of a cluster is
its first page. `scrapy_neardup.offline.jobs.diskclusters` clusters collections larger than memory.
"""

from scrapy_neardup.offline.clusters.components import (
    CanonicalRule,
    Mirror,
    UnionFind,
    canonical,
    cluster,
    cluster_names,
    feature_clusters,
    feature_pairs,
    members,
    mirrors,
)
from scrapy_neardup.offline.clusters.greedy import COMMON, GreedyClusters

__all__ = [
    "COMMON",
    "CanonicalRule",
    "GreedyClusters",
    "Mirror",
    "UnionFind",
    "canonical",
    "cluster",
    "cluster_names",
    "feature_clusters",
    "feature_pairs",
    "members",
    "mirrors",
]
