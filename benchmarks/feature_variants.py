"""What else could be a feature, and a second opinion: measured, and no part of the plugin.

Manku et al. 2007, section 2, names stop words, stemming and idf; its section 6 the length of
a document, as do Conrad & Schriber 2006, who compare documents within 20 % of each other.
Each is tried with simhash alone and with the best preset, by the truth of `quality.py`, in
the sites' own orders.

``idf so far``
    A shingle counts ln(1 + n / f), on f of the n pages met so far. A fingerprint depends on
    when the page was met.
``idf of the site``
    The same over all pages of the site, as if it had been crawled before.

    python benchmarks/feature_variants.py --truth DIR SITE...
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from unittest.mock import patch

import numpy as np
import snowballstemmer
from named_sites import add_site_options, named
from sites import Site, load
from trials import (
    HEADINGS,
    STOP_WORDS,
    Outcome,
    Reader,
    Trial,
    cells,
    crawl,
    play_all,
    pooled,
    preset,
    seeded,
)

from scrapy_neardup.fingerprints import features, simhash_features, token_hashes
from scrapy_neardup.stores.embedded import entryindex as embedded
from scrapy_neardup.stores.embedded.entries import Arrival, Entries
from scrapy_neardup.verdict import Page, Verdict

LENGTHS = 0.8
"""The shorter of two pages of similar length has at least such a share of the other's tokens."""

_WORD = re.compile(r"\w+")


@cache
def stemmed(word: str) -> str:
    """Return the stem of an English word."""
    return snowballstemmer.stemmer("english").stemWord(word)


def mapped(site: Site, change: Callable[[str], str]) -> Site:
    """Return a site with each word of its pages changed."""

    def words(text: str) -> str:
        return _WORD.sub(lambda found: change(found[0].lower()), text)

    contents = [
        replace(
            content,
            blocks=tuple(block._replace(text=words(block.text)) for block in content.blocks),
        )
        for content in site.contents
    ]
    return replace(site, contents=contents)


def by_idf(reader: Reader, *, known: bool) -> dict[int, Page | Verdict]:
    """Return the pages with simhashes of shingles weighted by their rarity."""
    parameters, pages = reader.parameters, reader.all_pages()
    shingles = [
        features(
            token_hashes(content.text, key=parameters.hash_key),
            shingle_size=parameters.shingle_size,
        )[0]
        for content in reader.contents
    ]
    pages_with: Counter[int] = Counter()
    if known:
        for found in shingles:
            pages_with.update(found.tolist())
    weighted = {}
    for number, (page, found) in enumerate(zip(pages, shingles, strict=True)):
        values = found.tolist()
        if not known:
            pages_with.update(values)
        if isinstance(page, Page) and not page.exact:
            counts = np.array([pages_with[value] for value in values], np.float64)
            weights = np.log1p((len(pages) if known else number + 1) / counts)
            weighted[number] = replace(page, fingerprint=simhash_features(found, weights))
        else:
            weighted[number] = page
    return weighted


def of_similar_length(pages: list[Page | Verdict]) -> type[Entries]:
    """Return entries that fit no page of another length."""

    class OfSimilarLength(Entries):
        def fits(self, row: int, arrived: Arrival) -> bool:
            lengths = sorted([pages[self.page_ids[row]].tokens, arrived.page.tokens])
            return lengths[0] >= LENGTHS * lengths[1] and super().fits(row, arrived)

    return OfSimilarLength


VARIANTS = (
    "as it is",
    "no stop words",
    "stemmed",
    "idf so far",
    "idf of the site",
    "length within 20 %",
)


@dataclass(frozen=True)
class Varied(Trial):
    """A trial with one variant."""

    variant: str = ""


def play(trial: Varied) -> list[Outcome]:
    """Crawl a site in its own order."""
    site = load(trial.source)
    parameters = seeded(trial.parameters, trial.seed)
    match trial.variant:
        case "no stop words":
            stop_words = STOP_WORDS
            site = mapped(site, lambda word: "" if word in stop_words else word)
        case "stemmed":
            site = mapped(site, stemmed)
    reader = Reader.of(site, parameters)
    if trial.variant.startswith("idf"):
        reader.pages = by_idf(reader, known=trial.variant == "idf of the site")
    kind = Entries
    if trial.variant.startswith("length"):
        kind = of_similar_length(reader.all_pages())
    order = list(range(len(site.pages)))
    with patch.object(embedded, "Entries", kind):
        dropped = asyncio.run(crawl(reader, order))
    score = site.judge(order, set(dropped))
    k = parameters.max_distance
    return [Outcome(label=trial.label, site=site.name, seed=trial.seed, order=0, k=k, score=score)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_site_options(parser)
    parser.add_argument("--seeds", type=int, default=3, help="hash seeds (default 3)")
    options = parser.parse_args()
    bases = {
        "simhash alone": preset("paper"),
        "simhash alone, 4-shingles": preset("paper", shingle_size=4),
        "best": preset("best"),
    }
    with named(options, parser) as sources:
        queue = [
            Varied(label, source, parameters, seed, variant=variant)
            for (label, parameters), variant, seed, source in product(
                bases.items(), VARIANTS, range(options.seeds), sources
            )
        ]
        print(f"{len(sources)} sites, {options.seeds} hash seeds")
        print(f"{'':26} {'variant':20} {HEADINGS}")
        done: dict[tuple[str, str], list[Outcome]] = {}
        for trial, outcomes in zip(queue, play_all(queue, play), strict=True):
            found = done.setdefault((trial.label, trial.variant), [])
            found += outcomes
            if len(found) == options.seeds * len(sources):
                print(f"{trial.label:26} {trial.variant:20} {cells(pooled(found))}", flush=True)


if __name__ == "__main__":
    main()
