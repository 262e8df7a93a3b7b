"""Every option once, what its value may be, and what follows from the values that are given."""
