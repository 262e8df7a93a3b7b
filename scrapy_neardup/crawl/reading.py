"""Response to content, or the reason why there is none to judge.

Rule of this module: no store and no verdict. Whatever goes wrong with a page becomes an
`UnjudgedError` with its reason; the page itself is delivered.
"""

from __future__ import annotations

import codecs
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from scrapy_neardup.text import (
    Block,
    Form,
    declares_encoding,
    guess_encoding,
    link_targets,
    lost_content,
    parse_html,
)
from scrapy_neardup.verdict import Reason

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from lxml.html import HtmlElement
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.analysis import Analyser
    from scrapy_neardup.text import Content

logger = logging.getLogger(__name__)

SKIP_KEY = "neardup_skip"
"""``request.meta[SKIP_KEY]``: True for one page, ``"all"`` for its descendants too."""


class UnjudgedError(Exception):
    """A page can't be judged."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Reader:
    """Reads what is to be judged of a response.

    Parameters
    ----------
    analyser
        Reads the tree that Scrapy parses for the spider anyway.
    text_of
        The user's view of a page's text (``NEARDUP_TEXT``), in place of the analyser's.
    deny
        URLs that match any of these are not judged.
    """

    def __init__(
        self,
        analyser: Analyser,
        *,
        text_of: Callable[[Response], str] | None,
        deny: Sequence[re.Pattern[str]],
    ) -> None:
        self._analyser = analyser
        self._text_of = text_of
        self._deny = deny
        self._complained = False

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
            own = Block(self._own_text(self._text_of, response), Form.CONTENT, 0)
            content = replace(content, blocks=(own,))
        return content

    def complain(self, setting: str, response: Response, error: Exception) -> None:
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
            return self._analyser.read(_tree(response))
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            raise UnjudgedError(Reason.UNPARSABLE, detail) from error

    def _own_text(self, text_of: Callable[[Response], str], response: Response) -> str:
        try:
            text = text_of(response)
        except Exception as error:
            self.complain("NEARDUP_TEXT", response, error)
            detail = f"{type(error).__name__}: {error}"
            raise UnjudgedError(Reason.TEXT_ERROR, detail) from error
        if not isinstance(text, str):
            detail = f"the callable returned {type(text).__name__}, not str"
            raise UnjudgedError(Reason.TEXT_ERROR, detail)
        return text


def targets(response: Response) -> set[str]:
    """Return the addresses that an HTML page links to."""
    if not isinstance(response, HtmlResponse):
        return set()
    return link_targets(_tree(response), response.url)


def _tree(response: HtmlResponse) -> HtmlElement:
    """Return the parsed page.

    It is Scrapy's own tree unless libxml2 lost the content of it, or Scrapy guesses the
    encoding of the page otherwise than `scrapy_neardup.text` does for pages on disk.
    """
    if not _is_decoded_alike(response):
        return parse_html(response.body)
    root: HtmlElement = response.selector.root
    return parse_html(response.text) if lost_content(root, len(response.body)) else root


def _is_decoded_alike(response: HtmlResponse) -> bool:
    encoding, body = response.encoding, response.body
    if encoding == "utf-8" or body.isascii():
        return True
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    if declares_encoding(body, content_type):
        return True
    return codecs.lookup(guess_encoding(body)) == codecs.lookup(encoding)
