"""Browser pages that a download handler leaves open for the callback.

A dropped page reaches no callback that would close it, and once
``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT`` pages are open the handler sends no further request.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0
"""Maximum seconds that closing a browser page may take."""


async def close_browser_page(request: Request, key: str) -> None:
    """Close the browser page that ``request.meta[key]`` holds.

    The closed page stays in the request's meta: an errback may close it once more, and a request
    that is sent again gets a new page.
    """
    if (page := request.meta[key]) is None:
        return
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await page.close()
    except Exception as error:  # noqa: BLE001  (a browser that has crashed, a handler's bug)
        logger.warning(
            "The browser page of %s, which is dropped, can't be closed: %r", request, error
        )
