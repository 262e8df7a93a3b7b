"""What the plugin saves, and what it loses, on real pages behind crawl traps.

Serves a folder of HTML pages on this machine with session ids, campaign parameters, sort
orders, printable versions, a calendar, soft 404s and a footer that changes on each response
(`trapsite`), and crawls it with real Scrapy: without a filter, dropping equal
texts only, with the plugin, and with the plugin under any other settings. `traptruth` says
what is counted. A page that a filter calls a duplicate counts as dropped, also where
NEARDUP_ACTION follows its links.

    python benchmarks/traps.py --preset notes FOLDER
    python benchmarks/traps.py --preset notes --footer sentence FOLDER
    python benchmarks/traps.py FOLDER -s NEARDUP_SHINGLE_SIZE=4 \\
        --run later:NEARDUP_ACTION=deprioritize,NEARDUP_PRIORITY_ADJUST=-1000
    python benchmarks/traps.py FOLDER --years 3 --runs drop,rules,maybedont,discarder
    python benchmarks/traps.py --quick
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import crawling
from crawling import BREADTH_FIRST, PLUGIN, Crawl, Dropping, Job, served
from harness import arguments, in_own_process
from trapsite import PRESETS, Traps, TrapSite
from traptruth import CLASSES, FIRST, SORTED, Tally, Truth, judge

from scrapy_neardup.text import Extractor

_MIN_WORDS = 5
"""Pages with fewer aren't judged, as by the plugin."""


class ExactText(Dropping):
    """Drops a page whose visible text equals that of an earlier one."""

    def known(self, response: object) -> object:
        words = tuple(Extractor().extract(response.selector.root).text.split())
        return words if len(words) >= _MIN_WORDS else None


