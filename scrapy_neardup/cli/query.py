"""``scrapy-neardup query``: the pages of a collection that are like others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import output
from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.fingerprints.batch import BINS, byte_sketches, estimated, shingles_of_each
from scrapy_neardup.fingerprints.hashing import token_hashes_of_each
from scrapy_neardup.offline.jobs.scanning import analyse, texts
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import Record, batches
from scrapy_neardup.pipeline.analysis import Analyser
from scrapy_neardup.settings.catalogue import View
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores.packfile import open_packed
from scrapy_neardup.verdict import Page

_LEAST = 0.1
"""Default minimum resemblance: sketches of unrelated documents agree in some bins by chance."""
_BATCH = 256
"""Number of documents that are sketched at once."""

Answers = Callable[[Record], list[dict[str, Any]]]
"""Page that is asked for -> pages of the collection like it, as they are printed."""


@click.command()
@click.argument("inputs", metavar="[INPUT...]", nargs=-1)
@click.option(
    "--in",
    "collection",
    metavar="INPUT",
    multiple=True,
    required=True,
    help="The collection: inputs of scan, or one packed file; may be repeated.",
)
@click.option("--like", metavar="TEXT", help="A text to ask for, instead of pages.")
@flags.number_option("--top", default=10, help="Maximum answers to each.")
@click.option(
    "--min-resemblance",
    metavar="T",
    type=click.FloatRange(0, 1),
    default=_LEAST,
    help="Least resemblance of an answer.",
)
@flags.setting_option("max_distance", help="For a packed file: maximum bits of difference.")
@flags.shingle_size_option
@flags.setting_option("text")
@flags.setting_option("ignore")
@flags.output_option
def query(
    *,
    inputs: tuple[str, ...],
    collection: tuple[str, ...],
    like: str | None,
    top: int,
    min_resemblance: float,
    max_distance: int,
    shingle_size: int,
    text: View,
    ignore: tuple[str, ...],
    path: str,
) -> None:
    """Print the pages of a collection that are most like each page of the INPUTs, or a text.

    A collection is sketched in memory, 256 bytes a page, and compared whole: none is missed. In a
    packed file fingerprints as scan makes them, by default, are found within --max-distance bits.

    \b
    {"query": ..., "page": ..., "resemblance": r}
    {"query": ..., "page": ..., "distance": n}
    query        the page that was asked for, null for --like
    page         URL or path of a page like it, the nearest first; of a packed file its URL,
                 else its page id, else its row number from 0
    resemblance  estimated, with a standard error of .02 at most at .9

    \b
    Examples:
      scrapy-neardup query --in site/ --like 'the text of a page'
      scrapy-neardup query new.html --in crawl.warc.gz --top 3 --min-resemblance 0.8
      scrapy-neardup query - --in archive.pack --max-distance 3 < pages.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    if bool(inputs) == (like is not None):
        raise click.UsageError("name either pages to ask for, or a text with --like")
    packed = [name for name in collection if name.endswith(".pack")]
    if packed and len(collection) > 1:
        raise click.UsageError("a packed file is asked alone: pack several into one")
    if packed:
        flags.refuse_given("a packed file", {"min_resemblance", "shingle_size", "text", "ignore"})
        answers = _of_packed(packed[0], max_distance, top)
    else:
        flags.refuse_given("a collection of pages", {"max_distance"})
        documents = texts(Corpus(collection), text, ignore)
        index = Index(((record.page, content) for record, content in documents), shingle_size)

        def answers(record: Record) -> list[dict[str, Any]]:
            ((_, content),) = texts([record], text, ignore)
            found = index.query(content, top, min_resemblance)
            return [{"page": name, "resemblance": round(share, 4)} for name, share in found]

    asked = Corpus(inputs) if like is None else [Record(page="", text=like)]
    with output(path) as results:
        for record in asked:
            for answer in answers(record):
                print(json.dumps({"query": record.page or None, **answer}), file=results)


def _of_packed(path: str, max_distance: int, top: int) -> Answers:
    index, analyser = open_packed(path), Analyser(Parameters())
    if (index.schema or {}).get("hash_key"):
        raise StoreMismatchError(
            f"{path}: its pages were hashed with a secret key, and a query isn't; pack what scan"
            " prints without --hash-key and --store"
        )

    def answers(record: Record) -> list[dict[str, Any]]:
        page = analyse(record, analyser)
        if not isinstance(page, Page):
            return []
        hits = index.query(page.fingerprint, max_distance=max_distance)
        found = sorted((distance, row) for _, distance, row in hits)[:top]
        return [{"page": index.rows.name(row), "distance": distance} for distance, row in found]

    return answers


class Index:
    """Sketches of documents, given by name and text, and queries for those that resemble a text.

    Holds 256 bytes and the name of each document. A query compares with all of them, so that none
    is missed: O(n). The standard error of a resemblance is .019 at .9.

    >>> index = Index([("a", "one two three four five"), ("b", "six seven eight nine")])
    >>> index.query("one two three four five", top=1)
    [('a', 1.0)]
    """

    def __init__(self, documents: Iterable[tuple[str, str]], shingle_size: int = 4) -> None:
        self._size = shingle_size
        self._names: list[str] = []
        parts = [np.empty((0, BINS), np.uint8)]
        for batch in batches(documents, _BATCH):
            names, texts = zip(*batch, strict=True)
            sketches, has_words = self._sketched(texts)
            self._names += [name for name, has in zip(names, has_words, strict=True) if has]
            parts.append(sketches[has_words])
        self._sketches = np.concatenate(parts)

    def query(
        self, text: str, top: int, min_resemblance: float = _LEAST
    ) -> list[tuple[str, float]]:
        """Return up to `top` documents that a text resembles most, the nearest and earliest first.

        Each is its name and its resemblance, from `min_resemblance` to 1. A text without words
        resembles none.
        """
        (sketch,), (has_words,) = self._sketched([text])
        if not has_words:
            return []
        shares = estimated(sketch, self._sketches)
        order = np.argsort(-shares, kind="stable")[:top].tolist()
        found = [(self._names[each], float(shares[each])) for each in order]
        return [(name, share) for name, share in found if share >= min_resemblance]

    def _sketched(self, texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return sketches, and which of the texts have words."""
        tokens, counts = token_hashes_of_each(texts)
        hashes, numbers = shingles_of_each(tokens, counts, self._size)
        return byte_sketches(hashes, numbers), counts > 0
