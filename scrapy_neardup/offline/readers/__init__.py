"""Collections, and what reads them: WARC, JSON lines, Parquet, HTML; here or elsewhere."""
