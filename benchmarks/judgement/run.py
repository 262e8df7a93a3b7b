"""How good the judgement on trial (`README.md`) is on real sites, in the package's own store.

    python benchmarks/judgement/run.py --truth DIR SITES... [--shuffles 1]

The store finds candidates as in a crawl, and asks the trial's `Judgement` about each of them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from context import Site as Known
from evidence import Evidence, read_text, segments_of, title_digest
from judgement import Judgement
from judgement import Page as PageAtHand
from sites import Score, Site, Source, load

from scrapy_neardup.analysis import READINGS, Analyser, _without_clocks
from scrapy_neardup.fingerprints.hashing import token_hashes_of_each
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.text import Content
from scrapy_neardup.verdict import Candidate, Decided, Page, Verdict


def at_hand(content: Content, page: Page, url: str) -> PageAtHand:
    """Return a page as the judgement on trial sees it."""
    for reading in READINGS:
        content = reading(content, url)
    blocks = _without_clocks(content.blocks)
    tokens, counts = token_hashes_of_each(blocks.texts, key=None)
    text, rows, named_rows, paths = read_text(
        tokens,
        np.asarray(counts, np.int64),
        np.frombuffer(blocks.forms, np.uint8),
        blocks.places,
        np.frombuffer(blocks.joined, np.bool_),
    )
    head = page.head
    evidence = Evidence(
        head.path,
        head.query,
        head.name,
        segments_of(content.title, content.headings),
        title_digest(content.title, content.headings),
        rows,
        named_rows,
        {} if page.exact else paths,
        () if page.exact else text.sketches(),
    )
    return PageAtHand(url, Evidence.unpack(evidence.pack()), text, page.content)


def dropped(site: Site, order: list[int]) -> set[int]:
    """Return the pages of a site that are dropped when they are met in this order."""
    parameters = Parameters()
    analyser, known = Analyser(parameters), Known()
    index = EmbeddedIndex(parameters.max_distance, len(order), parameters.matching)
    stored: dict[int, PageAtHand] = {}
    found = set()
    for number in order:
        url = site.url(number)
        page = analyser.page(site.contents[number], page_id=number, url=url)
        if isinstance(page, Verdict):
            continue
        mine = at_hand(site.contents[number], page, url)
        judgement, asked = Judgement(mine, known), []

        def decide(candidate: Candidate) -> Decided:
            other = stored[candidate.page_id]
            asked.append(other)  # noqa: B023
            made = judgement.decide(other.url, other.evidence, other.embedded)  # noqa: B023
            return Decided(made.is_same, made.rule, made.resemblance, made.needed)

        outcome = index.check_and_add(page, decide)
        one = mine.evidence
        for other in asked:
            its = other.evidence
            if (its.path, its.query, its.name) == (one.path, one.query, one.name):
                known.met_again(url, one, its)
        if outcome.is_new:
            stored[number] = mine
            known.learn(url, mine.text.shingles, one.segments)
        elif outcome.is_repeat:
            found.add(number)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".cache"))
    parser.add_argument("--shuffles", type=int, default=0)
    options = parser.parse_args()
    pooled = [Score() for _ in range(1 + options.shuffles)]
    for folder in options.sites:
        site = load(Source(folder, options.truth, options.cache))
        for number, order in enumerate(site.orders(options.shuffles)):
            score = site.judge(order, dropped(site, order))
            pooled[number] += score
            print(f"{site.name:12} {_row(score)}", flush=True)
    for number, score in enumerate(pooled):
        print(f"{'random' if number else 'own order':12} {_row(score)}")


def _row(score: Score) -> str:
    return f"{score.precision:.3f} / {score.recall:.3f} / {score.lost}  of {score.pages:,} pages"


if __name__ == "__main__":
    main()
