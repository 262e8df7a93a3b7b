"""Pairs of real web pages that people have judged: which of them the presets take for one page.

FILE holds JSON lines, perhaps compressed with xz, with `text_a`, `text_b` and `label`: 3 for pages
that people call identical, 2 and 1 for less, 0 for different ones (Fröbe et al., ECIR 2020, "The
effect of content-equivalent near-duplicates on the evaluation of search engines"). Each pair
stands on a host of its own, of which nothing else is known, as most pages of a broad crawl do.

    python benchmarks/s3pairs.py pairs.jsonl.xz
    python benchmarks/s3pairs.py pairs.jsonl.xz --preset best --missed 3
"""

import json
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from harness import arguments
from made.judging import parameters_of, verdicts

from scrapy_neardup.offline.readers.files import FoundPage
from scrapy_neardup.settings.catalogue import PRESETS

CONFIGURATIONS = (*PRESETS, "best+strict", "best+ignore")
"""Presets, alone and with a value of NEARDUP_TITLES."""

LABELS = "3210"

Pair = tuple[str, str, str]
"""Two texts, and their label."""


def read(path: Path) -> list[Pair]:
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines]
    return [(pair["text_a"], pair["text_b"], str(pair["label"])) for pair in pairs]


def made_up() -> Iterator[Pair]:
    chance = Random(1)

    def words(count: int) -> str:
        return " ".join(str(chance.randrange(10**6)) for _ in range(count))

    for label, own in zip(LABELS, (0, 40, 100, 200), strict=True):
        for _ in range(2):
            common = words(200 - own)
            yield f"{common} {words(own)}", f"{common} {words(own)}", label


def found(pairs: Sequence[Pair], preset: str) -> list[bool]:
    records = [
        FoundPage(page=url, url=url, text=text)
        for number, texts in enumerate(pairs)
        for url, text in zip(
            (f"http://site{number}.example/{n}" for n in "ab"), texts, strict=False
        )
    ]
    parameters = replace(parameters_of(preset), scope="host")  # a page may be in several pairs
    return [verdict.is_duplicate for verdict in verdicts(records, parameters)[1::2]]


def rows(pairs: Sequence[Pair], presets: Iterable[str], missed: int) -> Iterator[str]:
    of_label = Counter(label for *_, label in pairs)
    heads = "".join(f"{f'{label} of {of_label[label]}':>12}" for label in LABELS)
    yield f"{'found of label':14}{heads}"
    for preset in presets:
        hits = found(pairs, preset)
        counts = Counter(label for (*_, label), hit in zip(pairs, hits, strict=True) if hit)
        assert preset not in PRESETS or not counts["0"], f"{preset} takes different pages for one"
        yield f"{preset:14}" + "".join(f"{counts[label]:12}" for label in LABELS)
        wrong = [number for number, hit in enumerate(hits) if hit != (pairs[number][2] == "3")]
        for number in wrong[:missed]:
            first, second, label = pairs[number]
            yield f"  pair {number}, label {label}: {first[:60]!r} {second[:60]!r}"


def main() -> None:
    options = arguments(
        __doc__, "file", preset=(list(CONFIGURATIONS), "PRESET, or PRESET+TITLES"), quick={},
        check=lambda given: None if given.quick or given.file else "which FILE of pairs?",
        missed=(0, "wrong verdicts to show, a preset"),
    )  # fmt: skip
    pairs = list(made_up()) if options.quick else read(options.file[0])
    print(*rows(pairs, options.preset, options.missed), sep="\n")


if __name__ == "__main__":
    main()
