"""The package's own files: fingerprints, features, pairs, and stored data of pages."""
