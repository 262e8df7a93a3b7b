"""What goes wrong with a Redis while a crawl goes on: every page comes, and the crawl ends.

Three groups of near-duplicates are met before the fault, three while it lasts and three after it.
A group is *lost* if none of its pages was delivered.
"""

import asyncio
import contextlib
import shutil
import socket
import threading
import time
from functools import partial

import pytest
import redis
from crawl_spiders import Impatient
from redis_servers import RedisServer, free_port
from site_server import does

from scrapy_neardup.stores.admin import store_admin

PASSWORD = "hunter2"
LONGEST = 60
"""Seconds that a crawl of this size may take, whatever its store does."""

pytestmark = [pytest.mark.stress, pytest.mark.timeout(300)]


def client(server: RedisServer) -> redis.Redis:
    return server.client(password=server.password)


def asks(*command: object):
    """Return what sends a command to the server."""
    return lambda server: client(server).execute_command(*command)


nothing = lambda _server: None
killed = lambda server: server.stop(9)


def restarted(server) -> None:
    killed(server)
    server.start()


def cannot_save(server) -> None:
    shutil.rmtree(server.folder)
    one = client(server)
    one.config_set("save", "1 1")
    one.bgsave()
    while one.info("persistence")["rdb_last_bgsave_status"] == "ok":
        time.sleep(0.02)


def busy(server) -> None:
    def run() -> None:
        one = server.client(password=server.password, socket_timeout=30)
        with one, contextlib.suppress(redis.RedisError):
            one.eval("while true do end", 0)

    threading.Thread(target=run, daemon=True).start()
    time.sleep(0.2)


def has_password(server, password) -> None:
    client(server).config_set("requirepass", password)
    server.password = password
    disconnected(server)


def disconnected(server) -> None:
    client(server).client_kill_filter(_type="normal", skipme=True)


def cleared(server) -> None:
    async def run() -> None:
        uri = f"redis://:{server.password}@127.0.0.1:{server.port}/0"
        async with store_admin(uri) as admin:
            [namespace] = await admin.namespaces()
            await admin.clear(namespace)

    asyncio.run(run())


def garbled(server) -> None:
    one = client(server)
    for key in list(one.scan_iter("nd:*", count=1000)):
        if one.type(key) == b"hash" and b"schema" not in key:
            for name in one.hkeys(key):
                one.hset(key, name, b"\xff\x00garbage")
        elif one.type(key) == b"string":
            one.set(key, b"\xff" * 7)


FAULTS = {
    "nothing": (nothing, nothing),
    "killed, then started empty": (killed, RedisServer.start),
    "restarted empty": (restarted, nothing),
    "stopped (SIGSTOP)": (RedisServer.pause, RedisServer.resume),
    "CLIENT PAUSE": (asks("CLIENT", "PAUSE", 2000), nothing),
    "OOM": (asks("CONFIG", "SET", "maxmemory", 1), asks("CONFIG", "SET", "maxmemory", 0)),
    "READONLY": (lambda server: client(server).replicaof("127.0.0.1", free_port()),
                 asks("REPLICAOF", "NO", "ONE")),
    "MISCONF": (cannot_save, asks("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")),
    "BUSY": (busy, asks("SCRIPT", "KILL")),
    "another password": (partial(has_password, password="another"),
                         partial(has_password, password=PASSWORD)),
    "rights revoked": (asks("ACL", "SETUSER", "default", "-evalsha", "-eval"),
                       asks("ACL", "SETUSER", "default", "+@all")),
    "FLUSHALL": (asks("FLUSHALL"), nothing),
    "clear": (cleared, nothing),
    "SCRIPT FLUSH": (asks("SCRIPT", "FLUSH"), nothing),
    "values garbled": (garbled, nothing),
    "connections killed": (disconnected, nothing),
}  # fmt: skip


def crawled(what, crawl, site, uri, tried, *, begins, ends) -> None:
    phases = [[f"{phase}{number}" for number in range(3)] for phase in ("before", "in", "after")]
    before, during, after = ([f"/{g}/{v}" for v in (1, 2) for g in groups] for groups in phases)
    site.routes |= {
        "/begins.json": does(begins),
        "/ends.json": does(ends),
        "/later.json": does(lambda: time.sleep(2 * Impatient.pause)),
    }
    paths = [*before, "/begins.json", *during, "/ends.json", "/later.json", *after]
    settings = {"NEARDUP_STORE": uri, "NEARDUP_TIMEOUT": "0.5"}
    start = time.monotonic()
    [outcome] = crawl.worker.crawl(crawl.part(Impatient, *paths, settings=settings))
    took = time.monotonic() - start
    delivered = {path.split("/")[1] for path in outcome.notes}
    lost = [group for groups in phases for group in groups if group not in delivered]
    counts = {"lost": len(lost), "errors": outcome.counted().get("store/errors", 0)}
    tried(f"crawl: {what}", len(before + during + after), longest=took, **counts)
    assert outcome.reason == "finished"
    assert lost == []
    assert took < LONGEST
    assert PASSWORD not in repr(outcome)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name, crawl, site, tried):
    begins, ends = FAULTS[name]
    with RedisServer("--requirepass", PASSWORD, "--lua-time-limit", "50") as server:
        server.password = PASSWORD
        uri = f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0"
        phases = {"begins": partial(begins, server), "ends": partial(ends, server)}
        crawled(name, crawl, site, uri, tried, **phases)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$-5\r\n", b"*9\r\n"]
)
def test_something_else_listens_there(answer, crawl, site, tried):
    def serve(listener) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                peer.recv(1000)
                peer.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        uri = f"redis://127.0.0.1:{listener.getsockname()[1]}"
        what = f"fake server, {answer[:4]!r}"
        crawled(what, crawl, site, uri, tried, begins=lambda: None, ends=lambda: None)
