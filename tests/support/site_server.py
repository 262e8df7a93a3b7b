"""A small web site on 127.0.0.1, for crawls that are real."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

SYLLABLES = [a + b for a in "bdfgjklmnprstvw" for b in ("a", "e", "i", "o", "u", "al", "en")]


PARAGRAPHS = 30


def text(group: str, variant: int = 0, words: int = 1500) -> str:
    """Return HTML: of one group the same prose, its paragraphs in another order in each variant.

    Groups have nothing in common. Variants of a group are near-duplicates, whatever their titles
    and addresses.
    """
    source = random.Random(group)
    prose = ["".join(source.choices(SYLLABLES, k=3)) for _ in range(words)]
    size = max(1, words // PARAGRAPHS)
    rows = [" ".join(prose[start : start + size]) for start in range(0, words, size)]
    turned = variant % len(rows)
    return "<p>".join([*rows[turned:], *rows[:turned]])


def page(prose: str, *links: str, title: str = "Title", head: str = "") -> str:
    anchors = " ".join(f'<a href="{link}">.</a>' for link in links)
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head>"
        f"<body><p>{prose}</p>{anchors}</body></html>"
    )


@dataclass
class Answer:
    body: str | bytes = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


EMPTY = Answer("{}", headers={"Content-Type": "application/json"})
"""What is no page."""

Route = Answer | str | Callable[[BaseHTTPRequestHandler], Answer]


def does(action: Callable[[], object]) -> Route:

    def answer(_request: BaseHTTPRequestHandler) -> Answer:
        action()
        return EMPTY

    return answer


class Server(ThreadingHTTPServer):
    request_queue_size = 512  # connections that are opened at once; others would be tried again


class Site:
    """Answers with `routes` (path -> answer, page, or function), and notes every request.

    A path ``/GROUP/VARIANT`` without a route is a page of `text`.
    """

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.requests: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else the body waits 40 ms for the headers to arrive

            def do_GET(self) -> None:
                site._answer(self)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                site._answer(self)

            def log_message(self, *_) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(handler.path)
        route = self.routes.get(handler.path) or self._default(handler.path)
        answer = route(handler) if callable(route) else route
        if isinstance(answer, str):
            answer = Answer(answer)
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        headers = {"Content-Type": "text/html; charset=utf-8", **answer.headers}
        try:
            handler.send_response(answer.status)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:  # the crawler was killed
            handler.close_connection = True

    @staticmethod
    def _default(path: str) -> Route:
        match path.partition("?")[0].strip("/").split("/"):
            case [group, variant] if variant.isdigit():
                return page(text(group, int(variant)))
            case [name] if name.endswith(".json"):
                return EMPTY
            case _:
                return Answer("", status=404)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True, args=(0.05,)).start()
        return self

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._server.server_close()


def show(site, *paths):
    """Serve pages, each with a text and a title of its own, and return their paths."""
    for path in paths:
        site.routes[path] = page(text(path, words=80), title=path)
    return paths


def pages(site, folder="p", count=15):
    """Serve pages of one place, each with a text of its own, and return their paths."""
    return show(site, *(f"/{folder}/{number}" for number in range(count)))
