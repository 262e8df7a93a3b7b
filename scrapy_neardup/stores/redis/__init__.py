"""Stores that many crawlers share: one Redis, or a Redis Cluster."""
