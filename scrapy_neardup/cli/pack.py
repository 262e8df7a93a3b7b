"""``scrapy-neardup pack`` and ``unpack``: fingerprints to and from files that can be searched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import click
import numpy as np

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.files.fingerprintfiles import open_sources, packed_at
from scrapy_neardup.offline.files.sources import Name
from scrapy_neardup.offline.files.storedpages import packed_lines
from scrapy_neardup.offline.readers.files import standard_input
from scrapy_neardup.stores.packfile import read_packed, write_pieces
from scrapy_neardup.tables.packed import packedindex
from scrapy_neardup.tables.packed.checked import Encoded

_READ, _DECODED = 1 << 20, 1 << 17
"""Number of fingerprints that are read, and that are decoded, at a time."""


@click.command()
@flags.inputs
@flags.file_option(
    "The packed file, which appears when it is complete; - is standard output.", required=True
)
@flags.setting_option(
    "max_distance",
    help="Largest distance, in bits, at which the file can be searched. With 0 the file has one"
    " table and is smallest, good for unpack and pairs.",
)
@flags.number_option(
    "--tables",
    help="Number of tables to search; more tables make the file larger and, from some size on,"
    " faster.  [default: as few as retrieve 1,000 fingerprints a search; with sketches, which"
    " take more space than any number of tables, 32]",
)
@click.option(
    "--urls/--no-urls",
    default=True,
    help="Keep the names of pages (JSON lines: page; Parquet: page or url).",
)
@click.option(
    "--sketches/--no-sketches",
    default=True,
    help="Keep min-wise features and sketches if the inputs have them; a base of the default"
    " preset needs them to find and confirm matches.",
)
@flags.column_option
@flags.progress_option
@flags.pass_given
def pack(given: flags.Given) -> None:
    """Compress the fingerprints of each INPUT into one file that can be searched in place.

    An INPUT is a packed file, a Parquet file, raw little-endian 64-bit integers (.u64, .bin,
    .raw), JSON lines as scan prints them (.jsonl, .ndjson, also .gz), or - for JSON lines
    on standard input. It needs 16 bytes of memory a fingerprint, 24 with page ids, and 16 more
    with sketches.

    The file holds the fingerprints sorted, once for each table, with checksums. It also holds
    names of pages, ids made from them, and features and sketches, if the INPUTs have them.

    \b
    Examples:
      scrapy-neardup scan crawl.warc.gz | scrapy-neardup pack - --output crawl.pack
      scrapy-neardup pack 2024.u64 2025.u64 --max-distance 0 --output archive.pack
    """  # noqa: D301  (click's mark for lines to keep)
    source = open_sources(given.inputs, given.column, stored=given.sketches)
    records = source.stored if given.sketches else None
    design = packedindex.packed_design(
        len(source),
        given.max_distance,
        tables=given.tables,
        retrieved=packedindex.RETRIEVED_SMALL if records is None else packedindex.RETRIEVED_FAST,
    )
    rows, parts = len(source), source.parts(0, _READ)
    names = source.names(0, rows) if given.urls and source.has_names else None
    with output(given.path) as results:
        line = Progress(given.progress, given.path)
        pieces = packedindex.encode_index(
            np.concatenate([np.empty(0, np.uint64), *(part.read() for part in parts)]),
            design=design,
            schema=source.schema,
            ids=source.ids(),
            url=None if names is None else lambda row: _url(names[row]),
            records=records,
        )
        write_pieces(results.buffer, _shown(pieces, line, len(design.tables)))
        line.done(rows, "fingerprints")


def _url(name: Name) -> bytes:
    return name.encode() if isinstance(name, str) else b""


def _shown(
    pieces: Iterable[tuple[str, Encoded]], line: Progress, tables: int
) -> Iterator[tuple[str, Encoded]]:
    for number, piece in enumerate(pieces):
        yield piece
        line.update(number, "tables", min(number / tables, 1.0))


@click.command()
@click.argument("packed", metavar="FILE")
@flags.output_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(["raw", "jsonl"]),
    default="raw",
    help="What to write: raw, little-endian 64-bit fingerprints; jsonl, JSON lines with ids,"
    " names, features and sketches, as far as the file has them.",
)
@flags.progress_option
@flags.pass_given
def unpack(given: flags.Given) -> None:
    """Write the fingerprints of a packed FILE (or of standard input, -) in ascending order.

    Everything that is read is verified; a damaged file is an error.

    \b
    Examples:
      scrapy-neardup unpack archive.pack --output archive.u64
      scrapy-neardup unpack crawl.pack --format jsonl | head
    """  # noqa: D301  (click's mark for lines to keep)
    if given.packed == "-":
        index = read_packed(standard_input().read(), "standard input")
    else:
        index = packed_at(given.packed)
    if given.kind == "jsonl" and not (index.rows.has_ids or index.rows.has_urls):
        raise ConfigurationError(
            f"NEARDUP_FORMAT jsonl: {given.packed} has neither page ids nor names; write it raw"
        )
    line_of = packed_lines(index) if given.kind == "jsonl" else None
    with output(given.path) as results:
        line = Progress(given.progress, given.path)
        for start in range(0, len(index), _DECODED):
            stop = min(start + _DECODED, len(index))
            values = index.fingerprints(start, stop)
            if line_of:
                found = map(line_of, range(start, stop), values.tolist())
                results.buffer.writelines(json.dumps(each).encode() + b"\n" for each in found)
            else:
                results.buffer.write(values.astype("<u8", copy=False).tobytes())
            line.update(stop, "fingerprints", stop / len(index))
        line.done(len(index), "fingerprints")
