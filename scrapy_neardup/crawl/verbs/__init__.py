"""The parts of the commands `try` and `doctor` that use Scrapy."""
