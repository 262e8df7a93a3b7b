"""A Scrapy project that crawls the site of `docsite` with scrapy-neardup."""
