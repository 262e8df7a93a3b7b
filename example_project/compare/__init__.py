"""Crawls of the site without and with scrapy-neardup, side by side.

- `crawls`: starts the server and the crawls
- `tally`: counts what a crawl has found against the truth
- `report`: prints their tallies
"""
