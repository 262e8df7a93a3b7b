"""The store of a Redis Cluster: announce, then look (``docs/cluster.md``)."""
