"""Processes that `compare` starts: the site's server, a Redis server and the crawls.

Whatever is started here has ended when its caller goes on.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
"""The folder of scrapy.cfg, where `docsite` and `example` can be imported."""

LAST_SECONDS = 10.0
"""Seconds that a crawl may take to end when it is asked to."""

sys.path.insert(0, str(PROJECT.parent / "tools"))
import redis_binary  # noqa: E402  (the tests start their servers with it too)


class Progress:
    """A line that is written over on a terminal, and now and then a line elsewhere."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._live = sys.stdout.isatty()
        self._started = self._told = time.monotonic()

    def tell(self, how_far: str) -> None:
        if self._live:
            print(f"\r{self._what}: {how_far}\x1b[K", end="", flush=True)
        elif time.monotonic() - self._told > 10:
            self._told = time.monotonic()
            print(f"{self._what}: {how_far}", flush=True)

    def done(self, how_far: str) -> None:
        seconds = time.monotonic() - self._started
        start = "\r" if self._live else ""
        end = "\x1b[K" if self._live else ""
        print(f"{start}{self._what}: {how_far}, {seconds:.0f} s{end}", flush=True)


@contextmanager
def served(modules: Sequence[str]) -> Iterator[str]:
    """Serve the site in a process of its own; the value is its URL."""
    command = [sys.executable, "-m", "docsite", "--port", "0", *modules]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip() if server.stdout else ""
            if not url:
                raise SystemExit("the site's server didn't start; its message stands above")
            yield url
        finally:
            server.terminate()


@contextmanager
def redis() -> Iterator[str]:
    """Run a Redis server of our own, in memory; the value is its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [redis_binary.server_binary(), "--port", port, "--bind", "127.0.0.1"]
    quiet = ["--save", "", "--loglevel", "warning"]
    with subprocess.Popen(command + quiet, stdout=subprocess.DEVNULL) as server:
        try:
            _await_port(server, int(port))
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()


def _await_port(server: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise SystemExit(f"{server.args[0]} didn't start on port {port}")


RUNS = {
    "without": {"NEARDUP_ENABLED": False},
    "with": {},
    "skip": {"NEARDUP_URLS": "skip"},
}
"""Crawls by name, and what is special in their settings."""


def crawl(what: str, site: str, *, name: str, pages: int, folder: Path) -> list[dict]:
    """Run one of `RUNS` in a process of its own and return its journal."""
    settings = RUNS[name] | {"CLOSESPIDER_PAGECOUNT": pages}
    [journal] = _crawl(what, site, {name: settings}, pages=pages, folder=folder)
    return journal


def crawl_together(
    what: str, site: str, *, server: str, crawlers: int, pages: int, folder: Path
) -> list[list[dict]]:
    """Run crawls that share their frontier and their memory; return their journals.

    `pages` is the budget of all of them together.
    """
    settings = {
        f"with-{number + 1}": {
            "NEARDUP_STORE": server,
            "CLOSESPIDER_PAGECOUNT": 0,
            "EXAMPLE_PAGES": pages,
            "EXAMPLE_FRONTIER": server,
            "EXAMPLE_CRAWLERS": crawlers,
            "EXAMPLE_CRAWLER": number,
        }
        for number in range(crawlers)
    }
    return _crawl(what, site, settings, pages=pages, folder=folder)


def _crawl(
    what: str, site: str, crawls: dict[str, dict[str, Any]], *, pages: int, folder: Path
) -> list[list[dict]]:
    """Run crawls at the same time, each in a process of its own; return their journals.

    `crawls` has their names and what is special in their settings.
    """
    journals = {name: folder / f"{name}.jsonl" for name in crawls}
    progress = Progress(what)
    with ExitStack() as stack:
        processes = {}
        for name, settings in crawls.items():
            journals[name].unlink(missing_ok=True)
            process = stack.enter_context(_scrapy(site, name, settings, folder))
            stack.callback(end, process)
            processes[name] = process
        while any(process.poll() is None for process in processes.values()):
            time.sleep(0.2)
            progress.tell(f"{sum(map(_lines, journals.values())):,} of {pages:,} pages")
            if any(process.poll() for process in processes.values()):
                break  # one has failed: the others may wait for it
    records = [_records(folder, name, process) for name, process in processes.items()]
    progress.done(f"{sum(map(len, records)) - len(records):,} pages")
    return records


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a crawl end the page that it is at; end it if that takes more than `LAST_SECONDS`."""
    process.terminate()
    try:
        process.wait(LAST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _scrapy(
    site: str, name: str, settings: dict[str, Any], folder: Path
) -> subprocess.Popen[bytes]:
    log = folder / f"{name}.log"
    log.unlink(missing_ok=True)
    settings = {**settings, "EXAMPLE_JOURNAL": folder / f"{name}.jsonl", "LOG_FILE": log}
    command = [sys.executable, "-m", "scrapy", "crawl", "docs", "-a", f"site={site}"]
    for setting, value in settings.items():
        command += ["-s", f"{setting}={value}"]
    return subprocess.Popen(command, cwd=PROJECT)


def _records(folder: Path, name: str, process: subprocess.Popen[bytes]) -> list[dict]:
    journal, log = folder / f"{name}.jsonl", folder / f"{name}.log"
    lines = journal.read_text("utf-8").splitlines() if journal.exists() else []
    records = [json.loads(line) for line in lines]
    stats = records[-1].get("stats", {}) if records else {}
    if process.returncode or not stats.get("response_received_count"):
        tail = "\n".join(log.read_text().splitlines()[-40:]) if log.exists() else ""
        raise SystemExit(f"\n{tail}\nthe crawl failed (status {process.returncode}): see {log}")
    return records


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0
