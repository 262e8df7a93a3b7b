"""The ways to reach a Redis, and what is said where one doesn't lead to a store."""

import asyncio
import signal
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import redis
from redis_servers import (
    RedisServer,
    free_port,
    port_of_nobody,
    running_cluster,
    server_binary,
    shared_server,
    wait_for,
)
from store_registry import decision, healed, spread, until

from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.redis.calls import Calls
from scrapy_neardup.stores.redis.uri import RedisURI
from scrapy_neardup.verdict import Decision


async def fails_to_open(uri: str, kind: type[StoreError], *words: str) -> None:
    """Opening raises that error, which says these words and shows no password."""
    with pytest.raises(kind) as raised:
        await open_store(uri).open()
    message = str(raised.value)
    assert "NEARDUP_STORE" in message
    assert all(word in message for word in words), message
    assert "secret" not in message


@pytest.mark.parametrize(("uri", "shown"), [
    ("redis://user:secret@127.0.0.1:{}/0", "redis://127.0.0.1:{}/0"),
    ("redis+cluster://user:secret@127.0.0.1:{}", "127.0.0.1:{}"),
    ("redis+sentinel://user:secret@127.0.0.1:{}/mymaster", "mymaster"),
])  # fmt: skip
async def test_nobody_there(uri, shown):
    with port_of_nobody() as port:
        await fails_to_open(uri.format(port), StoreUnavailableError, shown.format(port))


async def test_something_else_listens_there():
    def answer(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(1000)
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=(listener,))
        server.start()
        uri = f"redis://127.0.0.1:{listener.getsockname()[1]}"
        await fails_to_open(uri, StoreUnavailableError, uri)
        server.join()


async def test_a_node_of_a_cluster_is_no_single_redis():
    with RedisServer("--cluster-enabled", "yes") as server:
        await fails_to_open(server.uri, StoreError, "redis+cluster://")


async def test_a_server_that_is_too_old(monkeypatch):
    async def old(self, *_):
        return {"redis_version": "5.0.14"}

    monkeypatch.setattr(Calls, "make", old)
    await fails_to_open(shared_server().uri, StoreError, "5.0.14", "6.2")


async def test_passwords_and_users():
    with RedisServer("--requirepass", "sec@ret") as server:
        rules = ("on", ">other", "~nd:*", "+@all", "-@dangerous", "+info")
        server.client(password="sec@ret").execute_command("ACL", "SETUSER", "crawler", *rules)
        place = f"127.0.0.1:{server.port}/0"
        for wrong in ("{}", ":notsecret@{}", "{}?password=notsecret"):
            uri = f"redis://{wrong.format(place)}"
            await fails_to_open(uri, StoreError, "refused user or password")
        for userinfo in (":sec%40ret", "default:sec%40ret", "crawler:other"):
            async with open_store(f"redis://{userinfo}@{place}", namespace=userinfo) as store:
                assert await decision(store, 1) is Decision.NEW
        server.client(password="sec@ret").execute_command("ACL", "SETUSER", "crawler", "-evalsha")
        with pytest.raises(StoreError, match="refused user or password"):
            async with open_store(f"redis://crawler:other@{place}") as store:
                await decision(store, 1)


async def test_an_eviction_policy_that_forgets_is_warned_of(caplog):
    options = ("--maxmemory", "100mb", "--maxmemory-policy")
    for start in (RedisServer, running_cluster):
        caplog.clear()
        for policy in ("allkeys-lru", "noeviction"):
            with start(*options, policy) as server:
                async with open_store(server.uri):
                    pass
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "allkeys-lru" in caplog.text


@pytest.mark.parametrize("most", [1, 2])
async def test_no_more_connections_than_permitted(most, server):
    async with open_store(f"{server.uri}?max_connections={most}") as store:
        calls = (decision(store, number, spread(number)) for number in range(300))
        found = await asyncio.gather(*calls, store.stats())
        assert {*found[:-1]} == {Decision.NEW}
        assert server.client().info("clients")["connected_clients"] == most + 1


