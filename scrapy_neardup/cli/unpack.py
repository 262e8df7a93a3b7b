"""``scrapy-neardup unpack``: the content of a packed file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import click

from scrapy_neardup.cli.common import Progress, binary_output
from scrapy_neardup.cli.flags import output_option, progress_option
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.files.storedpages import packed_lines
from scrapy_neardup.stores.packfile import open_packed, read_packed
from scrapy_neardup.tables.packed import PackedIndex

_AT_ONCE = 1 << 17
"""Number of fingerprints decoded at a time."""


@click.command()
@click.argument("packed", metavar="FILE")
@output_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(["raw", "jsonl"]),
    default="raw",
    help="Raw little-endian 64-bit fingerprints, or JSON lines with ids and names, and with the"
    " features and sketches that the file has.",
)
@progress_option
def unpack(*, packed: str, path: str, kind: str, progress: bool | None) -> None:
    """Write the fingerprints of a packed FILE (or of standard input, -) in their order.

    Everything that is read is verified; a damaged file ends with an error.

    \b
    Examples:
      scrapy-neardup unpack archive.pack --output archive.u64
      scrapy-neardup unpack crawl.pack --format jsonl | head
    """  # noqa: D301  (click's mark for lines to keep)
    if packed == "-":
        index = read_packed(sys.stdin.buffer.read(), "standard input")
    else:
        index = open_packed(packed)
    if kind == "jsonl" and not (index.rows.has_ids or index.rows.has_urls):
        raise ConfigurationError(
            f"NEARDUP_FORMAT jsonl: {packed} has neither page ids nor names; write it raw"
        )
    encoded = _lines(index) if kind == "jsonl" else _raw(index)
    with binary_output(path) as file:
        line = Progress(progress, file)
        for start in range(0, len(index), _AT_ONCE):
            stop = min(start + _AT_ONCE, len(index))
            file.write(encoded(start, stop))
            line.update(stop, "fingerprints", stop / len(index))
        line.done(len(index), "fingerprints")


def _raw(index: PackedIndex) -> Callable[[int, int], bytes]:
    return lambda start, stop: index.fingerprints(start, stop).astype("<u8", copy=False).tobytes()


def _lines(index: PackedIndex) -> Callable[[int, int], bytes]:
    stored, rows = packed_lines(index), index.rows

    def line(row: int, fingerprint: int) -> bytes:
        found = {
            "page": rows.url(row),
            "page_id": f"{rows.page_id(row):016x}" if rows.has_ids else None,
            "fingerprint": f"{fingerprint:016x}",
            **stored(row),
        }
        return json.dumps(found).encode() + b"\n"

    return lambda start, stop: b"".join(
        map(line, range(start, stop), index.fingerprints(start, stop).tolist())
    )
