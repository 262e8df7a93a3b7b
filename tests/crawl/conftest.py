from crawl_fixtures import audit, crawl, site, worker  # noqa: F401, fixtures
