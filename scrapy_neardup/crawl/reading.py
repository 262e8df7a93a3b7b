"""Which responses are pages of the crawl, and how each becomes a page to be judged.

Only responses that a callback is going to see are pages. Otherwise a page might be dropped as the
duplicate of a response that no callback sees (a 404 and a soft 404 look the same), and logins and
forms would break. These aren't pages: responses to methods other than GET, and those that a form
was redirected to; robots.txt, media and others with ``NO_CALLBACK``; errors and redirections, even
if the spider handles them, because it wants their status, which isn't in the text; and downloads
that a callback awaits inline (``engine.download_async``).

Two of these can't be recognised by the request: a redirected form is a GET, and an inline download
looks like a request with the default callback. So forms and requests with the default callback are
marked when they are scheduled, which inline downloads never are.

Any problem with a response becomes a verdict with a reason, and the response is delivered.
"""

from __future__ import annotations

import codecs
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import proxy

from scrapy import Selector
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.crawl import SKIP_KEY
from scrapy_neardup.errors import TooComplexError, UnjudgedError
from scrapy_neardup.text import check_text, check_tree, parse_html
from scrapy_neardup.verdict import UNJUDGED, Page, Reason, Verdict

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.crawl.callables import Callables
    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.pagestate import Visit
    from scrapy_neardup.judge.analysis import Analyser
    from scrapy_neardup.text import Content


class Reader:
    """The reader of a crawl's responses, from the tree that the spider gets as well."""

    def __init__(self, analyser: Analyser, settings: CrawlSettings) -> None:
        self.analyser = analyser
        self._deny = settings.deny
        own = settings.parameters
        self._callables: Callables | None = None
        if callable(own.text) or callable(own.scope) or callable(own.weights):
            from scrapy_neardup.crawl.callables import Callables  # noqa: PLC0415

            self._callables = Callables(own)

    def page(self, visit: Visit, request: Request, response: Response) -> Page | Verdict:
        """Return the page to be judged, or the verdict that the response can't be judged.

        `visit` gets the content and the tree that were read.
        """
        start = perf_counter()  # thread_time would take a system call
        try:
            visit.content, visit.root = content, _ = self.read(request, response)
            scope = None if self._callables is None else self._callables.scope(response)
            page = self.analyser.page(content, page_id=visit.page_id, url=response.url)
            if scope is not None and isinstance(page, Page):
                page = replace(page, scope=scope)
        except UnjudgedError as error:
            visit.content = visit.root = None
            page = unjudged(visit.page_id, Reason(error.reason), str(error))
        except Exception as error:
            if self._callables is None:
                raise
            # Only one in the fingerprint is left to fail.
            self._callables.complain("NEARDUP_WEIGHTS", response, error)
            page = unjudged(visit.page_id, Reason.TEXT_ERROR, repr(error))
        visit.seconds = perf_counter() - start
        return page

    def read(self, request: Request, response: Response) -> tuple[Content, HtmlElement]:
        """Return the content of a page, and its tree; `UnjudgedError` says why there is none."""
        if request.meta.get(SKIP_KEY):
            raise UnjudgedError(Reason.SKIPPED)
        for pattern in self._deny:
            if pattern.search(response.url):
                raise UnjudgedError(Reason.DENIED, pattern.pattern)
        if not isinstance(response, HtmlResponse):
            raise UnjudgedError(Reason.NOT_HTML, type(response).__name__)
        _check_body(response.body)
        try:
            selector = _parsed(response)
            content = self.analyser.read(selector.root)
        except TooComplexError as error:
            raise UnjudgedError(Reason.TOO_COMPLEX, str(error)) from error
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            raise UnjudgedError(Reason.UNPARSABLE, detail) from error
        # Only now, because others may change the tree in another thread, which would crash the
        # process while the tree is being read.
        if selector.response is response and response._cached_selector is None:  # noqa: SLF001
            response._cached_selector = selector  # noqa: SLF001  (there is no interface for it)
            # Otherwise the two, and the tree, would stay until the next full garbage collection.
            selector.response = proxy(response)
        if self._callables is not None:
            content = self._callables.with_text(content, response)
        return content, selector.root


def unjudged(identity: int, reason: Reason, detail: str) -> Verdict:
    """Return the verdict that a page can't be judged."""
    return Verdict(decision=UNJUDGED, reason=reason, page_id=identity, detail=detail)


def _check_body(body: bytes) -> None:
    """Raise `UnjudgedError` if what the server calls HTML is JSON or a feed."""
    if body[:2] not in {b"<!", b"<h"}:  # how almost all pages begin
        from scrapy_neardup.text.sniffing import is_data  # noqa: PLC0415

        if is_data(body):
            raise UnjudgedError(Reason.NOT_HTML, "the body is data")


def _parsed(response: HtmlResponse) -> Selector:
    """Return the parsed page; raise `InputError` if it is empty or too long to read.

    It is parsed as Scrapy does it for the spider, unless Scrapy guesses another encoding than
    `scrapy_neardup.text` does for pages on disk.
    """
    encoding, body = response.encoding, response.body
    if encoding != "utf-8" and not body.isascii():
        from scrapy_neardup.text.encoding import declares_encoding, guess_encoding  # noqa: PLC0415

        kind = (response.headers.get("Content-Type") or b"").decode("latin-1")
        is_declared = declares_encoding(body, kind)
        if not is_declared and codecs.lookup(guess_encoding(body)) != codecs.lookup(encoding):
            return Selector(root=parse_html(body), type="html")
    check_text(response.text)
    selector = Selector(response)
    if not len(selector.root):
        return Selector(root=parse_html(body), type="html")
    check_tree(selector.root)
    return selector


_MARK = "_neardup"
_FORM, _SCHEDULED = "form", "scheduled"
"""Key of `request.meta`, and its values. The mark goes to disk with the request (``JOBDIR``), and
stays with a redirection or retry. It is removed when the response arrives, so that no copy of
``response.meta`` has it.
"""


def is_page(request: Request, response: Response) -> bool | None:
    """Whether `response` is a page that a callback is going to see; remove its request's mark.

    None if it is taken for an inline download only because the mark is missing.
    """
    marked = request.meta.pop(_MARK, None)
    callback = request.callback
    if request.method != "GET" or marked == _FORM or callback is NO_CALLBACK:
        return False
    is_read = 200 <= response.status < 300
    return None if is_read and callback is None and marked is None else is_read


def mark(request: Request) -> None:
    """Mark a scheduled request if its response couldn't be classified without the mark."""
    if request.method != "GET":
        request.meta[_MARK] = _FORM
    elif request.callback is None:
        request.meta.setdefault(_MARK, _SCHEDULED)
