"""From a page to a verdict: evidence, knowledge about sites, comparison of two pages.

A store is passed in and finds candidates; no module here imports a store. `evidence` makes the
data that a store keeps of a page. `sites` holds the knowledge about sites, which is never stored
with a page. `comparison` turns both into a decision, and `detector` combines all of them.
"""
