"""What the plugin saves, and what it loses, on real pages behind crawl traps.

Serves a folder of HTML pages on this machine with session ids, campaign parameters, sort
orders, printable versions, a calendar, soft 404s and a footer that changes on each response
(`trapsite`), and crawls it with real Scrapy (`trapcrawl`): without a filter, dropping equal
texts only, with the plugin, and with the plugin under any other settings. `traptruth` says
what is counted. A page that a filter calls a duplicate counts as dropped, also where
NEARDUP_ACTION follows its links.

    python benchmarks/traps.py --preset notes FOLDER
    python benchmarks/traps.py --preset notes --footer sentence FOLDER
    python benchmarks/traps.py FOLDER -s NEARDUP_SHINGLE_SIZE=4 \\
        --run later:NEARDUP_ACTION=deprioritize,NEARDUP_PRIORITY_ADJUST=-1000
    python benchmarks/traps.py --quick
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path

from trapcrawl import EXACT, PLUGIN, Crawl, run
from trapsite import Server, TrapSite
from trapstrengths import PRESETS, Traps
from traptruth import CLASSES, SORTED, Tally, Truth, judge

from scrapy_neardup.settings.catalogue import OPTIONS

SIMHASH = {"NEARDUP_METHOD": "simhash"} if "method" in OPTIONS else {}
RUNS = {"none": {}, "exact": EXACT, "simhash": PLUGIN | SIMHASH}
BUDGETS = (0.10, 0.25, 0.50, 0.75, 1.00)
ENOUGH = 0.99
TRAPS = ("session id", "campaign", "sort order", "printable", "soft 404", "another page")
_ASSIGNMENT = re.compile(r",(?=[A-Z][A-Z0-9_]*=)")


def crawls(site: TrapSite, runs: dict[str, dict[str, str]], most: int) -> dict[str, Crawl]:
    """Serve the site from a thread, and crawl it once for each of `runs`, one by one."""
    with Server(site) as server, tempfile.TemporaryDirectory() as folder:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            return {
                name: run(name, server.url, settings, Path(folder), most)
                for name, settings in runs.items()
            }
        finally:
            server.shutdown()


def check(crawl: Crawl, none: Crawl, tally: Tally, site: TrapSite) -> None:
    """Assert that nothing went uncounted, and that all crawls met the same site."""
    stats, records = crawl.stats, crawl.records
    assert tally.requests == stats["downloader/request_count"], crawl.name
    assert tally.requests == tally.kept + tally.dropped + tally.failed, crawl.name
    for record in records:
        showing = site.locate(record.url)
        assert record.status == (404 if showing is None else 200), record
        assert record.dropped or record.called == (showing is not None), record
    if "neardup/pages/checked" in stats:
        assert tally.dropped == stats.get("neardup/pages/duplicate", 0), crawl.name
    elif crawl is none:
        assert not tally.dropped
    else:
        assert not tally.wrong, "equal texts of which the truth knows nothing"
    if none.finished:
        assert {r.url for r in records} <= {r.url for r in none.records}, crawl.name
    if crawl.finished and crawl is none:
        assert tally.coverage[-1] == 1
    if crawl.finished and not any(r.dropped and r.called for r in records):
        assert not followed(crawl, site).intersection(tally.withheld), crawl.name


def followed(crawl: Crawl, site: TrapSite) -> set[str]:
    """Return the pages to which the spider must have followed a link.

    Printable pages are left out: they hold some of their page's links only.
    """
    showings = (site.locate(record.url) for record in crawl.records if record.called)
    whole = {s.page for s in showings if s.trap != "printable"}
    return {target for page in whole for target in site.links.get(page, ())}


def rows(tallies: dict[str, Tally], budget: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of the table: a label, and a cell for each run."""

    def row(label: str, cell: Callable[[Tally], str]) -> tuple[str, list[str]]:
        return label, [cell(tally) for tally in tallies.values()]

    def recall(name: str) -> Callable[[Tally], str]:
        def cell(tally: Tally) -> str:
            total = tally.duplicates[name]
            return f"{tally.found[name] / total:.3f} of {total:,}" if total else "-"

        return cell

    yield row("requests", lambda t: f"{t.requests:,}")
    yield row("requests saved", lambda t: f"{1 - t.requests / budget:.3f}")
    others = budget - tallies["none"].months.total()
    yield row(
        "  of others than months",
        lambda t: f"{1 - (t.requests - t.months.total()) / others:.3f}",
    )
    yield row("pages kept", lambda t: f"{t.kept:,}")
    yield row("pages dropped", lambda t: f"{t.dropped:,}")
    yield row("months of the calendar kept", lambda t: f"{t.months[False]:,}")
    yield row("months of the calendar dropped", lambda t: f"{t.months[True]:,}")
    yield row("duplicate recall", recall("all"))
    for name in (*CLASSES, SORTED):
        yield row(f"  {name}", recall(name))
    for name in TRAPS:
        yield row(f"  by {name}", recall(name))
    yield row("drop precision", lambda t: f"{t.precision:.4f}")
    yield row("wrong drops", lambda t: f"{len(t.wrong):,}")
    yield row("content covered", lambda t: f"{t.coverage[-1]:.4f}")
    yield row("  pages lost by drops", lambda t: f"{len(t.lost):,}")
    yield row("  pages withheld", lambda t: f"{len(t.withheld):,}")
    yield row("    on dropped pages", lambda t: f"{t.direct:,}")
    yield row(f"requests to {ENOUGH:.0%} of the content", lambda t: t.to_reach(ENOUGH))
    for share in BUDGETS:
        label = f"covered after {share:.0%} of {budget:,}"
        yield row(label, lambda t, share=share: f"{t.covered(share * budget):.4f}")
    least = min(tally.requests for tally in tallies.values())
    yield row(f"covered after the fewest, {least:,}", lambda t: f"{t.covered(least):.4f}")