@pytest.mark.parametrize(("uri", "said"), [
    ("redis://:secret@host:port/0", "HOST:PORT/DB"),
    ("redis://:secret@one,other/0", "HOST:PORT/DB"),
    ("rediss://:secret@host/name", "HOST:PORT/DB"),
    ("redis:host", "redis://USER:PASSWORD@HOST:PORT/DB"),
    ("unix://:secret@", "/PATH?db=DB"),
    ("redis+cluster://:secret@/", "HOST:PORT,HOST:PORT"),
    ("redis+cluster://:secret@host/3", "HOST:PORT,HOST:PORT"),
    ("redis+sentinel://:secret@host", "HOST:PORT,HOST:PORT/SERVICE/DB"),
    ("redis+sentinel://:secret@host/name/other", "HOST:PORT,HOST:PORT/SERVICE/DB"),
    ("redis+sentinel://:secret@host/name?what=1", "parameter number 1"),
])  # fmt: skip
def test_a_uri_that_cannot_be_read(uri, said):
    with pytest.raises(ConfigurationError, match="NEARDUP_STORE") as raised:
        open_store(uri)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(("uri", "hosts", "name", "parameters"), [
    ("redis://", [], "", {"db": 0}),
    ("redis://ann:b%2Fc@host/3/?db=4", [("host", None)], "",
     {"username": "ann", "password": "b/c", "db": 4}),
    ("rediss://[::1]:7/", [("::1", 7)], "", {"db": 0}),
    ("unix:///run/a%20b?db=2", [], "/run/a b", {"db": 2}),
    ("redis+sentinel://a,b:8/all%20pages/1", [("a", None), ("b", 8)], "all pages", {"db": 1}),
    ("redis+cluster://a:7,b/", [("a", 7), ("b", None)], "", {}),
])  # fmt: skip
def test_a_uri_that_can_be_read(uri, hosts, name, parameters):
    assert RedisURI.read(uri) == (uri.partition(":")[0], hosts, name, parameters)


async def test_database_numbers_are_apart():
    base = shared_server().uri.removesuffix("/0")
    shared_server().client().flushall()
    for number in (3, 4):
        async with open_store(f"{base}/{number}") as store:
            assert await decision(store, 1) is Decision.NEW
            await store.confirm(1)


async def test_a_unix_socket(tmp_path_factory, server):
    path = f"{server.folder}/s"
    server.stop()
    server.options = ("--unixsocket", path)
    server.start()
    async with open_store(f"unix://{path}?db=2") as store:
        assert await decision(store, 1) is Decision.NEW


async def test_tls_through_a_proxy(tmp_path, server):
    """Not each server was built with TLS; connections, certificates and errors are ours."""
    key, certificate = made_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def relay(server: RedisServer, reader, writer) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", server.port)

        async def pump(source, sink) -> None:
            with suppress(OSError):
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            sink.close()

        await asyncio.gather(pump(reader, ours), pump(theirs, writer))

    proxy = await asyncio.start_server(partial(relay, server), "127.0.0.1", 0, ssl=context)
    uri = f"rediss://127.0.0.1:{proxy.sockets[0].getsockname()[1]}/0"
    await fails_to_open(uri, StoreUnavailableError, "ertificate")
    trusting = f"{uri}?ssl_ca_certs={certificate}"
    async with open_store(trusting) as one, open_store(trusting) as two:
        verdicts = await asyncio.gather(*(decision(one, n) for n in range(100)))
        assert verdicts.count(Decision.NEW) == 1
        assert await decision(two, 1000) is Decision.DUPLICATE
        await one.confirm(0)
    proxy.close()


def made_certificate(folder: Path) -> tuple[Path, Path]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", key, "-out", certificate,
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return key, certificate


@contextmanager
def sentinel_of(master: RedisServer):
    port = free_port()
    path = Path(master.folder) / "sentinel.conf"
    path.write_text(
        f"port {port}\nsentinel monitor pages 127.0.0.1 {master.port} 1\n"
        "sentinel down-after-milliseconds pages 1500\nsentinel failover-timeout pages 3000\n"
    )
    command = [server_binary(), path, "--sentinel", "--dir", master.folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(process, port)
        yield port
    finally:
        process.kill()
        process.wait()


async def test_a_sentinel_names_the_master_and_the_next_one():
    """What the replica had is known afterwards; in between calls fail, and none hangs."""
    with (
        RedisServer("--repl-diskless-sync-delay", "0") as master,
        RedisServer("--replicaof", "127.0.0.1", str(master.port)),
        sentinel_of(master) as port,
    ):
        uri = f"redis+sentinel://127.0.0.1:{port},localhost:{port}/pages/1"
        store = open_store(uri)
        sentinel = redis.Redis(port=port)
        await until(lambda: sentinel.sentinel_slaves("pages"))
        await fails_to_open(uri.replace("pages", "others"), StoreUnavailableError, "others")
        async with store:
            assert await decision(store, 1) is Decision.NEW
            await store.confirm(1)
            client = master.client()
            client.set("last", 1)  # what is waited for is what this connection has written
            assert client.wait(1, 60_000) == 1
            master.stop(signal.SIGKILL)
            async with asyncio.timeout(60):
                with pytest.raises(StoreUnavailableError):
                    await decision(store, 2)
            assert await healed(lambda: decision(store, 3)) is Decision.DUPLICATE
