"""How good the filter is on pages at hand."""
