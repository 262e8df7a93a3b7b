"""Collections on disk: read them, judge them, in bulk."""
