"""What the verbs `try` and `doctor` do with Scrapy projects."""
