"""Readers of collections: WARC, JSON lines, Parquet, HTML files, on disk or at a URL."""
