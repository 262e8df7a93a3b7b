"""A process that writes to a SQLite store until it is killed.

Run as a script it reads commands ``SEED DIRECTORY`` from standard input, and for each
forks a child (so that no time goes into imports), prints its process id, and when it
ended an empty line. The child makes the operations of `operations(SEED)` on
``DIRECTORY/pages.db`` and counts those that are over in ``DIRECTORY/counter``, a mapped
file that survives it.
"""

import asyncio
import mmap
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from deciders import everything
from matching_pages import own_evidence

from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.stores.sqlite import sqlitestore
from scrapy_neardup.verdict import Page

COMMIT_ROWS = 100
"""In place of the usual number, so that a kill often meets a transaction."""
PAGES = 3000
"""Page ids in use: some are always met again, changed or not."""


MATCHING = Matching(features=2, text_bits=64, named_bits=64)
"""By what `features` and `evidence` return, it decides as if there were neither."""


def features(text: int) -> tuple[int, int]:
    return text * 3 % 2**64, text * 5 % 2**64


def evidence(text: int) -> bytes:
    return own_evidence(text, MATCHING)


def operations(seed: int) -> Iterator[tuple[str, Page]]:
    rng = random.Random(seed)
    # What a page says is a matter of its id and its edition, across all seeds.
    contents = random.Random(0)
    texts = [contents.getrandbits(64) for _ in range(2 * PAGES)]
    open_pages: list[Page] = []
    while True:
        page_id = rng.randrange(PAGES)
        text = texts[page_id + PAGES * (rng.random() < 0.2)] ^ 1 << rng.randrange(64)
        if rng.random() < 0.2:
            text = texts[rng.randrange(2 * PAGES)]
        page = Page(
            id=page_id,
            fingerprint=text,
            url=f"https://a.example/{page_id}",
            features=features(text),
            evidence=evidence(text),
        )
        yield "check_and_add", page
        open_pages.append(page)
        while len(open_pages) > 16 or (open_pages and rng.random() < 0.4):
            done = open_pages.pop(rng.randrange(len(open_pages)))
            yield "forget" if rng.random() < 0.1 else "confirm", done


async def write(seed: int, directory: Path) -> None:
    with (directory / "counter").open("r+b") as file, mmap.mmap(file.fileno(), 8) as counter:
        uri = f"sqlite:{directory / 'pages.db'}"
        async with open_store(uri, expected_pages=PAGES, matching=MATCHING) as store:
            for number, (call, page) in enumerate(operations(seed)):
                counter[:] = number.to_bytes(8, "little")
                if call == "check_and_add":
                    await store.check_and_add(page, everything(page))
                elif call == "confirm":
                    await store.confirm(page.id)
                else:
                    await store.forget(page.id)


def main() -> None:
    sqlitestore.COMMIT_ROWS = COMMIT_ROWS
    for line in sys.stdin:
        seed, _, directory = line.rstrip("\n").partition(" ")
        child = os.fork()
        if not child:
            asyncio.run(write(int(seed), Path(directory)))
            os._exit(1)
        print(child, flush=True)
        os.waitpid(child, 0)
        print(flush=True)


if __name__ == "__main__":
    main()
