"""Tallies side by side, as lines of text.

It is pure, and every number comes out of a `Tally`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from docsite.library import Library
from docsite.lookalikes import ALIKE, resemblance
from docsite.site import SHARES

from compare.tally import ENOUGH, Drop, Tally

COLUMNS = ("without", "with", "skip")
"""Names of the crawls: without the plugin, with it, and with `NEARDUP_URLS = "skip"`."""


def report(runs: Sequence[Tally], library: Library) -> Iterator[str]:
    """Yield the lines of the whole report on two or three crawls of a site."""
    plugin = runs[1]
    shares = ", ".join(f"{variant} {share:.0%}" for variant, share in SHARES.items())
    yield f"The site: {len(library):,} modules, the index, 'not found'. It makes duplicates by"
    yield f"  links to variants of a page ({shares}),"
    yield "  soft 404s with a growing path, a calendar without end, a footer that always changes."
    yield ""
    yield from _table(runs)
    if plugin.lookalikes_dropped:
        yield ""
        yield from _lookalikes(plugin.lookalikes_dropped, library)
    yield ""
    yield "Some drops, of each kind one at the greatest distance:"
    yield from _explanations(plugin)
    if plugin.duplicates_kept:
        kinds = (f"{count:,} {kind}" for kind, count in plugin.duplicates_kept.most_common())
        yield ""
        yield f"Duplicates kept: {', '.join(kinds)}."
    if lost := [drop for run in runs[1:] for drop in run.lost]:
        yield ""
        yield "Unique pages lost, with their true resemblance J to the page that they matched:"
        for drop in lost:
            yield from _explanation(_resemblance(drop, library), drop)


def report_shares(crawls: list[list[dict[str, Any]]]) -> Iterator[str]:
    """Yield who did what of a crawl by several crawlers: the lines of their table."""
    kept = [{record["kept"] for record in crawl if "kept" in record} for crawl in crawls]
    names = (f"crawler {number + 1}" for number in range(len(crawls)))
    yield f"{'Shares of the crawlers, by hash of the URL':42}" + "".join(f"{n:>11}" for n in names)
    drops = [[record["of"] for record in crawl if "dropped" in record] for crawl in crawls]
    foreign = [
        sum(of not in own for of in matched) for matched, own in zip(drops, kept, strict=True)
    ]
    for label, numbers in (
        ("requests", [len(crawl) - 1 for crawl in crawls]),
        ("pages that reached the spider", list(map(len, kept))),
        ("pages dropped", list(map(len, drops))),
        ("  for a page that the other one kept", foreign),
    ):
        yield f"{label:42}" + "".join(f"{number:>11,}" for number in numbers)


def _table(runs: Sequence[Tally]) -> Iterator[str]:
    def row(label: str, value: Callable[[Tally], object], of: Sequence[Tally] = runs) -> str:
        cells = [""] * (len(runs) - len(of)) + [value(run) for run in of]
        shown = (f"{cell:,}" if isinstance(cell, int) else str(cell or "") for cell in cells)
        return f"{label:42}" + "".join(f"{cell:>11}" for cell in shown)

    with_plugin = runs[1:]
    names = dict(zip(map(id, runs), COLUMNS, strict=False))
    yield row("", lambda run: names[id(run)])
    yield row("requests", lambda run: run.requests)
    yield row("content covered", lambda run: f"{run.covered:.1%}")
    yield row(
        f"requests to {ENOUGH:.0%} of the content",
        lambda run: run.requests_to_enough or f"> {run.requests:,}",
    )
    yield row("pages that reached the spider", lambda run: run.kept)
    yield row("  pages of the site, each once", lambda run: run.unique)
    yield row("  their duplicates", lambda run: run.kept_again)
    yield row("  empty months of the calendar", lambda run: run.months_kept)
    yield row("pages dropped", lambda run: len(run.drops), with_plugin)
    yield row("  duplicates", lambda run: run.duplicates_dropped, with_plugin)
    yield row(
        f"  of modules alike (J >= {ALIKE:.1f})",
        lambda run: len(run.lookalikes_dropped),
        with_plugin,
    )
    yield row("  empty months of the calendar", lambda run: run.months_dropped, with_plugin)
    yield row("  unique pages lost", lambda run: len(run.lost), with_plugin)
    if len(runs) == len(COLUMNS):
        skipped = "neardup/urls/skipped"
        yield row("requests that were skipped", lambda run: run.stats.get(skipped, 0), runs[2:])
    yield row("requests waiting at the end", lambda run: run.waiting)
    yield row(
        "links withheld", lambda run: run.stats.get("neardup/links/withheld", 0), with_plugin
    )
    yield row("megabytes downloaded", lambda run: run.stats["downloader/response_bytes"] // 10**6)
    yield row("seconds", lambda run: round(run.stats["elapsed_time_seconds"]))


def _lookalikes(drops: list[Drop], library: Library) -> Iterator[str]:
    """Yield in words which pages of the site are missing, and where their content is."""
    yield f"Pages of the site that didn't reach the spider: {len(drops)}. Each has nine tenths"
    yield "of its text in common with the page of another module, which did:"
    for drop in drops:
        yield f"  {_shown(drop.url)} repeats {_shown(drop.of)}, {_resemblance(drop, library)}"
    yield "'Unique pages lost' counts pages for which there is no such page."


def _explanations(run: Tally) -> Iterator[str]:
    furthest: dict[str, Drop] = {}
    for drop in run.drops:
        if drop.showing.page == drop.of_showing.page:
            kind = drop.showing.variant or "plain"
        elif drop in run.lookalikes_dropped:
            kind = "alike"
        else:
            continue
        if kind not in furthest or drop.distance > furthest[kind].distance:
            furthest[kind] = drop
    for kind, drop in sorted(furthest.items()):
        yield from _explanation(kind, drop)


def _explanation(title: str, drop: Drop) -> Iterator[str]:
    yield f"  {title:12} {_shown(drop.url)}"
    yield f"  {'':12} repeats {_shown(drop.of)} at distance {drop.distance}"


def _resemblance(drop: Drop, library: Library) -> str:
    one, two = (library.get(showing.name) for showing in (drop.showing, drop.of_showing))
    return f"J = {resemblance(one, two):.2f}" if one and two else "no module"


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")
