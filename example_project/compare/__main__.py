"""Crawl the site without and with scrapy-neardup, and print what each has found.

``make example`` runs this. Both crawls are ordinary ones (``scrapy crawl docs``), with the
same settings but for NEARDUP_ENABLED, and end at the same number of pages.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from docsite.library import CACHE, load
from docsite.lookalikes import lookalikes
from docsite.site import Site
from example.settings import CLOSESPIDER_PAGECOUNT

from compare.crawls import Progress, crawl, served
from compare.report import report
from compare.tally import tally


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="compare", description="Crawl the site without and with the plugin, and compare."
    )
    parser.add_argument(
        "--pages", type=int, default=CLOSESPIDER_PAGECOUNT, help="budget of each crawl"
    )
    parser.add_argument("--folder", type=Path, default=CACHE, help="for journals and logs")
    parser.add_argument("modules", nargs="*", help="let the site consist of these only")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends too

    progress = Progress("The site: this Python's documentation")
    library = load(options.modules, progress=lambda count, name: progress.tell(f"{count} {name}"))
    progress.done(f"{len(library)} modules")
    with served(options.modules) as url:
        runs = [
            crawl(what, url, plugin=plugin, pages=options.pages, folder=folder)
            for what, plugin in (("Crawl without the plugin", False), ("Crawl with it", True))
        ]
    site, alike = Site(library), lookalikes(library)
    without, plugin = (tally(run, site, alike, options.pages) for run in runs)
    print("", *report(without, plugin, library), "", sep="\n")
    print(f"Journals and logs: {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted")
