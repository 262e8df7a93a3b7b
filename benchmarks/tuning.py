"""How near the estimates of `tune` come to the truth about real sites, and how long they take.

Each site is measured as the command does it, with a sample of its pages. The truth is that of all
pairs of its pages, as `quality.py` reads it, for the drops of the defaults.

    python benchmarks/tuning.py --truth DIR SITE...
"""

import time
from pathlib import Path

import numpy as np
from harness import arguments, scratch
from sites import SITE_OPTIONS, Site, Source, listed, load, toy_site

from scrapy_neardup.offline.evaluation.truth import read_pages
from scrapy_neardup.offline.evaluation.tuning import Measured, measure
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.pipeline.analysis import Analyser
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
        __doc__, "site", truth=SITE_OPTIONS["truth"], pages=(2_000, "of the sample"), quick={}
    )
    print(TARGETS)
    print(f"{'':10}{'pages':>7}{'sample':>7}   {'precision':^18}   {'recall':^18}   {'lost':^9}")
    print(f"{'site':24}   {'true':>6} {'est.':>5} {'off':>5}   {'true':>6} {'est.':>5} {'off':>5}"
          f"   {'true':>4} {'est':>4} {'wall':>6} {'CPU':>5}")  # fmt: skip
    with scratch() as work:
        if options.quick:
            options.site, options.truth = [toy_site(work)], None
        for folder in options.site:
            site = known(folder, options.truth)
            wall, cpu = time.perf_counter(), time.process_time()
            measured = estimate(folder, site, options.pages)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            default = measured.outcomes[0]
            dropped = set(np.flatnonzero(default.matches != -1).tolist())
            true = site.judge(list(range(len(site.pages))), dropped)
            pairs = ((getattr(true, name), getattr(default, name).value)
                     for name in ("precision", "recall"))  # fmt: skip
            cells = "   ".join(f"{a:6.3f} {b:5.3f} {abs(a - b):5.3f}" for a, b in pairs)
            print(f"{site.name:10}{len(site.pages):7,}{len(measured.sample.numbers):7,}   {cells}"
                  f"   {true.lost:4} {default.lost:4} {wall:5.0f}s {cpu:4.0f}s")  # fmt: skip


if __name__ == "__main__":
    main()
