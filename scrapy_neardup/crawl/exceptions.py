"""What an errback gets to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict


class NearDuplicatePage(IgnoreRequest):
    """A page was dropped because it repeats one that was kept.

    Like Scrapy's ``HttpError`` it reaches the request's errback, if there is one, and
    is otherwise ignored without an entry in ``spider_exceptions``.

    Parameters
    ----------
    response
        The page that was dropped.
    verdict
        Which page it repeats, and how closely.
    """

    def __init__(self, response: Response, verdict: Verdict) -> None:
        super().__init__(verdict.explain())
        self.response = response
        self.verdict = verdict
