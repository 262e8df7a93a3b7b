"""What is done with whole collections: scan, load, pairs, join, clusters on disk, `tune`."""
