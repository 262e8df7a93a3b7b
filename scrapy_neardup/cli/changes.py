"""``scrapy-neardup changes``: the pages that are new, gone or changed between two crawls."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from scrapy_neardup.cli.common import output
from scrapy_neardup.cli.flags import output_option
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.lines import lines
from scrapy_neardup.reports.auditlines import unpacked
from scrapy_neardup.reports.crawldiff import CHANGES, Comparison, PageText, page_lines


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@output_option
def changes(*, old: str, new: str, path: str) -> None:
    """Compare two crawls page by page: what is new, gone or changed, and which lines.

    OLD and NEW are files that NEARDUP_AUDIT names, or outputs of scan, perhaps compressed
    with gzip. A JSON line is printed for each page that isn't unchanged, and a summary on
    standard error. Lines are compared where both audits hold texts (NEARDUP_AUDIT_TEXT),
    else fingerprints.

    \b
    Example:
      scrapy-neardup changes january.jsonl february.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    comparison = Comparison(_pages(old))
    with output(path) as results:
        for change in comparison.changes(_pages(new), _pages(old)):
            results.write(json.dumps(change.line(), ensure_ascii=False) + "\n")
    counts = (f"{comparison.counts[kind]:,} {kind}" for kind in CHANGES)
    click.echo(f"Pages: {', '.join(counts)}", err=True)
    if comparison.by_fingerprint:
        click.echo(
            f"Of {comparison.by_fingerprint:,} of them only fingerprints could be compared, which"
            " don't show small changes; NEARDUP_AUDIT_TEXT = True puts texts into an audit",
            err=True,
        )


def _pages(path: str) -> Iterator[PageText]:
    """Yield the pages of a file."""
    for number, line in lines(path):
        try:
            entry = json.loads(line)
            if "event" in entry:
                continue
            page, fingerprint = str(entry["page"]), entry.get("fingerprint")
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                f"{path}, line {number}: neither of an audit (NEARDUP_AUDIT) nor of scan"
            ) from None
        known = None
        if isinstance(text := entry.get("text"), str):
            known = page_lines(unpacked(text))
        yield PageText(page, fingerprint, known)
