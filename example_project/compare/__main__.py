"""Crawl the site without and with scrapy-neardup, and with its URL rules, and compare.

``make example`` runs this. The crawls are ordinary ones (``scrapy crawl docs``), with the same
settings but for NEARDUP_ENABLED and, in the third, NEARDUP_URLS = "skip"; they end at the same
number of pages, or before if nothing is left to crawl. With ``--store redis`` (``make example
STORE=redis``) two processes make the second crawl together, and there is no third.
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

from compare.crawls import Progress, crawl, crawl_together, redis, served
from compare.report import report, report_shares
from compare.tally import merged, tally

CRAWLERS = 2


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="compare", description="Crawl the site without and with the plugin, and compare."
    )
    parser.add_argument(
        "--pages", type=int, default=CLOSESPIDER_PAGECOUNT, help="budget of each crawl"
    )
    parser.add_argument("--folder", type=Path, default=CACHE, help="for journals and logs")
    parser.add_argument(
        "--store",
        choices=["redis"],
        help="let two crawlers share a frontier and a memory on a Redis server, started here",
    )
    parser.add_argument("modules", nargs="*", help="let the site consist of these only")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends too

    progress = Progress("The site: this Python's documentation")
    library = load(options.modules, progress=lambda count, name: progress.tell(f"{count} {name}"))
    progress.done(f"{len(library)} modules")
    same = {"pages": options.pages, "folder": folder}
    with served(options.modules) as url:
        without = crawl("Crawl without the plugin", url, name="without", **same)
        runs = [without]
        if options.store:
            what = f"Crawl with it, {CRAWLERS} crawlers on one Redis server"
            with redis() as server:
                crawls = crawl_together(what, url, server=server, crawlers=CRAWLERS, **same)
            runs.append(merged(crawls))
        else:
            runs.append(crawl("Crawl with it", url, name="with", **same))
            runs.append(crawl("Crawl with its URL rules", url, name="skip", **same))
    site, alike = Site(library), lookalikes(library)
    tallies = [tally(run, site, alike, options.pages) for run in runs]
    print("", *report(tallies, library), sep="\n")
    if options.store:
        print("", *report_shares(crawls), sep="\n")
    print(f"\nJournals and logs: {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted")
