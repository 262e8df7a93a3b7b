"""The package's own files: fingerprints, features, pairs, and what stores keep of pages."""
