"""Serve the site on this machine: ``python -m docsite [--port 8000] [MODULE ...]``."""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from docsite.library import load
from docsite.site import Site

HOST = "127.0.0.1"


class Server(ThreadingHTTPServer):
    """A server of `site`, on a free port of this machine where `port` is 0."""

    daemon_threads = True

    def __init__(self, site: Site, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.site = site
        self.visits: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    """One connection; HTTP/1.1, so that a crawler keeps it open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the headers to arrive
    server: Server

    def do_GET(self) -> None:
        if self.path in {"/robots.txt", "/favicon.ico"}:  # a true 404, as the site has neither
            self._answer(HTTPStatus.NOT_FOUND, "")
        else:
            if self.path == "/":  # a crawl begins, and meets what the one before has met
                self.server.visits.clear()
            visit = self.server.visits[self.path]
            self.server.visits[self.path] += 1
            self._answer(HTTPStatus.OK, self.server.site.page(self.path, visit))

    def _answer(self, status: HTTPStatus, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(prog="docsite", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("modules", nargs="*", help="serve these only")
    options = parser.parse_args()
    site = Site(load(options.modules))
    try:
        server = Server(site, options.port)
    except OSError as error:
        parser.error(f"port {options.port}: {error.strerror}; choose another (make site PORT=...)")
    with server, suppress(KeyboardInterrupt):
        print(server.url, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
