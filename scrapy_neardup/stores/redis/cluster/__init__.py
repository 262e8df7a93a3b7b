"""The store of a Redis Cluster: claim, resolve, commit (``docs/cluster.md``)."""