def examples(crawl: Crawl, tally: Tally, truth: Truth, count: int) -> Iterator[str]:
    """Yield up to `count` wrong drops and kept duplicates, drawn by chance."""
    chance = random.Random(len(crawl.records))
    wrong = [(record, record.of) for record in tally.wrong]
    by_trap = Counter(
        truth.site.locate(record.url).trap or "plain" for record, _ in tally.missed
    ).most_common()
    for title, found in (("wrong drops", wrong), ("kept duplicates", tally.missed)):
        yield f"\n{crawl.name}: {len(found):,} {title}"
        if by_trap and found is tally.missed:
            yield "  " + ", ".join(f"{number:,} {trap}" for trap, number in by_trap)
        for record, of in chance.sample(found, min(count, len(found))):
            yield f"    {truth.example(record, of)}"
    for title, pages in (("lost", tally.lost), ("withheld", tally.withheld)):
        yield f"{crawl.name}: {len(pages):,} pages {title}: {', '.join(pages[:count])}"


def report(
    site: TrapSite, runs: dict[str, dict[str, str]], most: int, title: str, shown: int
) -> None:
    """Crawl, check, and print a column for each run."""
    done = crawls(site, runs, most)
    truth = Truth(site, done.values())
    tallies = {name: judge(crawl, truth) for name, crawl in done.items()}
    for name, crawl in done.items():
        check(crawl, done["none"], tallies[name], site)
    print(title)
    print(f"{len(site.contents):,} pages, {len(truth.pages):,} of them met")
    widths = [max(len(name), 15) for name in runs]
    for label, cells in [("", list(runs)), *rows(tallies, tallies["none"].requests)]:
        print(f"{label:32}", *(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)))
    print(f"{'seconds':32}", *(
        f"{float(crawl.stats['elapsed_time_seconds']):{width}.0f}"
        for crawl, width in zip(done.values(), widths, strict=True)
    ))  # fmt: skip
    for name, crawl in done.items():
        if not crawl.finished:
            print(f"{crawl.name} ended early: {crawl.stats['finish_reason']}")
        if shown and name != "none":
            print(*examples(crawl, tallies[name], truth, shown), sep="\n")


