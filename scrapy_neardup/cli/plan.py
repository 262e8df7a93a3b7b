"""``scrapy-neardup plan``: tables and memory for a number of pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from math import expm1, log2
from typing import Any

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores import Matching
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.tables import TableDesign, cuts
from scrapy_neardup.tables.packed import RETRIEVED_FAST, RETRIEVED_SMALL, packed_design
from scrapy_neardup.tables.packed.checked import PAGE

_ENTRY = 43
"""Bytes of an entry in memory without its tables: five columns and two maps (measured)."""
_ROW = 50
"""Bytes of an entry in an SQLite file (measured)."""
_FEATURE = 14
"""Bytes of a feature in memory: a column and a map (measured)."""
_ID, _ROW_NUMBER, _RECORD_END = 8, 4, 8
"""Bytes, in a packed file, of a page id, of a row behind an id or a feature, and of the end of
a record."""


def _count(_ctx: click.Context, _param: click.Parameter, value: str) -> int:
    """Parse a number such as 1_000_000, 10M or 8e9."""
    found = re.fullmatch(r"([\d_,]*\.?\d+(?:e\d\d?)?)([kMGT]?)", value)
    if not found:
        raise click.BadParameter(f"{value!r} is no number such as 1_000_000, 10M or 8e9")
    digits, unit = found.groups()
    number = float(re.sub("[_,]", "", digits)) * 1000.0 ** " kMGT".index(unit or " ")
    if not 1 <= number <= 1e15:
        raise click.BadParameter(f"{value!r} isn't between 1 and 1e15")
    return round(number)


@click.command()
@click.option(
    "--pages",
    metavar="N",
    callback=_count,
    default="1_000_000",
    help="Number of pages kept: 1_000_000, 10M, 8e9.",
)
@flags.setting_option("max_distance")
@flags.setting_option(
    "preset",
    help="Preset of the crawl; it decides which features and sketches the stores have.",
)
@flags.json_option
@flags.pass_given
def plan(given: flags.Given) -> None:
    """Show the table designs for a number of pages, and what each store needs for them.

    A design says which bits of a 64-bit fingerprint lead in each of its tables, so that
    every fingerprint within K bits of a query shares the leading bits in at least one table
    (Manku, Jain and Das Sarma 2007, section 3). More tables take more memory and retrieve
    fewer fingerprints a query; every design finds the same pages.

    \b
    Example:
      scrapy-neardup plan --pages 50M
    """  # noqa: D301  (click's mark for lines to keep)
    designs = list(_designs(given.pages, given.max_distance))
    matching = Parameters.of_preset(given.preset).matching
    stores = list(_stores(given.pages, given.max_distance, matching))
    packed = _packed(given.pages, given.max_distance, matching)
    if given.as_json:
        result = {"pages": given.pages, "max_distance": given.max_distance, "preset": given.preset}
        result |= {"designs": designs, "stores": stores, "packed": packed}
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"Designs for {given.pages:,} pages and a distance of {given.max_distance}:\n")
    click.echo(_table(_DESIGN_HEAD, [_design_row(design, given.pages) for design in designs]))
    click.echo("* used in memory; p: leading bits; look-ups and retrieved: for one query\n")
    click.echo(
        _table(_STORE_HEAD, [_store_row(store, given.pages) for store in (*stores, packed)])
    )
    click.echo("packed: a file that pack writes of what scan prints, mapped into memory.")
    click.echo(
        "A stored URL adds its length: in memory: some 50 bytes more, in files up to ten, in"
    )
    click.echo("Redis some 70. Redis itself takes a megabyte or two, and twice as much memory")
    click.echo("while it writes a snapshot of pages that change.")


def _designs(pages: int, max_distance: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of each design, by number of tables."""
    online = TableDesign.online(max_distance, pages)
    others = cuts.designs(max_distance=max_distance, log2_pages=log2(pages))
    designs = {design.name: design for design in (*others, online)}
    for design in sorted(designs.values(), key=lambda design: len(design.tables)):
        yield {
            "name": design.name,
            "tables": len(design.tables),
            "prefix_bits": [table.prefix_bits for table in design.tables],
            "probes": design.probes,
            "expected_retrieved": design.expected_retrieved(log2(pages)),
            "bytes_per_page": design.bytes_per_fingerprint(log2(pages)),
            "default": design.name == online.name,
        }


def _stores(pages: int, max_distance: int, matching: Matching) -> Iterator[dict[str, Any]]:
    """Yield the bytes of a page in each store, in memory and on disk."""
    online = TableDesign.online(max_distance, pages)
    in_memory = online.bytes_per_fingerprint(log2(pages)) + _ENTRY
    on_disk: float = _ROW
    if matching != Matching():
        sketches = matching.evidence_size
        in_memory += _FEATURE * matching.features + sketches
        on_disk += 1.06 * (8 * matching.features + sketches)  # pages of the file aren't full
    yield _store("memory:", online, in_memory, 0, estimate=False)
    yield _store("sqlite:", online, in_memory, on_disk, estimate=False)
    layout = replace(Layout.choose(max_distance, pages), matching=matching)
    yield _store("redis:", layout.design, _redis_bytes(layout, pages), 0, estimate=True)


