"""Clusters of pages: connected components of pairs or of shared features, or greedy ones.

A page is a number, its index in the order in which pages were seen; the label of a cluster is
that of its first page. Clustering that doesn't fit into memory is in
`scrapy_neardup.offline.jobs.diskclusters`.
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
