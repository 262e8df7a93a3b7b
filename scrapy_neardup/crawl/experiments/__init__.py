"""The experiments of a crawl on a site, within one budget (``NEARDUP_EXPERIMENTS``)."""
