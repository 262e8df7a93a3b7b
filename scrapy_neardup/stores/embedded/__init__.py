"""The index of the stores within the process: columns of entries, and what finds them."""