class MaybeDont:
    """The middleware of MaybeDont (PyPI), at its defaults, for every request."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> Any:
        from maybedont.scrapy_middleware import AvoidDupContentMiddleware

        middleware = AvoidDupContentMiddleware.from_crawler(crawler)
        middleware.skip = lambda _: False
        return middleware


def discarded(host: str) -> str:
    """Return rules for duplicate-url-discarder (PyPI), written by hand for these traps."""
    return json.dumps([
        {"order": 1, "urlPattern": {"include": [host]}, "processor": "queryRemoval",
         "args": ["sid", "utm_source", "utm_campaign", "sort"]},
        {"order": 2, "urlPattern": {"include": [f"{host}/print/"]}, "processor": "subpathRemoval",
         "args": [0]},
    ])  # fmt: skip


RUNS = {
    "none": {},
    "exact": {"SPIDER_MIDDLEWARES": {ExactText: 60}},
    "simhash": PLUGIN | {"NEARDUP_METHOD": "simhash"},
    "drop": PLUGIN,
    "rules": PLUGIN | {"NEARDUP_URLS": "skip"},
    "maybedont": PLUGIN
    | {"DOWNLOADER_MIDDLEWARES": {MaybeDont: 80}, "AVOID_DUP_CONTENT_ENABLED": True},
    "discarder": PLUGIN | {"REQUEST_FINGERPRINTER_CLASS": "duplicate_url_discarder.Fingerprinter"},
}
USUAL = "exact,simhash"

BUDGETS = (0.10, 0.25, 0.50, 0.75, 1.00)
ENOUGH = 0.99
TRAPS = ("session id", "campaign", "sort order", "printable", "soft 404", "another page")
_ASSIGNMENT = re.compile(r",(?=[A-Z][A-Z0-9_]*=)")


def crawls(site: TrapSite, runs: dict[str, dict[str, object]], most: int) -> dict[str, Crawl]:
    """Serve the site from a thread, and crawl it once for each of `runs`, one by one.

    Breadth first and one request at a time: the order that serves a crawl without a filter best,
    and the same crawl whenever it is run.
    """
    fixed = BREADTH_FIRST | {"CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": most}
    with served(site.answer) as server, tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules.json")
        rules.write_text(discarded(urlsplit(server.url).netloc))
        fixed |= {"DUD_LOAD_RULE_PATHS": [str(rules)]}
        jobs = [Job(name, f"{server.url}/", fixed | settings) for name, settings in runs.items()]
        done = {}
        for job in jobs:
            site.visits.clear()
            done[job.name] = in_own_process(crawling.crawl, [job])[0]
        return done


def check(crawl: Crawl, none: Crawl, tally: Tally, site: TrapSite) -> None:
    """Assert that nothing went uncounted, and that all crawls met the same site."""
    stats, records = crawl.stats, crawl.records
    assert tally.requests + crawl.refetched == stats["downloader/request_count"], crawl.name
    assert tally.requests == tally.kept + tally.dropped + tally.failed, crawl.name
    for record in records:
        showing = site.locate(record.url)
        assert record.status == (404 if showing is None else 200), record
        assert record.dropped or record.called == (showing is not None), record
    if "neardup/pages/checked" in stats:
        twice = stats.get("neardup/pages/duplicate", 0) - tally.dropped
        again = [stats.get(f"neardup/{what}/requested-again", 0) for what in ("links", "records")]
        assert 0 <= twice <= sum(again), crawl.name
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

    def recall(tally: Tally, name: str) -> str:
        total = tally.duplicates[name]
        return f"{tally.found[name] / total:.3f} of {total:,}" if total else "-"

    others = budget - tallies["none"].months.total()
    least = min(tally.requests for tally in tallies.values())
    names = {"duplicate recall": "all"} | {f"  {name}": name for name in (*CLASSES, SORTED)}
    names |= {f"  by {name}": name for name in TRAPS}
    cells: dict[str, Callable[[Tally], str]] = {
        "requests": lambda t: f"{t.requests:,}",
        "requests saved": lambda t: f"{1 - t.requests / budget:.3f}",
        "  of others than months": lambda t: f"{1 - (t.requests - t.months.total()) / others:.3f}",
        f"needless after the first {FIRST}": lambda t: f"{t.needless:,}",
        "pages kept": lambda t: f"{t.kept:,}",
        "pages dropped": lambda t: f"{t.dropped:,}",
        "months of the calendar kept": lambda t: f"{t.months[False]:,}",
        "months of the calendar dropped": lambda t: f"{t.months[True]:,}",
        **{label: partial(recall, name=name) for label, name in names.items()},
        "drop precision": lambda t: f"{t.precision:.4f}",
        "wrong drops": lambda t: f"{len(t.wrong):,}",
        "content covered": lambda t: f"{t.coverage[-1]:.4f}",
        "  pages lost by drops": lambda t: f"{len(t.lost):,}",
        "  pages withheld": lambda t: f"{len(t.withheld):,}",
        "    on dropped pages": lambda t: f"{t.direct:,}",
        f"requests to {ENOUGH:.0%} of the content": lambda t: t.to_reach(ENOUGH),
    }
    for share in BUDGETS:
        label = f"covered after {share:.0%} of {budget:,}"
        cells[label] = lambda t, share=share: f"{t.covered(share * budget):.4f}"
    cells[f"covered after the fewest, {least:,}"] = lambda t: f"{t.covered(least):.4f}"
    for label, cell in cells.items():
        yield label, [cell(tally) for tally in tallies.values()]


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


def assigned(text: str) -> dict[str, str]:
    """Return the settings of ``KEY=VALUE,KEY=VALUE``."""
    return dict(part.split("=", 1) for part in _ASSIGNMENT.split(text) if part)


def wrong(options: Namespace) -> str | None:
    """Return what is wrong with a command line."""
    if options.quick == bool(options.folder):
        return "name a folder of pages, or --quick"
    if options.folder and not options.folder[0].is_dir():
        return f"{options.folder[0]} is no folder"
    texts = [text.partition(":")[2] for text in options.run if text] + list(
        filter(None, options.s)
    )
    if any("=" not in part for text in texts for part in _ASSIGNMENT.split(text) if part):
        return "settings are KEY=VALUE, and a run is NAME:KEY=VALUE,..."
    unknown = set(options.runs.split(",")) - set(RUNS)
    return f"--runs: {unknown.pop()!r} is not one of {', '.join(RUNS)}" if unknown else None


def main() -> None:
    strengths = {trap.name: (type(trap.default), f"{trap.metadata['help']} ({trap.default})")
                 for trap in fields(Traps)}  # fmt: skip
    options = arguments(
        __doc__,
        "folder",
        check=wrong,
        runs=(USUAL, f"which of {', '.join(list(RUNS)[1:])}"),
        run=([""], "NAME:KEY=VALUE,...: one more, of the plugin under these settings"),
        s=([""], "KEY=VALUE: a setting of all runs, or one of the plugin"),
        max_requests=(0, "of a run (0: no bound)"),
        examples=(0, "wrong verdicts to show, a run"),
        preset=(str, "strengths that have a name", PRESETS),
        **strengths,
        quick={},
    )
    own = {name: value for name in strengths if (value := getattr(options, name)) is not None}
    runs = {name: RUNS[name] for name in ("none", *options.runs.split(","))}
    for text in filter(None, options.run):
        name, _, rest = text.partition(":")
        runs[name] = PLUGIN | assigned(rest)
    common = {key: value for text in options.s for key, value in assigned(text).items()}
    for name, settings in runs.items():
        applies = {k: v for k, v in common.items()
                   if "ADDONS" in settings or not k.startswith("NEARDUP_")}  # fmt: skip
        runs[name] = applies | settings
    with tempfile.TemporaryDirectory() as scratch:
        traps = PRESETS.get(options.preset, Traps())
        folder = made_up(Path(scratch)) if options.quick else options.folder[0]
        traps = replace(replace(traps, years=5) if options.quick else traps, **own)
        print(f"reading {folder} ...", file=sys.stderr)
        site = TrapSite(folder, traps)
        if not site.contents:
            raise SystemExit(f"{folder} holds no HTML pages")
        changed = [f"{name} {value}" for name, value in own.items()]
        title = ", ".join([f"{folder.name}, preset {options.preset or '(none)'}", *changed])
        report(site, runs, options.max_requests, title, options.examples)


if __name__ == "__main__":
    main()
