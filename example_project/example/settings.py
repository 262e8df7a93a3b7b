"""Settings of the example. The plugin needs one line; the rest is about the site."""

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]

ADDONS = {"scrapy_neardup.Addon": 500}

# Breadth first, the order that serves a crawl without a filter best, so that the comparison is
# a fair one. In Scrapy's default order, depth first, such a crawl follows one growing path of
# soft 404s and sees little else.
DEPTH_PRIORITY = 1
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

# The calendar has no end, so a crawl without a filter needs a budget. This one leaves it the time
# to meet every module; what comes after is more of the same.
CLOSESPIDER_PAGECOUNT = 2500

# One request at a time, which waits until the links of the page before it are scheduled: the same
# crawl, page by page, whenever it is run. The site answers in a millisecond, so more at a time
# would hardly be faster.
CONCURRENT_REQUESTS = 1
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 1

# The same verdicts, too, and so the published key; by default a store has a random one.
NEARDUP_HASH_KEY = "public"

# `compare` sets EXAMPLE_JOURNAL and, for several crawlers, EXAMPLE_FRONTIER; without them these
# are off.
EXTENSIONS = {"example.journal.Journal": 500}
SPIDER_MIDDLEWARES = {"example.frontier.SharedFrontier": 100}

LOG_LEVEL = "INFO"
