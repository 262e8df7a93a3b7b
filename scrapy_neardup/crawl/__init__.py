"""Everything that knows Scrapy.

Rule of this room: thin. It decides which responses are judged and acts on verdicts;
`scrapy_neardup.detector` does the judging. A page that can't be judged is delivered.

The way of a response::

    downloader.py  process_response          which responses (eligibility.py); asks the
                                             session; remembers a `Judged` for the request;
                                             waits where the verdict depends on a page whose
                                             callback is still running (ledger.py, waiting.py)
    spider.py      process_spider_input      counts, logs, signals (journal.py); drops
                   process_spider_output     filters what the callback yields; at its end
                                             the page is confirmed; it is withdrawn on failure
                                             and if it is only asked for again (asking.py)

Both middlewares of a crawler share one `session.Session`.
"""
