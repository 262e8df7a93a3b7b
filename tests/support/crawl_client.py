"""Asks a `crawl_worker` to crawl."""

import json
from dataclasses import dataclass
from typing import Any

import forked


@dataclass
class Outcome:
    stats: dict[str, Any]
    notes: list[Any]
    """What the spider noted: with `Visit` the paths that a callback saw."""
    items: list[dict[str, Any]]
    log: list[tuple[str, str, str]]
    """Level, logger, message."""
    journal: list[str]
    """What toy stores were asked."""
    started: bool
    """False is what Scrapy's commands end with status 1 for."""
    error: str
    """Why the crawl could not run."""

    @property
    def reason(self) -> str:
        return self.stats["finish_reason"]

    @property
    def requested(self) -> int:
        """Number of requests, without those that were made a second time as an experiment."""
        again = self.stats.get("neardup/experiments/refetched", 0)
        return self.stats["downloader/request_count"] - again

    def counted(self, *, ours: str = "neardup/") -> dict[str, int]:
        """Return our stats, without their prefix."""
        return {k.removeprefix(ours): v for k, v in self.stats.items() if k.startswith(ours)}

    def pages(self, *what: str) -> list[int]:
        """Return our stats of pages: how many were dropped, new, and so on."""
        counted = self.counted(ours="neardup/pages/")
        return [counted.get(each, 0) for each in what]

    def logged(self, level: str, logger: str = "") -> list[str]:
        return [text for lv, name, text in self.log if lv == level and name.startswith(logger)]


class Worker:
    def __init__(self) -> None:
        forking = forked.context()
        self._jobs, theirs = forking.Pipe()
        self._process = forking.Process(target=_serve, args=(theirs,))
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, *crawls: dict[str, Any]) -> None:
        self._jobs.send(json.dumps(crawls))

    def crawl(self, *crawls: dict[str, Any]) -> list[Outcome]:
        self.begin(*crawls)
        return self.end()

    def end(self) -> list[Outcome]:
        answer = json.loads(self._jobs.recv())
        assert isinstance(answer, list), answer
        return [Outcome(**one) for one in answer]

    def close(self) -> None:
        self._jobs.close()
        self._process.join(30)
        self._process.close()


def _serve(jobs: object) -> None:
    import crawl_worker  # here, as it installs a reactor

    crawl_worker.serve(jobs)
