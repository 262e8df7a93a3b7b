"""Two tallies side by side, as lines of text.

Rule of this file: pure, and every number comes out of a `Tally`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from docsite.library import Library
from docsite.lookalikes import ALIKE, resemblance
from docsite.site import SHARES

from compare.tally import ENOUGH, Drop, Tally


def report(without: Tally, plugin: Tally, library: Library) -> Iterator[str]:
    """Yield the lines of the whole report on two crawls of a site."""
    shares = ", ".join(f"{variant} {share:.0%}" for variant, share in SHARES.items())
    yield f"The site: {len(library):,} modules, the index, 'not found'. It makes duplicates by"
    yield f"  links to variants of a page ({shares}),"
    yield "  soft 404s with a growing path, a calendar without end, a footer that always changes."
    yield ""
    yield from _table(without, plugin)
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
    if plugin.lost:
        yield ""
        yield "Unique pages lost, with their true resemblance J to the page that they matched:"
        for drop in plugin.lost:
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


def _table(without: Tally, plugin: Tally) -> Iterator[str]:
    def row(label: str, left: str | int | None, right: str | int | None) -> str:
        cells = (f"{cell:,}" if isinstance(cell, int) else cell or "" for cell in (left, right))
        return f"{label:42}" + "".join(f"{cell:>11}" for cell in cells)

    def both(label: str, attribute: str) -> str:
        return row(label, getattr(without, attribute), getattr(plugin, attribute))

    yield row("", "without", "with")
    yield both("requests", "requests")
    yield row("content covered", f"{without.covered:.1%}", f"{plugin.covered:.1%}")
    enough = (run.requests_to_enough or f"> {run.requests:,}" for run in (without, plugin))
    yield row(f"requests to {ENOUGH:.0%} of the content", *enough)
    yield both("pages that reached the spider", "kept")
    yield both("  pages of the site, each once", "unique")
    yield both("  their duplicates", "kept_again")
    yield both("  empty months of the calendar", "months_kept")
    yield row("pages dropped", None, len(plugin.drops))
    yield row("  duplicates", None, plugin.duplicates_dropped)
    yield row(f"  of modules alike (J >= {ALIKE:.1f})", None, len(plugin.lookalikes_dropped))
    yield row("  empty months of the calendar", None, plugin.months_dropped)
    yield row("  unique pages lost", None, len(plugin.lost))
    yield both("requests waiting at the end", "waiting")
    yield row("links withheld", None, plugin.stats.get("neardup/links/withheld"))
    sizes = (run.stats["downloader/response_bytes"] // 10**6 for run in (without, plugin))
    yield row("megabytes downloaded", *sizes)
    yield row("seconds", *(round(run.stats["elapsed_time_seconds"]) for run in (without, plugin)))


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
