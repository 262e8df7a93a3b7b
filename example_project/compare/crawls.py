"""Processes that `compare` starts: the site's server and the crawls.

Rule of this file: whatever it starts has ended when its caller goes on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).parents[1]
"""The folder of scrapy.cfg, where `docsite` and `example` can be imported."""


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


def crawl(what: str, site: str, *, plugin: bool, pages: int, folder: Path) -> list[dict]:
    """Run one crawl in a process of its own and return its journal."""
    name = "with" if plugin else "without"
    journal, log = folder / f"{name}.jsonl", folder / f"{name}.log"
    journal.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    settings = {
        "NEARDUP_ENABLED": plugin,
        "CLOSESPIDER_PAGECOUNT": pages,
        "EXAMPLE_JOURNAL": journal,
        "LOG_FILE": log,
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "docs", "-a", f"site={site}"]
    for setting, value in settings.items():
        command += ["-s", f"{setting}={value}"]
    progress = Progress(what)
    with subprocess.Popen(command, cwd=PROJECT) as process:
        try:
            while process.poll() is None:
                time.sleep(0.2)
                progress.tell(f"{_lines(journal):,} of {pages:,} pages")
        finally:
            process.terminate()
    lines = journal.read_text("utf-8").splitlines() if journal.exists() else []
    records = [json.loads(line) for line in lines]
    if process.returncode or not records or "stats" not in records[-1]:
        tail = "\n".join(log.read_text().splitlines()[-20:]) if log.exists() else ""
        raise SystemExit(f"\n{tail}\nthe crawl failed (status {process.returncode}): see {log}")
    progress.done(f"{len(records) - 1:,} pages")
    return records


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0
