"""Clusters of pages: connected components of pairs or of shared features.

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
    feature_pairs,
    members,
    mirrors,
)

__all__ = [
    "CanonicalRule",
    "Mirror",
    "UnionFind",
    "canonical",
    "cluster",
    "cluster_names",
    "feature_pairs",
    "members",
    "mirrors",
]
