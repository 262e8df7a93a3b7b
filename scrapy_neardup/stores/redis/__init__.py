"""Stores that many crawlers share: one Redis, or a Redis Cluster.

The layout of the keys is in `keyspace.py`, the bytes of a page in `pages.py`; the life of a
connection in `uri.py` and `connection.py`; the verbs in `store.py`, those of a cluster with scope
``all`` in ``cluster/``, each with a script in ``lua/``. `namespace.py` has the record that
crawlers agree on, and `calls.py` lets calls share a request.
"""
