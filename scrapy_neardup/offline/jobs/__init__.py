"""Jobs on whole collections: scan, load, pairs, join, clusters on disk, `tune`."""
