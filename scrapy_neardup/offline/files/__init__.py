"""The package's own files: fingerprints, features, pairs, and what a store keeps of pages."""
