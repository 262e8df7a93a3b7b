"""A page to a verdict: its evidence, what its site has shown, and how two pages are compared.

A store is passed in and finds candidates; no module here imports a store. `evidence` makes what a
store keeps of a page. `sites` holds what a site has shown, which is never stored with a page.
`comparison` turns both into a decision, and `detector` puts them together.
"""
