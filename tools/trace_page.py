"""The way of one dropped page through the package: what a reader has to follow.

A crawl of two equal pages, with the memory store. The second one is traced, from
``process_response`` of the downloader middleware until the spider middleware has dropped it.
Printed are:

- the *spine*, the frames of the package from ``process_response`` to the function that decides;
- how many functions in how many files the page passes, and how often it goes from one package or
  module to another (a *stay* lasts until it leaves).

A comprehension counts as a part of its function, as in Python 3.12. Compiled functions leave no
trace; ``NEARDUP_PURE=1`` shows what stands in for them.

    python tools/trace_page.py                 # the counts, and the spine
    python tools/trace_page.py --functions     # each function and stay as well
"""

# ruff: noqa: INP001, T201  (a script that prints)
from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess

import scrapy_neardup

PACKAGE = Path(scrapy_neardup.__file__).parent
FIRST, LAST = "process_response", "process_spider_input"
PAGE = (
    "<title>Tides</title><h1>Tides</h1><nav><a href=/>Home</a></nav><main>"
    + "".join(f"<p>At hour {hour} the water of bay {hour * 7} is high.</p>" for hour in range(60))
    + "</main>"
).encode()


class Tracer:
    """A profile function that follows the page at one URL."""

    def __init__(self, path: str, decides: str) -> None:
        self.path = path
        self.decides = decides
        self.functions: dict[str, None] = {}
        self.stays: list[str] = []
        self.spine: list[str] = []
        self.follows = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call, or a return."""
        if event not in {"call", "return"} or (file := file_of(frame)) is None:
            return
        name = frame.f_code.co_name
        if event == "call":
            if name == FIRST and frame.f_locals["response"].url.endswith(self.path):
                self.follows = True
            if self.follows and not name.endswith(("comp>", "genexpr>")):
                self.functions[name_of(frame)] = None
                self.enter(file)
                if file == self.decides and name == "decide":  # the innermost one is the last
                    self.spine = list(spine(frame))
        elif self.follows:
            if name == LAST:
                self.follows = False
            if (caller := next(frames(frame.f_back), None)) is not None:
                self.enter(str(file_of(caller)))

    def enter(self, file: str) -> None:
        """Note that the page is in a package, or module, from now on."""
        owner = file.partition("/")[0]
        if not self.stays or self.stays[-1] != owner:
            self.stays.append(owner)


def file_of(frame: FrameType) -> str | None:
    """Return the file of a frame, relative to the package; None for code of others."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


def name_of(frame: FrameType) -> str:
    """Return file and name of a frame's function."""
    return f"{file_of(frame)}: {frame.f_code.co_qualname}"


def frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and those that called it, as far as they are the package's."""
    while frame is not None:
        if file_of(frame) is not None:
            yield frame
        frame = frame.f_back


def spine(frame: FrameType) -> Iterator[str]:
    """Yield the functions from `FIRST` to a frame."""
    called = list(frames(frame))
    names = [each.f_code.co_name for each in called]
    yield from (name_of(each) for each in reversed(called[: names.index(FIRST) + 1]))


class Answer(BaseHTTPRequestHandler):
    """Answers everything with `PAGE`."""

    def do_GET(self) -> None:
        """Send the page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def served() -> Iterator[str]:
    """Yield the address of a server of pages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Pair(scrapy.Spider):
    """Asks for one page, and then for its copy."""

    name = "pair"

    def __init__(self, site: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [f"{site}/original"]

    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        """Follow from the original to the copy."""
        if response.url.endswith("/original"):
            yield response.follow("/copy")


def trace(decides: str) -> Tracer:
    """Crawl, and return what the copy has passed."""
    tracer = Tracer("/copy", decides)
    process = CrawlerProcess({
        "ADDONS": {"scrapy_neardup.Addon": 500},
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
    })  # fmt: skip
    with served() as site:
        crawler = process.create_crawler(Pair)
        process.crawl(crawler, site=site)
        sys.setprofile(tracer)
        try:
            process.start()
        finally:
            sys.setprofile(None)
    dropped = crawler.stats.get_value("neardup/pages/dropped")
    if dropped != 1 or not tracer.spine:
        sys.exit(f"{dropped or 0} pages were dropped, and none was decided about in {decides}")
    return tracer


def main() -> None:
    """Trace, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--functions", action="store_true", help="list all functions and stays")
    parser.add_argument(
        "--decides",
        default="judge/comparison.py",
        help="the file with the functions that decide",
    )
    options = parser.parse_args()
    found = trace(options.decides)
    files = {name.partition(":")[0] for name in found.functions}
    print(f"spine: {len(found.spine)} frames")
    print(*(f"  {name}" for name in found.spine), sep="\n")
    print(f"{len(found.functions)} functions in {len(files)} files")
    print(f"{len(found.stays)} stays in {len(set(found.stays))} packages and modules")
    if options.functions:
        print(*(f"  {name}" for name in found.functions), sep="\n")
        print(" > ".join(found.stays))


if __name__ == "__main__":
    main()
