"""``scrapy-neardup plan``: tables for a number of pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import log2
from typing import Any

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.tables import TableDesign, cuts


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
@flags.json_option
@flags.pass_given
def plan(given: flags.Given) -> None:
    """Show the table designs for a number of pages and a distance.

    A design says which bits of a 64-bit fingerprint lead in each of its tables, so that
    every fingerprint within K bits of a query shares the leading bits in at least one table
    (Manku, Jain and Das Sarma 2007, section 3). More tables take more memory and retrieve
    fewer fingerprints a query; every design finds the same pages.

    \b
    Example:
      scrapy-neardup plan --pages 50M
    """  # noqa: D301  (click's mark for lines to keep)
    designs = list(_designs(given.pages, given.max_distance))
    if given.as_json:
        result = {"pages": given.pages, "max_distance": given.max_distance, "designs": designs}
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"Designs for {given.pages:,} pages and a distance of {given.max_distance}:\n")
    click.echo(_table([_HEAD, *map(_row, designs)]))
    click.echo("* used in memory; p: leading bits; look-ups and retrieved: for one query")


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
            "default": design.name == online.name,
        }


_HEAD = ("", "design", "tables", "p", "look-ups", "retrieved")


def _row(design: dict[str, Any]) -> tuple[str, ...]:
    shortest, longest = min(design["prefix_bits"]), max(design["prefix_bits"])
    return (
        "*" if design["default"] else "",
        design["name"],
        f"{design['tables']:,}",
        f"{shortest}" if shortest == longest else f"{shortest}-{longest}",
        f"{design['probes']:,}",
        _short(design["expected_retrieved"]),
    )


def _short(number: float) -> str:
    """Return `number` with three digits and a unit of thousands: 61.0, 8.32 G."""
    units = iter(("", "k", "M", "G", "T", "P"))
    unit = next(units)
    while number >= 999.5:
        number, unit = number / 1000, next(units)
    return f"{number:.3g} {unit}"


def _table(rows: list[tuple[str, ...]]) -> str:
    """Return aligned columns: text to the left, numbers to the right."""
    aligned = []
    for column in zip(*rows, strict=True):
        width = max(map(len, column))
        right = column[1][:1].isdigit()
        aligned.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*aligned, strict=True)) + "\n"
