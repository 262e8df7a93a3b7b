"""Collections that the benchmarks of joins work on, and how they compare.

Pages (of a folder, or generated: one site in two versions), short records, and names.
"""

from argparse import Namespace
from pathlib import Path

import numpy as np
from harness import arguments

from scrapy_neardup.offline.joins import SimilarPairs

RECORDS, VOCABULARY, MEAN_DRAWS = 100_000, 50_000, 15.1
"""15.1 tokens drawn are 14 different ones, on average."""
COPIES = 0.06
"""Share of records that are an earlier one with up to three tokens replaced."""
PAGES = 5_000
SEED = 2008
PARTS = ["compare", "clusters", "growth", "quality", "containment"]

Result = list[tuple[int, int]]


def options_and_texts(doc: str | None) -> tuple[Namespace, str, list[str]]:
    options = arguments(
        doc, pages=(Path, "a folder of HTML files to join"), part=(PARTS, None, PARTS), scale=1,
        quick={"scale": 50},
    )  # fmt: skip
    if options.pages:
        return options, str(options.pages), read_pages(options.pages)
    return options, "generated pages", made_pages(PAGES // options.scale)


def read_pages(folder: Path) -> list[str]:
    from scrapy_neardup.offline.readers.corpus import Corpus
    from scrapy_neardup.text import Extractor, parse_html

    extract = Extractor(mode="full").extract
    return [
        extract(parse_html(page.html, encoding=page.encoding)).text
        for page in Corpus([str(folder)])
    ]


def made_pages(count: int) -> list[str]:
    draw = np.random.default_rng(SEED)
    weights = 1 / np.arange(1, 20_001)
    weights /= weights.sum()
    template = "home contents index previous next copyright licence search about"
    pages: list[list[str]] = []
    for number in range(count):
        if number >= count // 2:
            page = list(pages[number - count // 2])
            for at in draw.integers(0, len(page), draw.geometric(0.4) - 1):
                page[at] = "edited"
        else:
            length = int(draw.lognormal(4.6, 0.9)) + 20
            page = [f"w{token}" for token in draw.choice(20_000, length, p=weights)]
        pages.append(page)
    return [f"{template} {' '.join(page)} {template}" for page in pages]


def made_records(count: int) -> list[list[int]]:
    draw = np.random.default_rng(SEED)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    cumulated = np.cumsum(weights / weights.sum())
    records: list[list[int]] = []
    for length in np.maximum(3, draw.poisson(MEAN_DRAWS, count)):
        if records and draw.random() < COPIES:
            record = list(records[draw.integers(len(records))])
            for _ in range(draw.integers(4)):
                record[draw.integers(len(record))] = int(cumulated.searchsorted(draw.random()))
        else:
            record = cumulated.searchsorted(draw.random(length)).tolist()
        records.append(list(dict.fromkeys(record)))
    return records


def found(pairs: SimilarPairs) -> Result:
    return list(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True))


def same(name: str, answer: Result, expected: Result) -> None:
    missing, extra = len(set(expected) - set(answer)), len(set(answer) - set(expected))
    assert answer == expected, f"{name} differs: {missing} missing, {extra} more"
