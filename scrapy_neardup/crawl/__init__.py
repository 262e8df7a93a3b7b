"""The Scrapy side: which responses are judged, and what happens after a verdict.

`scrapy_neardup.judge` does the judging. A page that can't be judged is delivered. The way of a
response::

    middlewares.py
        process_response         asks the session about pages that a callback is going to see
                                 (reading.py), and waits if the verdict depends on a page whose
                                 callback is still running (pending.py)
        process_spider_input     counts, logs, signals (reporting.py); drops
        process_spider_output    filters what the callback yields (output.py); at its end the page
                                 is confirmed; it is withdrawn if its callback failed or only asks
                                 for it again

Both middlewares of a crawler share one `session.Session`. One `pagestate.Visit` goes with the page
from its response to the end of its callback. `experiments` makes additional requests, and
withholds others; `verbs` has the commands that use Scrapy projects.
"""

from typing import Final

VERDICT_KEY: Final = "neardup"
"""Key of ``response.meta`` that holds the page's `Verdict`."""

SKIP_KEY: Final = "neardup_skip"
"""Key of ``request.meta``; True: the page isn't judged; ``"all"``: nor its descendants."""

KEEP_KEY: Final = "neardup_keep"
"""Key of ``request.meta``; True: the page is delivered even if it is a near-duplicate."""
