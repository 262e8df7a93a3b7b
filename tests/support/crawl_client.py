"""Asks a `crawl_worker` to crawl."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parent


@dataclass
class Outcome:
    """What became of a crawl."""

    stats: dict[str, Any]
    notes: list[Any]
    """What the spider noted: with `Visit` the paths that a callback saw."""
    items: list[dict[str, Any]]
    log: list[tuple[str, str, str]]
    """Level, logger, message."""
    journal: list[str]
    """What toy stores were asked."""
    error: str
    """Why the crawl could not run."""

    @property
    def reason(self) -> str:
        return self.stats["finish_reason"]

    def counted(self, *, ours: str = "neardup/") -> dict[str, int]:
        """Return our stats, without their prefix."""
        return {k.removeprefix(ours): v for k, v in self.stats.items() if k.startswith(ours)}

    def logged(self, level: str, logger: str = "") -> list[str]:
        return [text for lv, name, text in self.log if lv == level and name.startswith(logger)]


class Worker:
    """A process that crawls."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, SUPPORT / "crawl_worker.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, *crawls: dict[str, Any]) -> None:
        """Run crawls at the same time: dicts of file, spider, settings and arguments."""
        self._process.stdin.write(json.dumps(crawls) + "\n")
        self._process.stdin.flush()

    def crawl(self, *crawls: dict[str, Any]) -> list[Outcome]:
        """Run crawls at the same time, and wait for them."""
        self.begin(*crawls)
        return self.end()

    def end(self) -> list[Outcome]:
        """Wait for the crawls that were begun."""
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, list), answer
        return [Outcome(**one) for one in answer]

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