def _packed(pages: int, max_distance: int, matching: Matching) -> dict[str, Any]:
    """Return the bytes of a page in a packed file with page ids: a base for `NEARDUP_BASE`."""
    has_records = matching != Matching()
    retrieved = RETRIEVED_FAST if has_records else RETRIEVED_SMALL
    design = packed_design(pages, max_distance, retrieved=retrieved)
    value = (66 - log2(pages)) / 8  # in Elias-Fano code
    size = value * len(design.tables) + _ID + value + _ROW_NUMBER
    if has_records:
        size += matching.features * (value + _ROW_NUMBER)
        size += _RECORD_END + PACKED.size + matching.evidence_size
    return _store("packed", design, 0, size * (1 + 4 / PAGE), estimate=False)


def _store(
    store: str, design: TableDesign, in_memory: float, on_disk: float, *, estimate: bool
) -> dict[str, Any]:
    return {
        "store": store,
        "design": design.name,
        "memory_bytes_per_page": in_memory,
        "disk_bytes_per_page": on_disk,
        "estimate": estimate,
    }


def _redis_bytes(layout: Layout, pages: int) -> float:
    """Return the bytes of a page in one Redis: its string, its entries in tables and features.

    ``docs/redis.md`` has the layout: a string of 12 bytes, features and evidence; in each table
    its id and its key, for each feature 3 bytes of it and the page id.
    """
    matching = layout.matching
    record = 12 + sum(layout.sizes)
    tables = len(layout.design.tables) * _bucket_bytes(8 + 8, pages, layout.bits)
    features = _bucket_bytes(3 + 8, matching.features * pages, layout.feature_bits)
    return _KEY_BYTES + _allocated(record + 6) + (tables + features) / pages


_KEY_BYTES = 80
"""Bytes of a key of some 25 bytes beside its value: name, entry of a hash table, object."""


def _allocated(size: int) -> int:
    """Return the bytes that jemalloc gives for `size`: four sizes for each doubling."""
    step = max(1 << max(size - 1, 1).bit_length() - 3, 8)
    return -(-size // step) * step


def _bucket_bytes(width: int, entries: int, bits: int) -> float:
    """Return the bytes that `entries` take in buckets that are named by `bits` bits.

    A bucket is a string. Its room doubles where it is too short for one entry more, so that half
    as much again is taken on average.
    """
    buckets = (1 << bits) * -expm1(-entries / (1 << bits))  # those that hold any (Poisson)
    return 1.5 * width * entries + _KEY_BYTES * buckets


_DESIGN_HEAD = ("", "design", "tables", "p", "look-ups", "retrieved", "bytes/page", "memory")


def _design_row(design: dict[str, Any], pages: int) -> tuple[str, ...]:
    shortest, longest = min(design["prefix_bits"]), max(design["prefix_bits"])
    return (
        "*" if design["default"] else "",
        design["name"],
        f"{design['tables']:,}",
        f"{shortest}" if shortest == longest else f"{shortest}-{longest}",
        f"{design['probes']:,}",
        _short(design["expected_retrieved"]),
        f"{design['bytes_per_page']:.0f}",
        _short(design["bytes_per_page"] * pages) + "B",
    )


_STORE_HEAD = ("store", "design", "bytes/page", "memory", "in file", "file", "")


def _store_row(store: dict[str, Any], pages: int) -> tuple[str, ...]:
    memory, disk = store["memory_bytes_per_page"], store["disk_bytes_per_page"]
    return (
        store["store"],
        store["design"],
        f"{memory:.0f}" if memory else "-",
        _short(memory * pages) + "B" if memory else "-",
        f"{disk:.0f}" if disk else "-",
        _short(disk * pages) + "B" if disk else "-",
        "estimate" if store["estimate"] else "",
    )


def _short(number: float) -> str:
    """Return `number` with three digits and a unit of thousands: 61.0, 8.32 G."""
    units = iter(("", "k", "M", "G", "T", "P"))
    unit = next(units)
    while number >= 999.5:
        number, unit = number / 1000, next(units)
    return f"{number:.3g} {unit}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return aligned columns: text to the left, numbers to the right."""
    columns = zip(head, *rows, strict=True)
    aligned = []
    for column in columns:
        width = max(map(len, column))
        right = column[1][:1].isdigit() or column[1] == "-"
        aligned.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*aligned, strict=True)) + "\n"
