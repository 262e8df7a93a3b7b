"""What the pages of a site have shown so far: it helps to compare pages, and is stored of none.

Each kind of knowledge is one module and one row of `scrapy_neardup.site.sites.RULES`.
"""
