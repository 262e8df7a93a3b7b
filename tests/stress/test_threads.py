"""A callback in another thread changes the tree of a response that is judged once more.

``python test_threads.py TIMES`` reads it, in a process of its own: a wrong use of memory ends it.
"""

import subprocess
import sys
from threading import Event, Thread

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.reading import Reader
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters

READ = 2_000
URL = "http://a.example/"
BLOCK = "<div class='nav-{0} x'>{0}:30 on {0} <b>May</b> 2024</div>"


def read_while_it_changes(times: int) -> None:
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


@pytest.mark.stress
@pytest.mark.timeout(3_600)
def test_a_tree_that_changes_while_it_is_read(tried):
    command = [sys.executable, __file__, str(READ)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert int(done.stdout) > READ
    tried("pages read while another thread changes their tree", READ)


if __name__ == "__main__":
    read_while_it_changes(int(sys.argv[1]))
