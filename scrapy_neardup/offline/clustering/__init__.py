"""Clusters of collections larger than memory."""
