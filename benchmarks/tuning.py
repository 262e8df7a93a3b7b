"""How near the estimates of `tune` come to the truth about real sites, and how long they take.

Each site is measured as the command does it, with a sample of its pages. The truth is that of all
pairs of its pages, as `quality.py` reads it, for the drops of the defaults.

    python benchmarks/tuning.py --truth DIR SITE...
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from harness import arguments
from sites import Site, Source, listed, load, toy_site

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.offline.evaluation.readpages import read_pages
from scrapy_neardup.offline.evaluation.tuning import Measured, measure
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.settings.parameters import Parameters

TARGETS = "Targets: estimates within .02 of the truth, with a sample of 2,000 pages, in 120 s."


def known(folder: Path, truth: Path | None) -> Site:
    if truth is None:
        return load(Source(folder, None, folder.parent / "cache"))
    pages, alike = listed(folder.name, truth)
    return Site(folder.name, pages, [], alike)


def estimate(folder: Path, site: Site, sample: int) -> Measured:
    measured = measure(read_pages(Corpus([str(folder)]), Analyser(Parameters())), sample)
    names = [str(Path(name).relative_to(folder)) for name in measured.names]
    assert names == site.pages, "the truth is about other pages, or in another order"
    return measured


def main() -> None:
    options = arguments(
        __doc__,
        "site",
        truth=(Path, "folder of NAME.{pages,pairs}.tsv.gz; without it the truth is computed"),
        pages=(2_000, "of the sample"),
        quick={},
    )
    print(TARGETS)
    print(f"{'':10}{'pages':>7}{'sample':>7}   {'precision':^18}   {'recall':^18}   {'lost':^9}")
    print(f"{'site':24}   {'true':>6} {'est.':>5} {'off':>5}   {'true':>6} {'est.':>5} {'off':>5}"
          f"   {'true':>4} {'est':>4} {'wall':>6} {'CPU':>5}")  # fmt: skip
    with TemporaryDirectory() as scratch:
        if options.quick:
            options.site, options.truth = [toy_site(Path(scratch))], None
        for folder in options.site:
            site = known(folder, options.truth)
            wall, cpu = time.perf_counter(), time.process_time()
            measured = estimate(folder, site, options.pages)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            default = measured.outcomes[0]
            dropped = set(np.flatnonzero(default.matches != -1).tolist())
            true = site.judge(list(range(len(site.pages))), dropped)
            pairs = (
                (true.precision, default.precision.value),
                (true.recall, default.recall.value),
            )
            cells = [f"{one:6.3f} {two:5.3f} {abs(one - two):5.3f}" for one, two in pairs]
            counts = f"{len(site.pages):7,}{len(measured.sample.numbers):7,}"
            lost = f"{true.lost:4} {default.lost:4}"
            print(f"{site.name:10}{counts}   {cells[0]}   {cells[1]}   {lost}"
                  f" {wall:5.0f}s {cpu:4.0f}s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
