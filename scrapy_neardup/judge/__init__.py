"""A page to a verdict: its evidence, what its site has shown, and how two pages are compared.

A store is passed in and asked for candidates; nothing here imports one. What is stored of a page
is made by `evidence`, what its site has shown is stored of none (`sites`), and `comparison` is the
one table that turns both into a decision. `detector` puts them together.
"""
