"""A store within the process: columns of entries, and what leads to them."""