def made_up(folder: Path) -> Path:
    """Write a small site for `--quick`: two editions, each a tree of pages.

    Of a page's two editions a quarter is the same, a quarter differs by one word, a quarter
    by five, and a quarter is another text altogether, which only its own edition links to.
    """
    chance = random.Random(7)
    words = [f"word{number}" for number in range(2000)]
    root = folder / "editions"
    for number in range(60):
        body = chance.choices(words, k=chance.randint(150, 300))
        for edition in ("a", "b"):
            (root / edition).mkdir(parents=True, exist_ok=True)
            changes = (0, 1, 5, len(body))[number % 4] if edition == "b" else 0
            for place in chance.sample(range(len(body)), changes):
                body[place] = chance.choice(words)
            below = (n for n in (2 * number + 1, 2 * number + 2) if n < 60)
            items = "".join(f'<li><a href="{n}.html">{words[n]}</a></li>' for n in below)
            name = "index" if number == 0 else number
            (root / edition / f"{name}.html").write_text(
                f'<title>Page {number}</title><nav><a href="index.html">Top</a></nav>'
                f"<p>{' '.join(body)}</p><ul>{items}</ul>"
            )
    return root


def assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name, value


def named_run(text: str) -> tuple[str, dict[str, str]]:
    name, colon, rest = text.partition(":")
    if not (name and colon) or name in RUNS:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME:KEY=VALUE,…, of a new NAME")
    return name, dict(map(assignment, _ASSIGNMENT.split(rest) if rest else ()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="of HTML pages")
    parser.add_argument(
        "--runs", default=",".join(RUNS), help="which of the runs of old (default %(default)s)"
    )
    parser.add_argument(
        "--run", action="append", type=named_run, default=[], metavar="NAME:KEY=VALUE,…",
        help="one more, of the plugin under these settings; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "-s", dest="settings", action="append", type=assignment, default=[], metavar="KEY=VALUE",
        help="a setting of all runs, or one of the plugin; may be repeated",
    )  # fmt: skip
    parser.add_argument("--max-requests", type=int, default=0, help="of a run (0: no bound)")
    parser.add_argument("--examples", type=int, default=0, help="wrong verdicts to show, a run")
    parser.add_argument("--quick", action="store_true", help="a made-up site")
    parser.add_argument("--preset", choices=PRESETS, help="strengths that have a name")
    strengths = parser.add_argument_group("traps (defaults in brackets)")
    for trap in fields(Traps):
        strengths.add_argument(
            f"--{trap.name.replace('_', '-')}",
            type=type(trap.default),
            help=f"{trap.metadata['help']} ({trap.default})",
        )
    options = parser.parse_args()
    if options.quick == bool(options.folder):
        parser.error("name a folder of pages, or --quick")
    if options.folder and not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    return options


def main() -> None:
    options = arguments()
    traps = PRESETS.get(options.preset, Traps())
    own = {name: value for name in asdict(traps) if (value := getattr(options, name)) is not None}
    chosen = ["none", *options.runs.split(",")]
    if unknown := set(chosen) - set(RUNS):
        raise SystemExit(f"--runs: {unknown.pop()!r} is not one of {', '.join(RUNS)}")
    runs = {name: RUNS[name] for name in chosen}
    common = dict(options.settings)
    runs |= {name: PLUGIN | settings for name, settings in options.run}
    for name, settings in runs.items():
        plugin = "ADDONS" in settings
        applies = {k: v for k, v in common.items() if plugin or not k.startswith("NEARDUP_")}
        runs[name] = applies | settings
    with tempfile.TemporaryDirectory() as scratch:
        if options.quick:
            options.folder = made_up(Path(scratch))
            traps = replace(traps, years=5)
        traps = replace(traps, **own)
        print(f"reading {options.folder} ...", file=sys.stderr)
        site = TrapSite(options.folder, traps)
        if not site.contents:
            raise SystemExit(f"{options.folder} holds no HTML pages")
        changed = ", ".join(f"{name} {value}" for name, value in own.items())
        title = f"{options.folder.name}, preset {options.preset or '(none)'}"
        report(
            site, runs, options.max_requests, f"{title}, {changed}" if changed else title,
            options.examples,
        )  # fmt: skip


if __name__ == "__main__":
    main()
