"""What a crawl of sites with known truth delivers, and what it loses, withholds and asks in vain.

Each kind of site is crawled with real Scrapy to the end. Counted are the contents that a crawler
meets that follows every link, those delivered and never delivered, pages dropped wrongly, contents
of which all requests were withheld, pages delivered twice, and requests: without the plugin, with
it, needless ones (that showed nothing new), withheld ones, and experiments (the stats
``neardup/experiments/*``).
The program ends with status 1 if a kind loses what it has to keep.

    python benchmarks/kinds.py --list
    python benchmarks/kinds.py --urls skip --quick
    python benchmarks/kinds.py departures rare --action drop-items --setting NEARDUP_PRESET=exact
    python benchmarks/kinds.py login --urls skip --jobdir-pauses 2
    python benchmarks/kinds.py --urls skip --crawlers 2 --store redis://localhost:6379/0
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack

from harness import Table, arguments
from kinds import KINDS
from kinds.crawls import ORDERS, Crawlers, How, redis_server
from kinds.expected import falls_short, lost
from kinds.site import KnownSite

from scrapy_neardup.settings.catalogue import ACTIONS

COLUMNS = {
    "contents": "contents", "delivered": "delivered", "never": "never", "wrong": "wrong",
    "unmade": "unmade", "twice": "twice", "recall": "recall", "without": "without",
    "requests": "requests", "needless": "needless", "saved": "saved", "skipped": "skipped",
    "experiments": "asked", "seconds": "seconds",
}  # fmt: skip


def chosen(names: list[str]) -> list[str]:
    """Return the kinds whose names begin with one of `names`; all if there are none."""
    for each in names:
        if not any(name.startswith(each) for name in KINDS):
            raise SystemExit(f"{each}: no kind has a name that begins so; --list shows them")
    return [name for name in KINDS if not names or name.startswith(tuple(names))]


def main() -> None:
    options = arguments(
        __doc__,
        "kinds",
        action=("drop", "NEARDUP_ACTION", list(ACTIONS)),
        urls=("report", "NEARDUP_URLS", ["off", "report", "skip"]),
        order=("breadth", "first", list(ORDERS)),
        setting=([""], "NAME=VALUE: any other setting"),
        seed=(0, "of the sites"),
        jobdir_pauses=(0, "of each crawl, which goes on with the same JOBDIR"),
        crawlers=(1, "that share a store and the URLs"),
        store=("", "redis://HOST...; without it crawlers that share one start a server"),
        max_requests=(0, "after which a crawl is ended (0: no bound)"),
        json=(False, "print a line of JSON for each kind"),
        list=(False, "describe the kinds and end"),
        quick={"is_quick": True},
    )  # fmt: skip
    names = chosen([str(name) for name in options.kinds])
    if options.list:
        for name in names:
            print(f"{name}: {KINDS[name].says}")
        return
    settings = tuple(tuple(each.split("=", 1)) for each in options.setting if each)
    is_quick = getattr(options, "is_quick", False)
    losses, short = [], []
    with ExitStack() as stack:
        store = ""
        if options.crawlers > 1 or options.store:
            store = stack.enter_context(redis_server(options.store))
        how = How(
            options.action, options.urls, options.order, settings, options.jobdir_pauses, store,
            options.max_requests,
        )  # fmt: skip
        crawlers = stack.enter_context(Crawlers(options.crawlers))
        table = None
        if not options.json:
            widths = {title: "9,.2f" if name in {"recall", "saved", "seconds"} else "9,d"
                      for name, title in COLUMNS.items()}  # fmt: skip
            table = Table(**{"": "<26"}, **widths, end="<9")
        for name in names:
            outcome = crawlers.crawl(KnownSite(KINDS[name], options.seed, quick=is_quick), how)
            row = outcome.row()
            if table is None:
                print(json.dumps(row), flush=True)
            else:
                end = "" if outcome.finished else "ended"
                table.row(name, *(row[column] for column in COLUMNS), end)
            losses += [f"{name}: {what}" for what in lost(outcome, how)]
            short += [f"{name}: {what}" for what in falls_short(outcome, how)]
    for title, lines in (("falls short", short), ("LOST", losses)):
        for line in lines:
            print(f"{title}: {line}", file=sys.stderr if options.json else sys.stdout)
    if not (losses or short or options.json):
        print("all kinds keep what they have to")
    raise SystemExit(bool(losses))


if __name__ == "__main__":
    main()
