"""What is done with whole collections: scan, load, pairs, the nearest pages."""
