"""Requests that needn't be made: URL rules, budgets of patterns, probes for soft 404s."""
