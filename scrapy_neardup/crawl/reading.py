"""Response to page, or the verdict that there is none to judge.

Rule of this module: no store. Whatever goes wrong with a response becomes a verdict with its
reason; the response itself is delivered.
"""

from __future__ import annotations

import codecs
import logging
from dataclasses import replace
from time import thread_time
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Selector
from scrapy.http import HtmlResponse

from scrapy_neardup.analysis import AnalysedPage
from scrapy_neardup.crawl.audit import Said
from scrapy_neardup.crawl.compat import has_selector, set_selector
from scrapy_neardup.crawl.metakeys import SKIP_KEY
from scrapy_neardup.dust.words import unordered_hash
from scrapy_neardup.errors import TooComplexError
from scrapy_neardup.text import (
    Block,
    Blocks,
    Form,
    check_text,
    check_tree,
    declares_encoding,
    guess_encoding,
    link_targets,
    parse_html,
)
from scrapy_neardup.verdict import Decision, Page, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.analysis import Analyser
    from scrapy_neardup.crawl.settings import CrawlSettings
    from scrapy_neardup.text import Content

logger = logging.getLogger(__name__)


class UnjudgedError(Exception):
    """A page can't be judged."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Reading(NamedTuple):
    """What is judged of a response."""

    page: Page | Verdict
    """The page, or the verdict that it can't be judged."""
    said: Said | None
    """What it says, unless it couldn't be read."""
    words: int
    """Hash of what it says, whatever the order; of a short page, of its letters alone. 0: there is
    none."""
    seconds: float
    """Seconds of CPU time that reading and analysing the page took."""


class Reader:
    """Reads what is to be judged of a response.

    Parameters
    ----------
    analyser
        Reads the tree that the spider gets as well.
    settings
        ``NEARDUP_TEXT`` and ``NEARDUP_SCOPE``, the user's view of a page's text and category in
        place of the analyser's; ``NEARDUP_DENY``; and what the audit wants.
    """

    def __init__(self, analyser: Analyser, settings: CrawlSettings) -> None:
        self.analyser = analyser
        self._text_of = settings.text_of
        self._scope_of = settings.scope_of
        self._deny = settings.deny
        self._audits_text = settings.audit_text
        self._hashes_words = settings.urls != "off"
        self._complained = False

    def page(self, identity: int, request: Request, response: Response) -> Reading:
        """Return what is judged of a response, or the verdict that it can't be."""
        start = thread_time()
        page, said, words = self._page(identity, request, response)
        return Reading(page, said, words, thread_time() - start)

    def _page(
        self, identity: int, request: Request, response: Response
    ) -> tuple[Page | Verdict, Said | None, int]:
        try:
            content = self.read(request, response)
            scope = self._scope_of and self._asked("NEARDUP_SCOPE", self._scope_of, response)
        except UnjudgedError as error:
            return unjudged(identity, error.reason, str(error)), None, 0
        said = Said(content, with_text=self._audits_text)
        try:
            page = self.analyser.page(content, page_id=identity, url=response.url)
        except Exception as error:  # noqa: BLE001  (whatever it raises, the page is delivered)
            # All that is left is a callable of the user's in the fingerprint.
            self._complain("NEARDUP_WEIGHTS", response, error)
            return unjudged(identity, Reason.TEXT_ERROR, repr(error)), said, 0
        if scope is not None and isinstance(page, Page):
            page = replace(page, scope=scope)
        if not isinstance(page, AnalysedPage):
            return page, said, 0
        if page.exact and self._hashes_words:
            return page, said, unordered_hash(content.blocks.texts, letters_only=True)
        return page, said, page.words

    def read(self, request: Request, response: Response) -> Content:
        """Return the content of a page.

        Raises
        ------
        UnjudgedError
            With the reason why there is none.
        """
        if request.meta.get(SKIP_KEY):
            raise UnjudgedError(Reason.SKIPPED)
        for pattern in self._deny:
            if pattern.search(response.url):
                raise UnjudgedError(Reason.DENIED, pattern.pattern)
        if not isinstance(response, HtmlResponse):
            raise UnjudgedError(Reason.NOT_HTML, type(response).__name__)
        content = self._tree_content(response)
        if self._text_of is not None:
            own = Block(self._asked("NEARDUP_TEXT", self._text_of, response), Form.CONTENT, 0)
            content = replace(content, blocks=Blocks.of([own]))
        return content

    def _complain(self, setting: str, response: Response, error: Exception) -> None:
        """Log, once in a crawl and with the traceback, that a callable of the user's failed."""
        if not self._complained:
            logger.error(
                "The %s callable failed for %s; such pages are delivered unjudged",
                setting,
                response,
                exc_info=error,
            )
        self._complained = True

    def _tree_content(self, response: HtmlResponse) -> Content:
        try:
            selector = _parsed(response)
            content = self.analyser.read(selector.root)
        except TooComplexError as error:
            raise UnjudgedError(Reason.TOO_COMPLEX, str(error)) from error
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            raise UnjudgedError(Reason.UNPARSABLE, detail) from error
        _trees[response] = selector.root
        # Not before: who has the tree may change it in another thread, which ends the process if
        # it is being read. Nobody has this one.
        if selector.response is response and not has_selector(response):
            set_selector(response, selector)
        return content

    def _asked(self, setting: str, ask: Callable[[Response], str], response: Response) -> str:
        """Return what a callable of the user's says of a response."""
        try:
            answer = ask(response)
        except Exception as error:
            self._complain(setting, response, error)
            detail = f"{type(error).__name__}: {error}"
            raise UnjudgedError(Reason.TEXT_ERROR, detail) from error
        if not isinstance(answer, str):
            detail = f"the {setting} callable returned {type(answer).__name__}, not str"
            raise UnjudgedError(Reason.TEXT_ERROR, detail)
        return answer


def unjudged(identity: int, reason: Reason, detail: str) -> Verdict:
    """Return the verdict that a page can't be judged."""
    return Verdict(decision=Decision.UNJUDGED, reason=reason, page_id=identity, detail=detail)


def targets(response: Response) -> set[str]:
    """Return the addresses that an HTML page links to, if it was read."""
    root = _trees.get(response)
    return set() if root is None else link_targets(root, response.url)


_trees: WeakKeyDictionary[Response, HtmlElement] = WeakKeyDictionary()
"""Responses that were read -> their trees, as a page is parsed only once."""


def _parsed(response: HtmlResponse) -> Selector:
    """Return the parsed page.

    It is parsed as Scrapy does it for the spider, unless Scrapy guesses the encoding otherwise
    than `scrapy_neardup.text` does for pages on disk.

    Raises
    ------
    InputError
        It is empty, or it would take too long to read it.
    """
    if _is_decoded_alike(response):
        check_text(response.text)
        selector = Selector(response)
        if len(selector.root):
            check_tree(selector.root)
            return selector
    return Selector(root=parse_html(response.body), type="html")


def _is_decoded_alike(response: HtmlResponse) -> bool:
    encoding, body = response.encoding, response.body
    if encoding == "utf-8" or body.isascii():
        return True
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    if declares_encoding(body, content_type):
        return True
    return codecs.lookup(guess_encoding(body)) == codecs.lookup(encoding)
