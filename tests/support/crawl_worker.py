"""Runs crawls in a process of its own: JSON jobs in, JSON results out.

A job is a list of crawls that run at the same time, each
``{"file": ..., "spider": ..., "settings": {...}, "arguments": {...}}``; its result is the
list of what `outcome` tells about each. The process stays, as starting Scrapy takes
longer than most crawls. The last line of a job's log may come from another crawl of it.
"""

import importlib.util
import json
import logging
import sys
import warnings
from pathlib import Path

from scrapy import signals
from scrapy.crawler import CrawlerRunner
from scrapy.utils.reactor import install_reactor

install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")

from crawl_stores import JOURNAL  # noqa: E402
from twisted.internet import defer, reactor, threads  # noqa: E402

warnings.filterwarnings("error", module=r"scrapy_neardup\b")

DEFAULTS = {
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
    # One page after the other: the next is requested when the last is processed.
    "CONCURRENT_REQUESTS": 1,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,
    "LOGSTATS_INTERVAL": 0,
    "ADDONS": {"scrapy_neardup.Addon": 500},
}


class Log(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        message = self.format(record)  # with the traceback, if there is one
        self.lines.append([record.levelname, record.name, message])


def load(file, name):
    key = f"crawl_worker_{Path(file).stem}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, file)
        sys.modules[key] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(sys.modules[key], name)


@defer.inlineCallbacks
def run(job):
    log = Log()
    JOURNAL.clear()
    root = logging.getLogger()
    root.addHandler(log)
    runner = CrawlerRunner()
    crawlers, finished = [], []
    for part in job:
        spider = load(part["file"], part["spider"])
        crawler = runner.create_crawler(with_settings(spider, part["settings"]))
        crawler.items, crawler.log = [], log.lines
        crawler.signals.connect(lambda item, c=crawler: c.items.append(item),
                                signals.item_scraped, weak=False)  # fmt: skip
        crawlers.append(crawler)
        finished.append(runner.crawl(crawler, **part["arguments"]))
    results = yield defer.DeferredList(finished, consumeErrors=True)
    root.removeHandler(log)
    return [outcome(crawler, *result) for crawler, result in zip(crawlers, results, strict=True)]


def with_settings(spider, settings):
    own = DEFAULTS | (spider.custom_settings or {}) | settings
    return type(spider.__name__, (spider,), {"custom_settings": own})


def outcome(crawler, ended_well, result):
    try:
        stats = crawler.stats.get_stats()
    except (RuntimeError, AttributeError):  # it failed before it had any
        stats = {}
    return {
        "stats": {name: value for name, value in stats.items() if not name.endswith("_time")},
        "notes": getattr(crawler.spider, "notes", []),
        "items": [dict(item) for item in crawler.items],
        "log": crawler.log,
        "journal": list(JOURNAL),
        "started": crawler.spider is not None,
        "error": "" if ended_well else f"{result.type.__name__}: {result.value}",
    }


@defer.inlineCallbacks
def answer(jobs):
    while True:
        try:
            job = yield threads.deferToThread(jobs.recv)
        except EOFError:
            break
        try:
            result = yield run(json.loads(job))
        except Exception as error:  # noqa: BLE001  (the test that asked gets to see it)
            result = repr(error)
        jobs.send(json.dumps(result, default=str))
    reactor.stop()


def serve(jobs):
    logging.getLogger().setLevel(logging.DEBUG)
    logging.captureWarnings(capture=True)
    reactor.callWhenRunning(answer, jobs)
    reactor.run()
