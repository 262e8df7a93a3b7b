"""Made-up data sets: Parquet files of documents, of which some are near-duplicates of others.

Documents are put together from passages of real pages (folders of HTML). Of all documents 55 %
are new, 15 % repeat an earlier one word for word, 20 % with 1 % of the words replaced, and 10 %
with 20 % of them replaced, which is below any usual threshold. Columns: ``text``, ``id``,
``metadata`` (``url``, ``date``, ``kind``: how the document was made, and ``source``: of which).

    python benchmarks/dedupe_data.py --pages DIR... --output DIR --documents 1000000
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from scrapy_neardup.errors import InputError
from scrapy_neardup.text import Extractor, parse_html

KINDS = {"new": 0.55, "copy": 0.15, "near": 0.2, "far": 0.1}
REPLACED = {"copy": 0.0, "near": 0.01, "far": 0.2}
PASSAGE, PASSAGES = 60, (1, 10)
RECENT = 20_000
"""Number of earlier documents from which repeated ones are drawn."""
PER_FILE, PER_BATCH = 50_000, 5_000
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("id", pa.string()),
        (
            "metadata",
            pa.struct(
                [
                    ("url", pa.string()),
                    ("date", pa.string()),
                    ("kind", pa.string()),
                    ("source", pa.int64()),
                ]
            ),
        ),
    ]
)


def passages(folders: list[str]) -> list[list[str]]:
    """Return the words of all pages, some at a time."""
    extractor = Extractor(mode="main")
    found = []
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.htm*")):
            try:
                words = extractor.extract(parse_html(path.read_bytes(), None)).text.split()
            except (InputError, OSError):
                continue
            found += [words[at : at + PASSAGE] for at in range(0, len(words) - PASSAGE, PASSAGE)]
    return found


def documents(parts: list[list[str]], count: int, seed: int) -> Iterator[dict[str, object]]:
    chance = random.Random(seed)
    recent: list[tuple[int, list[str]]] = []
    for number in range(count):
        (kind,) = chance.choices([*KINDS], [*KINDS.values()]) if recent else ("new",)
        source = number
        if kind == "new":
            words = [
                word for _ in range(chance.randint(*PASSAGES)) for word in chance.choice(parts)
            ]
            if len(recent) < RECENT:
                recent.append((number, words))
            else:
                recent[chance.randrange(RECENT)] = number, words
        else:
            source, words = chance.choice(recent)
            words = words.copy()
            for _ in range(round(REPLACED[kind] * len(words))):
                words[chance.randrange(len(words))] = chance.choice(chance.choice(parts))
        yield {
            "text": " ".join(words),
            "id": f"doc-{number:08}",
            "metadata": {
                "url": f"https://site{number % 97}.test/page/{number}",
                "date": f"20{10 + number % 15}-0{1 + number % 9}-01",
                "kind": kind,
                "source": source,
            },
        }


def write(folder: Path, rows: Iterator[dict[str, object]], count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in range(-(-count // PER_FILE)):
        left = min(PER_FILE, count - file * PER_FILE)
        with ParquetWriter(folder / f"part-{file:05}.parquet", SCHEMA) as writer:
            while left:
                batch = [next(rows) for _ in range(min(left, PER_BATCH))]
                writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
                left -= len(batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", nargs="+", required=True, metavar="DIR")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = documents(passages(options.pages), options.documents, options.seed)
    write(options.output, rows, options.documents)


if __name__ == "__main__":
    main()
