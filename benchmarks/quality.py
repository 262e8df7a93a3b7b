"""How many duplicates are found, and how many unique pages are lost, on real sites.

Every page of a site goes through an `Analyser` and a memory store in judging order, as in
a crawl; a drop is right if an *earlier* page has resemblance >= .9 (word 4-shingles of the
main text), and lost content if none has .8. One line a configuration: precision, recall
and lost pages, each the mean over the hash seeds, pooled over the sites.

    python benchmarks/quality.py --truth DIR SITE_FOLDER...
    python benchmarks/quality.py --sweep --truth DIR SITE_FOLDER...
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import mean

from sites import Score, Site

from scrapy_neardup.detector import Analyser, Detector
from scrapy_neardup.parameters import PRESETS, Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Page, Verdict

DISTANCES = range(9)
SIZES = (1, 2, 3, 4)
WEIGHTS = ("set", "sqrt", "log", "tf")


def fingerprint(site: Site, parameters: Parameters) -> list[Page | Verdict]:
    """Return what the analyser makes of each page of a site."""
    analyser = Analyser(parameters)
    return [
        analyser.page(content, page_id=number, url=f"http://{site.name}.test{path}")
        for number, (path, content) in enumerate(zip(site.pages, site.contents, strict=True))
    ]


async def drops(
    pages: list[Page | Verdict], order: list[int], parameters: Parameters, k: int
) -> set[int]:
    """Return which pages a crawl that meets them in this order drops."""
    dropped = set()
    store = open_store(
        "memory:", max_distance=k, expected_pages=len(pages), matching=parameters.matching
    )
    async with store:
        detector = Detector(Analyser(parameters), store)
        for number in order:
            verdict = await detector.decide(pages[number])
            if verdict.is_duplicate:
                dropped.add(number)
            else:
                await store.confirm(verdict.page_id)
    return dropped


def orders(site: Site, shuffles: int) -> list[list[int]]:
    """Return the site's own order, or so many seeded random ones."""
    own = list(range(len(site.pages)))
    return [random.Random(seed).sample(own, len(own)) for seed in range(shuffles)] or [own]


def run(
    sites: list[Site],
    configurations: list[Parameters],
    distances: list[int],
    seeds: int,
    shuffles: int,
) -> None:
    """Print a table: a line a configuration, distance and site, and the sites pooled."""
    pages = sum(len(site.pages) for site in sites)
    order = f"{shuffles} random orders" if shuffles else "own order"
    print(f"{len(sites)} sites, {pages} pages, {seeds} hash seeds, {order}")
    print(f"{'features':24} {'k':>2} {'site':8} {'P':>6} {'R':>6} {'lost':>7} {'dropped':>9}")
    for base in configurations:
        scores: dict[tuple[int, str], list[Score]] = {}
        for seed in range(seeds):
            key = f"seed {seed}".encode() if seed else None
            parameters = replace(base, hash_key=key)
            for site in sites:
                pages = fingerprint(site, parameters)
                for k, order in product(distances, orders(site, shuffles)):
                    score = site.judge(order, asyncio.run(drops(pages, order, parameters, k)))
                    scores.setdefault((k, site.name), []).append(score)
        for k in distances:
            runs = {site.name: scores[k, site.name] for site in sites}
            pooled = [sum(one, Score()) for one in zip(*runs.values(), strict=True)]
            shown = [*runs.items(), ("POOLED", pooled)] if len(sites) > 1 else runs.items()
            for name, results in shown:
                print(f"{base.shingle_size}-shingle {base.weights!s:13} {k:2} {name:8} "
                      f"{mean(s.precision for s in results):6.3f} "
                      f"{mean(s.recall for s in results):6.3f} "
                      f"{mean(s.lost for s in results):7.1f} "
                      f"{mean(s.dropped for s in results):9.1f}", flush=True)  # fmt: skip


def toy_site(folder: Path) -> Path:
    """Write a small site with known near-duplicates, for `--quick`."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(2000)]
    root = folder / "toy"
    root.mkdir()
    for number in range(60):
        body = chance.choices(words, k=chance.randint(100, 400))
        for variant in range(1 + number % 3):
            text = " ".join([*body, "variant", str(variant)])
            (root / f"{number:03}-{variant}.html").write_text(
                f"<title>Page {number}</title><nav>{' '.join(words[:30])}</nav><p>{text}</p>"
            )
    return root


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("site", nargs="*", type=Path, help="folder of HTML pages")
    parser.add_argument("--truth", type=Path, help="folder of NAME.{pages,pairs}.tsv.gz;"
                        " without it the truth is computed")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=5, help="hash seeds (default 5)")
    parser.add_argument(
        "--orders", type=int, default=0, help="random page orders instead of the own"
    )
    parser.add_argument("--text", choices=["main", "full"], default="main")
    parser.add_argument("--preset", choices=list(PRESETS), default="paper")
    parser.add_argument("--sweep", action="store_true", help="every shingle size, weight and k")
    parser.add_argument(
        "--cache", type=Path, default=Path(".cache/quality"), help="folder for texts"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a made-up site, to see that it works"
    )
    options = parser.parse_args()
    if not options.site and not options.quick:
        parser.error("name at least one folder of pages, or --quick")
    with tempfile.TemporaryDirectory() as scratch:
        if options.quick:
            options.site, options.cache, options.seeds = (
                [toy_site(Path(scratch))],
                Path(scratch),
                2,
            )
        sites = []
        for folder in options.site:
            print(f"reading {folder.name} ...", file=sys.stderr)
            sites.append(Site.load(folder, options.truth, cache=options.cache, mode=options.text))
    configurations = [Parameters(**PRESETS[options.preset])]
    distances = [Parameters().max_distance]
    if options.sweep:
        configurations = [
            Parameters(shingle_size=n, weights=w) for n, w in product(SIZES, WEIGHTS)
        ]
        distances = list(DISTANCES)
    run(sites, configurations, distances, options.seeds, options.orders)


if __name__ == "__main__":
    main()
