"""How good the filter is on pages at hand: the truth about a sample, and precision and recall."""
