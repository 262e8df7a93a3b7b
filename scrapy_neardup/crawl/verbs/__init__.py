"""The parts of the verbs `try` and `doctor` that use Scrapy projects."""
