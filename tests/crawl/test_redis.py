"""Scrapy processes on real servers: a memory that they share, and its failures."""

import time
from collections import Counter
from contextlib import ExitStack

import pytest
from crawl_client import Worker
from crawl_spiders import Visit
from redis_servers import RedisServer
from site_server import does
from store_registry import PLACES

SECRET = "hunter2"


@pytest.fixture(scope="module")
def workers():
    with ExitStack() as stack:
        processes = [Worker() for _ in range(3)]
        for process in processes:
            stack.callback(process.close)
        yield processes


def waits(seconds):
    return does(lambda: time.sleep(seconds))


def together(workers, crawl, settings, groups):
    """Let each process crawl a variant of each group, all at once; return the outcomes."""
    for variant, worker in enumerate(workers):
        paths = [f"/{group}/{variant}" for group in groups]
        turned = paths[variant * 3 :] + paths[: variant * 3]
        worker.begin(crawl.part(Visit, *turned, settings=settings | {"CONCURRENT_REQUESTS": 8}))
    return [outcome for worker in workers for outcome in worker.end()]


def exactly_once(outcomes, groups):
    totals = Counter()
    for outcome in outcomes:
        assert outcome.reason == "finished"
        assert outcome.logged("ERROR") == []
        totals.update(outcome.counted())
    assert totals["pages/unjudged"] == 0, totals
    kept = Counter(path.split("/")[1] for outcome in outcomes for path in outcome.notes)
    assert kept == dict.fromkeys(groups, 1)
    assert totals["pages/new"] == len(groups)
    assert totals["pages/dropped"] == (len(outcomes) - 1) * len(groups)
    assert totals["store/errors"] == totals["pages/orphaned"] == 0


@pytest.mark.parametrize("name", ["redis", "redis-cluster"])
def test_processes_keep_each_group_once(workers, crawl, name):
    groups = [f"g{number}" for number in range(20)]
    with PLACES[name]() as place:
        settings = {"NEARDUP_STORE": place.uri, "NEARDUP_TIMEOUT": 60}  # others keep it busy
        exactly_once(together(workers, crawl, settings, groups), groups)
        # A later crawl of the namespace finds all of it; another namespace nothing.
        assert crawl(Visit, "/g0/7", "/g9/7", settings=settings).notes == []
        assert crawl(Visit, "/g0/7", **settings, NEARDUP_NAMESPACE="another").notes == ["/g0/7"]


def test_retention(crawl, site):
    site.routes["/later.json"] = waits(4.2)
    paths = ["/a/1", "/a/2", "/later.json", "/a/3", "/a/4"]
    with PLACES["redis"]() as place:
        outcome = crawl(Visit, *paths, NEARDUP_STORE=place.uri, NEARDUP_RETENTION="3s")
    assert outcome.notes == ["/a/1", "/later.json", "/a/3"]


def no_secret(outcome):
    shown = [text for _, _, text in outcome.log] + [repr(outcome.stats), outcome.error]
    return not any(SECRET in text for text in shown)


def test_a_password_that_is_changed_during_the_crawl_is_what_the_log_says(crawl, site):
    with RedisServer("--requirepass", SECRET) as server:

        def change():
            client = server.client(password=SECRET)
            client.config_set("requirepass", "another")
            client.client_kill_filter(_type="normal", skipme=True)

        site.routes["/change.json"] = does(change)
        paths = ["/a/1", "/change.json", "/b/1", "/c/1", "/d/1"]
        settings = {"NEARDUP_STORE": f"redis://:{SECRET}@127.0.0.1:{server.port}/0"}
        outcome = crawl(Visit, *paths, settings=settings, errors=True)
    assert outcome.notes == paths
    assert any("refused user or password" in text for text in outcome.logged("ERROR"))
    assert no_secret(outcome)
    assert f"127.0.0.1:{server.port}" in outcome.logged("INFO", "scrapy_neardup")[0]
