"""Reads a page again and again while another thread changes the tree that the spider got of it.

``python shared_tree.py TIMES``, in a process of its own, as a wrong use of memory ends it.
"""

import sys
from threading import Event, Thread

from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from scrapy_neardup.crawl.reading import Reader
from scrapy_neardup.pipeline.analysis import Analyser
from scrapy_neardup.settings.crawling import read_settings
from scrapy_neardup.settings.parameters import Parameters

URL = "http://a.example/"
BLOCK = "<div class='nav-{0} x'>{0}:30 on {0} <b>May</b> 2024</div>"


def main(times: int) -> None:
    """Read a page as often; print how often the tree was changed meanwhile."""
    page = HtmlResponse(URL, body="".join(map(BLOCK.format, range(500))).encode())
    reader = Reader(Analyser(Parameters()), read_settings(Settings()))
    is_over = Event()
    body = page.selector.root[0]
    changes = 0

    def change() -> None:
        nonlocal changes
        while not is_over.is_set():
            body.remove(body[changes % 400])
            added = body.makeelement("div", {"class": f"ad-{changes}"})
            added.text = f"{changes}:30 on 1 May 2024"
            body.append(added)
            del added
            changes += 1

    other = Thread(target=change)
    sys.setswitchinterval(1e-5)
    other.start()
    try:
        texts = {reader.read(Request(URL), page)[0].text for _ in range(times)}
    finally:
        is_over.set()
        other.join()
    assert len(texts) == 1
    print(changes)


if __name__ == "__main__":
    main(int(sys.argv[1]))
