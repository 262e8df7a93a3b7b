"""Scrapy processes on real servers: a memory that they share, and its failures."""

import re
import signal
import time
from collections import Counter
from contextlib import ExitStack

import pytest
from crawl_client import Worker
from crawl_spiders import Impatient, Visit
from redis_servers import RedisServer, port_of_nobody
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


# ---- one memory ----------------------------------------------------------------------------


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
        apart = settings | {"NEARDUP_NAMESPACE": "another"}
        assert crawl(Visit, "/g0/7", settings=apart).notes == ["/g0/7"]


def test_retention(crawl, site):
    site.routes["/later.json"] = waits(4.2)
    paths = ["/a/1", "/a/2", "/later.json", "/a/3", "/a/4"]
    with PLACES["redis"]() as place:
        settings = {"NEARDUP_STORE": place.uri, "NEARDUP_RETENTION": "3s"}
        outcome = crawl(Visit, *paths, settings=settings)
    assert outcome.notes == ["/a/1", "/later.json", "/a/3"]


# ---- failures ------------------------------------------------------------------------------


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


@pytest.fixture
def away():
    """Settings of a store that nobody answers for."""
    with port_of_nobody() as port:
        yield {"NEARDUP_STORE": f"redis://:{SECRET}@127.0.0.1:{port}/0"}


def test_a_server_that_is_away_at_start_leaves_pages_unjudged(crawl, away):
    outcome = crawl(Visit, "/a/1", "/a/2", settings=away, errors=True)
    assert outcome.notes == ["/a/1", "/a/2"]
    counted = outcome.counted()
    assert counted.pop("store/errors") >= 1  # it is tried again
    assert counted == {"pages/checked": 3, "unjudged/not-html": 1, "unjudged/paused": 2}
    [message] = outcome.logged("ERROR")
    assert re.search(r"redis://127\.0\.0\.1:\d+/0 doesn't answer", message)
    assert "NEARDUP_ON_ERROR is 'keep'" in message
    assert no_secret(outcome)


def test_a_server_that_is_away_at_start_may_end_the_crawl(crawl, site, away):
    outcome = crawl(Visit, "/a/1", settings=away | {"NEARDUP_ON_ERROR": "close"}, errors=True)
    assert outcome.reason == "neardup_store_error"
    assert "doesn't answer" in outcome.logged("ERROR")[0]
    assert site.requests == []


def test_a_server_that_comes_up_later_is_used_then(crawl, site):
    with RedisServer() as server:
        server.stop()
        site.routes["/up.json"] = does(server.start)
        site.routes["/later.json"] = waits(2 * Impatient.pause)
        paths = ["/a/1", "/a/2", "/up.json", "/later.json", "/a/3", "/a/4"]
        # Its key is made when it is up.
        settings = {"NEARDUP_STORE": server.uri, "NEARDUP_HASH_KEY": None}
        outcome = crawl(Impatient, *paths, settings=settings, errors=True)
    assert outcome.notes == ["/a/1", "/a/2", "/up.json", "/later.json", "/a/3"]
    unjudged = [outcome.counted().get(f"unjudged/{why}", 0) for why in ("paused", "store-error")]
    assert sum(unjudged) == 2
    assert "The near-duplicate store answers again" in outcome.logged("INFO", "scrapy_neardup")


def test_a_namespace_that_turns_out_to_be_of_another_kind_ends_the_crawl(crawl, site):
    folder = ("--appendonly", "yes", "--appendfsync", "always")
    with RedisServer(*folder) as server:
        crawl(Visit, settings={"NEARDUP_STORE": server.uri})
        server.stop(signal.SIGKILL)
        site.routes["/up.json"] = does(server.start)
        site.routes["/later.json"] = waits(2 * Impatient.pause)
        settings = {"NEARDUP_STORE": server.uri, "NEARDUP_MAX_DISTANCE": 2}
        paths = ["/up.json", "/later.json", "/a/1", "/b/1"]
        outcome = crawl(Impatient, *paths, settings=settings, errors=True)
    assert outcome.reason == "neardup_store_error"
    assert "max_distance is 3 there and 2 here" in outcome.logged("ERROR")[-1]
    assert "/b/1" not in outcome.notes
