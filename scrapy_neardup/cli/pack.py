"""``scrapy-neardup pack``: compress fingerprints into a file that can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.cli.common import Progress, binary_output
from scrapy_neardup.cli.flags import column_option, number_option, progress_option, setting_option
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.files.fingerprintfiles import RawFile, open_sources
from scrapy_neardup.offline.files.sources import Source
from scrapy_neardup.stores.packfile import write_pieces
from scrapy_neardup.tables.packed import (
    CODECS,
    RETRIEVED_FAST,
    RETRIEVED_SMALL,
    Encoded,
    Strings,
    encode_index,
    packed_design,
)

_AT_ONCE = 1 << 20
"""Number of fingerprints that are read at a time."""


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option(
    "--output",
    "path",
    metavar="FILE",
    required=True,
    help="The packed file, all or nothing: it is replaced when it is complete; - is standard"
    " output.",
)
@setting_option(
    "max_distance",
    help="Largest distance that the file can be searched for, in bits. For 0 it holds one"
    " table: the smallest file, good for unpack and pairs.",
)
@number_option(
    "--tables",
    help="Number of tables to search: more are larger and, from some size on, faster.  [default:"
    " as few as retrieve 1,000 fingerprints a search; with sketches, which take more than any"
    " number of tables, 32]",
)
@click.option(
    "--code",
    type=click.Choice(list(CODECS)),
    default="elias-fano",
    help="How tables are compressed: elias-fano is smaller and ten times as fast; huffman is"
    " the code of Manku, Jain and Das Sarma (2007, section 3.2).",
)
@click.option(
    "--ids",
    metavar="FILE",
    help="Raw 64-bit page ids, one for each fingerprint, for inputs without names.",
)
@click.option(
    "--urls/--no-urls",
    default=True,
    help="Keep the names of pages (JSON lines: page; Parquet: page or url).",
)
@click.option(
    "--sketches/--no-sketches",
    default=True,
    help="Keep min-wise features and sketches where the inputs have them, as a base of the"
    " default preset needs them to find and confirm matches; see plan for the bytes.",
)
@column_option
@progress_option
def pack(
    *,
    inputs: tuple[str, ...],
    path: str,
    max_distance: int,
    tables: int | None,
    code: str,
    ids: str | None,
    urls: bool,
    sketches: bool,
    column: str,
    progress: bool | None,
) -> None:
    """Compress the fingerprints of each INPUT into one file that can be searched in place.

    An INPUT is a packed file, a Parquet file, raw little-endian 64-bit integers (.u64, .bin,
    .raw), JSON lines as scan prints them (.jsonl, .ndjson, perhaps .gz), or - for JSON lines
    on standard input. Needs 16 bytes of memory a fingerprint, 24 with page ids, and 16 more
    with sketches.

    The file holds the fingerprints in their order, once for each table, with a checksum a
    page; of pages with names or ids also these, and of what scan prints also features and
    sketches. A named page's id is that of its name.

    \b
    Examples:
      scrapy-neardup scan crawl.warc.gz | scrapy-neardup pack - --output crawl.pack
      scrapy-neardup pack 2024.u64 2025.u64 --max-distance 0 --output archive.pack
    """  # noqa: D301  (click's mark for lines to keep)
    source = open_sources(inputs, column, stored=sketches)
    records = source.stored if sketches else None
    retrieved = RETRIEVED_SMALL if records is None else RETRIEVED_FAST
    design = packed_design(len(source), max_distance, tables=tables, retrieved=retrieved)
    with binary_output(path) as file:
        line = Progress(progress, file)
        pieces = encode_index(
            _fingerprints(source),
            design=design,
            codec=code,
            schema=source.schema,
            ids=_ids(source, ids),
            urls=_urls(source) if urls and source.has_names else None,
            records=records,
        )
        write_pieces(file, _counted(pieces, line, len(design.tables)))
        line.done(len(source), "fingerprints")


def _fingerprints(source: Source) -> NDArray[np.uint64]:
    parts = [part.read() for part in source.parts(0, _AT_ONCE)]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _ids(source: Source, path: str | None) -> NDArray[np.uint64] | None:
    if path is None:
        return source.ids(0, len(source))
    ids = RawFile(path)
    if len(ids) != len(source):
        raise InputError(
            f"--ids {path}: has {len(ids):,} ids for {len(source):,} fingerprints; it must have"
            " one for each"
        )
    return ids.fingerprints(0, len(ids))


def _urls(source: Source) -> Strings:
    return Strings.of(
        name.encode() if isinstance(name, str) else b"" for name in source.names(0, len(source))
    )


def _counted(
    pieces: Iterable[tuple[str, Encoded]], line: Progress, tables: int
) -> Iterator[tuple[str, Encoded]]:
    for number, piece in enumerate(pieces):
        yield piece
        line.update(number, "tables", min(number / tables, 1.0))
