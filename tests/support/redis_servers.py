"""Real servers for tests and benchmarks: one Redis or Valkey process, or a cluster of them.

`redis_binary` finds the server. There is no silent skip: without one it fails.
"""

import atexit
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Self

import redis
from redis._parsers.commands import AsyncCommandsParser
from redis.crc import key_slot

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from redis_binary import all_binaries, server_binary  # noqa: F401

SLOTS = 16384
START_SECONDS = 60
MEMORY = Path("/dev/shm")
"""Where a log that is flushed at each write costs little; it outlives the server, as files do."""


def free_port() -> int:
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port + 10000 > 65535:
            continue
        with socket.socket() as bus:
            try:
                bus.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
        return port


@contextmanager
def port_of_nobody() -> Iterator[int]:
    """Hold a port on which nobody listens, so that no other process can."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def wait_for(process: subprocess.Popen, port: int) -> None:
    """Wait until a process listens on its port; `RuntimeError` if it ends, or takes too long."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} did not start on port {port}")


class RedisServer:
    """One server process on loopback, without persistence unless asked for."""

    def __init__(self, *options: str, binary: str | None = None) -> None:
        self.port = free_port()
        self.binary = binary or server_binary()
        self.folder = tempfile.mkdtemp(prefix="redis-", dir=MEMORY if MEMORY.is_dir() else None)
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, **options) -> redis.Redis:
        return redis.Redis(port=self.port, **options)

    def start(self) -> Self:
        command = [
            self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
            "--dir", self.folder, "--loglevel", "warning", *self.options,
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(self.process, self.port)
        return self

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(how)
            self.process.wait(timeout=START_SECONDS)
            self.process = None

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except RuntimeError:
            self.stop(signal.SIGKILL)
            self.port = free_port()  # another process may have taken it meanwhile
            return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


class RedisCluster:
    """Masters with replicas on loopback, formed with redis-py alone."""

    OPTIONS = (
        "--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
        "--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0",
    )  # fmt: skip

    def __init__(self, nodes: list[RedisServer], masters: int) -> None:
        self.nodes = nodes
        self.masters = nodes[:masters]
        self.replicas = nodes[masters:]

    @property
    def uri(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.masters)

    def form(self) -> None:
        """Give out the slots, introduce the nodes, attach the replicas."""
        share = -(-SLOTS // len(self.masters))
        for place, node in enumerate(self.masters):
            slots = range(place * share, min((place + 1) * share, SLOTS))
            node.client().execute_command("CLUSTER", "ADDSLOTS", *slots)
        for node in self.nodes[1:]:
            node.client().execute_command("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        self._wait(lambda client: int(_info(client)["cluster_known_nodes"]) == len(self.nodes))
        for place, node in enumerate(self.replicas):
            master = self.masters[place % len(self.masters)].client()
            name = master.execute_command("CLUSTER", "MYID")
            node.client().execute_command("CLUSTER", "REPLICATE", name)
        self._wait(lambda client: _info(client)["cluster_state"] == "ok")
        _until(self.replicated)

    def replicated(self) -> bool:
        """Whether all that masters have been told has arrived at their replicas."""
        told = {node.port: node.client().info("replication") for node in self.nodes}
        return all(
            theirs["master_link_status"] == "up"
            and theirs["slave_repl_offset"] == told[theirs["master_port"]]["master_repl_offset"]
            for theirs in (told[node.port] for node in self.replicas)
        )

    def slots_in_use(self, master: RedisServer) -> list[int]:
        """Return the slots of `master` that hold a key."""
        return sorted({key_slot(key) for key in master.client().scan_iter()})

    def move_slot(self, slot: int, source: RedisServer, target: RedisServer) -> None:
        """Move one slot as ``redis-cli --cluster reshard`` does, key by key; wait until all know.

        A master that hasn't heard of the giver's last epoch when it is given a slot takes a late
        message of the giver for a newer claim, and deletes the slot's keys.
        """
        self._wait(lambda client: _info(client)["cluster_state"] == "ok")
        both = (source, target)
        names = {node: node.client().execute_command("CLUSTER", "MYID") for node in both}
        target.client().execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", names[source])
        source.client().execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", names[target])
        while keys := source.client().execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
            migrate = ("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
            source.client().execute_command(*migrate)
        for node in (target, source, *self.masters):
            node.client().execute_command("CLUSTER", "SETSLOT", slot, "NODE", names[target])
        masters = [node.client() for node in self.masters]
        _until(lambda: len({_info(each)["cluster_current_epoch"] for each in masters}) == 1)

    def _wait(self, holds) -> None:
        _until(lambda: all(holds(node.client()) for node in self.nodes))


def _info(client: redis.Redis) -> dict[str, str]:
    reply = client.execute_command("CLUSTER", "INFO")
    if isinstance(reply, dict):
        return reply
    return dict(line.split(":", 1) for line in reply.decode().split())


def _until(holds, seconds: float = START_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError("the nodes of the cluster do not agree")
        time.sleep(0.05)


@contextmanager
def running_cluster(*options: str, masters: int = 3, replicas: int = 0, binary: str | None = None):
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(RedisServer(*RedisCluster.OPTIONS, *options, binary=binary))
            for _ in range(masters + replicas)
        ]
        cluster = RedisCluster(nodes, masters)
        cluster.form()
        yield cluster


def _read_commands_once() -> None:
    """Let all clients of clusters know what the first one was told of the commands.

    redis-py asks each time it connects, and parses a reply of 10,000 lines in pure Python: that
    takes longer than most tests.
    """
    initialize = AsyncCommandsParser.initialize
    known = {}

    async def initialize_once(self, node=None):
        if not known:
            await initialize(self, node)
            known.update(self.commands)
        self.node, self.commands = node or self.node, known

    AsyncCommandsParser.initialize = initialize_once


@cache
def shared_server() -> RedisServer:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(RedisServer())


@cache
def shared_cluster() -> RedisCluster:
    _read_commands_once()
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(running_cluster())
