"""What is done with whole collections: scan, load, pairs, nearest pages."""
