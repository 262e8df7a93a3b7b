"""Everything that knows Scrapy.

Rule of this room: thin. It decides which responses are judged and acts on verdicts;
`scrapy_neardup.detector` does the judging. A page that can't be judged is delivered.

The way of a response::

    downloader.py  process_response          which responses (eligibility.py); asks the
                                             session; remembers a `Judged` for the request
    spider.py      process_spider_input      counts, logs, signals (report.py); drops
                   process_spider_output     filters what the callback yields; at its end
                                             the page is confirmed, on failure forgotten

Both middlewares of a crawler share one `session.Session`.
"""
