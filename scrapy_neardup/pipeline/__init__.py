"""A page to a verdict: what it says, and what its site and a store say of it."""
