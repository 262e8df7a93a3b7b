"""Clusters of collections larger than memory, and pages that contain others."""
