"""What a crawl may withhold without fetching it: claims, and the evidence for and against them.

Pure: no Scrapy, no clock. `scrapy_neardup.crawl.experiments` makes the requests that test them.
"""
