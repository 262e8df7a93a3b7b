"""The index of stores within the process: columns of entries, and the search for them."""
