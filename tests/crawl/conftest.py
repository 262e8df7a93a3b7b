from crawl_fixtures import audit, crawl, site, worker  # noqa: F401, fixtures
from linked_sites import walk  # noqa: F401
