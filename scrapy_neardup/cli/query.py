"""``scrapy-neardup query``: the pages of a collection that are like a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isnan
from pathlib import Path
from typing import Any

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import escaped, rows_to
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.jobs.querying import LEAST, PackedQueries, nearest
from scrapy_neardup.offline.jobs.scanning import texts
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import FoundPage, content_of
from scrapy_neardup.stores.packfile import MAGIC

Answers = Iterator[tuple[str, list[dict[str, Any]]]]
"""Names of the queried pages, each with the pages of the collection like it, as printed."""


@click.command()
@click.argument("inputs", metavar="[INPUT...]", nargs=-1)
@click.option(
    "--in",
    "collection",
    metavar="INPUT",
    multiple=True,
    required=True,
    help="The collection: INPUTs of scan, or one packed file; may be repeated.",
)
@click.option("--like", metavar="TEXT", help="A text to search for, instead of pages.")
@flags.number_option("--top", default=10, help="Maximum number of answers to each query.")
@click.option(
    "--min-resemblance",
    metavar="T",
    type=click.FloatRange(0, 1),
    default=LEAST,
    help="Minimum resemblance of an answer; a packed file needs sketches for it.",
)
@flags.setting_option("max_distance", help="For a packed file: maximum Hamming distance, in bits.")
@flags.setting_option("hash_key", help="For a packed file: the key that scan used.")
@flags.column_options
@flags.shingle_size_option
@flags.setting_option("text")
@flags.setting_option("ignore")
@flags.memory_option()
@flags.rows_option
@flags.pass_given
def query(given: flags.Given) -> None:
    """Print the pages of a collection that are most like each page of the INPUTs, or a text.

    All shingles of all pages of a collection are compared, so the result is exact. A packed file
    opens at once, but only fingerprints within --max-distance bits are found there. With
    --min-resemblance, pages that share a min-wise feature are also compared, by sketches.

    \b
    {"query": ..., "page": ..., "resemblance": r}
    {"query": ..., "page": ..., "distance": n, "resemblance": r}
    query        the page of the INPUTs, null for --like
    page         URL or path of a page like it, nearest first; in a packed file its URL,
                 else its page id, else its row number from 0
    resemblance  exact; for pages of a packed file, estimated

    \b
    Examples:
      scrapy-neardup query --in site/ --like 'the text of a page'
      scrapy-neardup query new.html --in crawl.warc.gz --top 3 --min-resemblance 0.8
      scrapy-neardup query - --in archive.pack --max-distance 3 < pages.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    if bool(given.inputs) == (given.like is not None):
        raise click.UsageError("name either pages to search for, or a text with --like")
    if isnan(given.min_resemblance):
        raise click.UsageError("--min-resemblance must be from 0 to 1, not nan")
    packed = [*filter(_is_packed, given.collection)]
    if packed and len(given.collection) > 1:
        raise click.UsageError("a packed file must be searched alone: pack several into one")
    columns = flags.columns_of(given)
    asked = (
        Corpus(given.inputs, columns)
        if given.like is None
        else [FoundPage(page="", text=given.like)]
    )
    if packed:
        flags.refuse_given("a packed file", {"shingle_size", "memory"})
        answers = _of_packed(packed[0], asked, given)
    else:
        flags.refuse_given("a collection of pages", {"max_distance", "hash_key"})
        answers = _of_pages(Corpus(given.collection, columns), asked, given)
    with rows_to(given.path) as results:
        for name, found in answers:
            for answer in found:
                results({"query": name or None, **answer})


def _is_packed(path: str) -> bool:
    is_named = path.endswith(".pack")
    return is_named or (Path(path).is_file() and content_of(path, 0, len(MAGIC)) == MAGIC)


def _of_pages(collection: Corpus, asked: Iterable[FoundPage], given: flags.Given) -> Answers:
    how = given.text, given.ignore
    named = [(record.name, content) for record, content in texts(asked, *how)]
    found = nearest(
        (content for _, content in named),
        ((record.name, content) for record, content in texts(collection, *how)),
        shingle_size=given.shingle_size,
        top=given.top,
        min_resemblance=given.min_resemblance,
        memory=given.memory,
    )
    for (query, _), pages in zip(named, found, strict=True):
        yield query, [{"page": name, "resemblance": round(share, 4)} for name, share in pages]


def _of_packed(path: str, asked: Iterable[FoundPage], given: flags.Given) -> Answers:
    changed = [name for name in ("hash_key", "ignore", "text") if flags.is_given(name)]
    index = PackedQueries.opened(path, **{name: getattr(given, name) for name in changed})
    least = given.min_resemblance if flags.is_given("min_resemblance") else None
    for record in asked:
        try:
            found = index.query(
                record, given.top, max_distance=given.max_distance, min_resemblance=least
            )
        except InputError as error:
            click.echo(escaped(str(error)), err=True)
            continue
        pages: list[dict[str, Any]] = []
        for name, distance, share in found:
            resemblance = {} if share is None else {"resemblance": round(share, 4)}
            pages.append({"page": name, "distance": distance, **resemblance})
        yield record.name, pages
