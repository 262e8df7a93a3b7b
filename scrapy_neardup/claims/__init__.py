"""Claims under which a crawl withholds requests, with the evidence for and against them.

Pure: no Scrapy, no clock. `scrapy_neardup.crawl.experiments` makes the requests that test them.
"""
