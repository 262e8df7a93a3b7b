"""What a crawl loads of the package: little, and nothing that no setting asks for."""

from pathlib import Path

import pytest
from forked import python
from redis_servers import shared_server

import scrapy_neardup

CRAWL = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.Spider):
    name = "loaded"
    start_urls = [sys.argv[1] + path for path in ("/a/1", "/a/2", "/b/1")]
    def parse(self, response):
        yield {"url": response.url}

settings = dict(pair.split("=", 1) for pair in sys.argv[2:])
settings |= {"ADDONS": {"scrapy_neardup.Addon": 500}, "LOG_LEVEL": "ERROR"}
process = CrawlerProcess(settings)
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
assert crawler.stats.get_value("neardup/pages/checked") == 3, crawler.stats.get_stats()
print(*(getattr(module, "__file__", None) or "" for name, module in sys.modules.items()
        if name.partition(".")[0] == "scrapy_neardup"), sep="\\n")
"""
UNASKED = {
    "crawl": "audit browserpages callables circuitbreaker groups guard stopping "
    "verbs/checkup verbs/trial",
    "crawl/experiments": "novelties probe skipping",
    "fingerprints": "independent weights",
    "text": "encoding languages sniffing",
}
"""Modules that a crawl needs at most under some settings, or when something goes wrong."""
PACKAGE = Path(scrapy_neardup.__file__).parent


@pytest.fixture
def loaded(site):
    def run(**settings):
        pairs = [f"{name}={value}" for name, value in settings.items()]
        done = python("-P", "-c", CRAWL, site.url, *pairs, check=True)
        files = map(Path, filter(None, done.stdout.splitlines()))
        return {file.relative_to(PACKAGE).as_posix() for file in files if file.suffix == ".py"}

    return run


def lines(files):
    return sum(len((PACKAGE / file).read_text().splitlines()) for file in files)


def test_the_add_on_alone_loads_little(loaded):
    files = loaded()
    packages = {file.partition("/")[0] for file in files}
    assert not packages & {"cli", "offline"}
    assert not any(word in file for file in files for word in ("packed", "layered", "redis"))
    assert {file for file in files if file.startswith("report/")} == {
        "report/__init__.py", "report/differences.py"
    }  # fmt: skip
    unasked = {f"{package}/{name}.py" for package in UNASKED for name in UNASKED[package].split()}
    assert all((PACKAGE / file).exists() for file in unasked)
    assert not files & unasked
    assert len(files) <= 84
    assert lines(files) <= 15_267


def test_claims_are_loaded_where_they_are_wanted(loaded):
    more = loaded() - loaded(NEARDUP_URLS="off", NEARDUP_LINKS="withhold")
    assert {file.rpartition("/")[0] for file in more} == {"claims", "crawl/experiments"}


def test_one_redis_adds_its_store(loaded):
    files = loaded(NEARDUP_STORE=shared_server().uri)
    assert not any("sqlite" in file or "memory" in file for file in files)
    names = "check_and_add", "see", "lease", "withdraw", "over", "open"
    assert lines(files | {f"stores/redis/lua/{name}.lua" for name in names}) <= 16_707
