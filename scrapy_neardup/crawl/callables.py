"""The user's callables: ``NEARDUP_TEXT``, ``NEARDUP_SCOPE``, ``NEARDUP_WEIGHTS``.

A page for which one fails is delivered unjudged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_neardup.errors import UnjudgedError
from scrapy_neardup.text import Block, Blocks, Form
from scrapy_neardup.verdict import Reason

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_neardup.judge.parameters import Parameters
    from scrapy_neardup.text import Content

logger = logging.getLogger(__name__)


class Callables:
    """The callables of a crawl; a failing one is reported."""

    def __init__(self, parameters: Parameters) -> None:
        self._text, self._scope = parameters.text, parameters.scope
        self._complained = False

    def with_text(self, content: Content, response: Response) -> Content:
        """Return a page's content with the text of a callable; for errors see `scope`."""
        if not callable(self._text):
            return content
        own = Block(self._asked("NEARDUP_TEXT", self._text, response), Form.CONTENT, 0)
        return replace(content, blocks=Blocks.of([own]))

    def scope(self, response: Response) -> str | None:
        """Return a page's scope; None without a callable; `UnjudgedError` if it fails."""
        if not callable(self._scope):
            return None
        return self._asked("NEARDUP_SCOPE", self._scope, response)

    def complain(self, setting: str, response: Response, error: Exception) -> None:
        """Log, once in a crawl and with the traceback, that a callable failed."""
        if not self._complained:
            logger.error(
                "The %s callable failed for %s; such pages are delivered unjudged",
                setting,
                response,
                exc_info=error,
            )
        self._complained = True

    def _asked(self, setting: str, ask: Callable[[Response], str], response: Response) -> str:
        try:
            if not isinstance(answer := ask(response), str):
                raise TypeError(f"it returned {type(answer).__name__}, not str")  # noqa: TRY301
        except Exception as error:
            self.complain(setting, response, error)
            detail = f"{type(error).__name__}: {error}"
            raise UnjudgedError(Reason.TEXT_ERROR, detail) from error
        return answer
