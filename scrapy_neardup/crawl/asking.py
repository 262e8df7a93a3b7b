"""Pages whose callback only asks for them again: 'we are busy', a captcha with status 200.

Rule of this module: such a page says nothing. It is withdrawn, so that other pages that
say the same reach their callbacks too, which ask again in their turn.

A callback *only asks for its page again* if it yields requests and nothing else, each of
them a GET request with `dont_filter` (others Scrapy wouldn't send twice) for the page
itself: with the fingerprint of the response's request, or of a URL that redirected to it.
``get_retry_request(response.request, ...)`` and
``response.request.replace(dont_filter=True)`` make such requests. A callback that yields
an item or another request as well has read the page, and so has one that yields nothing;
unless it has asked for the same page before, and now gives up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_neardup.bounded import BoundedDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

REMEMBERED = 65_536
"""Maximum number of pages that are remembered as asked for again."""


class Output:
    """What the callback of one page yields.

    Parameters
    ----------
    request
        The page's own.
    fingerprint
        Returns the fingerprint of a request.
    """

    def __init__(self, request: Request, fingerprint: Callable[[Request], bytes]) -> None:
        self._request = request
        self._fingerprint = fingerprint
        self._own: set[bytes] = set()
        self.requests_itself = False
        """Whether there is a request for the page itself."""
        self.holds_more = False
        """Whether there is anything else."""

    def add(self, entry: Any) -> None:
        """Note what the callback yielded. O(1) for all but requests for the page itself."""
        if entry is None or self.holds_more:
            return
        if self._is_own(entry):
            self.requests_itself = True
        else:
            self.holds_more = True

    def _is_own(self, entry: Any) -> bool:
        if not isinstance(entry, Request) or not entry.dont_filter or entry.method != "GET":
            return False
        if not self._own:
            redirected = self._request.meta.get("redirect_urls", ())
            requests = (self._request, *(self._request.replace(url=url) for url in redirected))
            self._own = set(map(self._fingerprint, requests))
        return self._fingerprint(entry) in self._own


class AskedAgain:
    """Knows which pages of a crawl were only asked for again."""

    def __init__(self, fingerprint: Callable[[Request], bytes]) -> None:
        self._fingerprint = fingerprint
        self._pages: BoundedDict[int, None] = BoundedDict(REMEMBERED)

    def output(self, response: Response) -> Output:
        """Return what collects all that the callback of this page yields."""
        assert response.request is not None  # noqa: S101  (for the type checker)
        return Output(response.request, self._fingerprint)

    def says_nothing(self, page_id: int, output: Output) -> bool:
        """Return whether the callback, whose output is complete, only asks for its page again."""
        if output.holds_more:
            self._pages.pop(page_id, None)
            return False
        if output.requests_itself:
            self._pages[page_id] = None
        return page_id in self._pages
