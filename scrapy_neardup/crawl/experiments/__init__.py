"""What a crawl asks a site instead of guessing, within one budget (``NEARDUP_EXPERIMENTS``)."""
