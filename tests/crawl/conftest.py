from crawl_fixtures import crawl, site, worker  # noqa: F401, fixtures
