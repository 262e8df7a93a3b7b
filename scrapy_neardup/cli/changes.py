"""``scrapy-neardup changes``: the pages that are new, gone or changed between two crawls."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import escaped, output
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import check_rereadable, json_line
from scrapy_neardup.offline.readers.tables import rows_of
from scrapy_neardup.report import crawldiff
from scrapy_neardup.report.crawldiff import UNKNOWN, PageText
from scrapy_neardup.report.summary import unpacked


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@flags.output_option
@flags.pass_given
def changes(given: flags.Given) -> None:
    """Compare two crawls page by page: which pages and lines are new, gone or changed.

    OLD and NEW are audit files (NEARDUP_AUDIT) or outputs of scan, perhaps compressed with gzip. A
    JSON line is printed for each page that is new, gone or changed, and a summary on standard
    error. If both audits have texts (NEARDUP_AUDIT_TEXT), lines are compared, except those that a
    crawl found to change with each response; otherwise fingerprints, which must have one key
    (NEARDUP_HASH_KEY, or one store), and in which a clock is a change.

    A page is gone if NEW doesn't have it: it was deleted, it failed, or no link led to it. Pages
    that a crawl skipped (NEARDUP_URLS) or couldn't judge are only counted. If a file has several
    crawls, the last version of a page in OLD is compared with the first in NEW.

    \b
    Example:
      scrapy-neardup changes january.jsonl february.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    check_rereadable(given.old, given.new)
    changing, schemas, skipped, begun = _known(given.old, given.new)
    other = {crawldiff.NEW: skipped[given.old], crawldiff.GONE: skipped[given.new]}
    counts: Counter[str] = Counter()
    torn: Counter[str] = Counter()
    by_fingerprint = 0
    with output(given.path) as results:
        before, after = (_pages(path, changing, torn) for path in (given.old, given.new))
        for each in crawldiff.changes(before, after):
            kind = UNKNOWN if each.page in other.get(each.kind, ()) else each.kind
            counts[kind] += 1
            by_fingerprint += each.by_fingerprint
            if each.by_fingerprint and len(schemas) > 1:
                raise InputError(
                    f"{escaped(given.old)} and {escaped(given.new)} have fingerprints that can't"
                    " be compared, because their keys or settings differ. Make both with one hash"
                    " key, or audits with texts"
                )
            if kind not in {crawldiff.UNCHANGED, UNKNOWN}:
                row = {"page": each.page, "change": each.kind, **each.lines}
                results.buffer.write(json_line(row))
    for path, number in torn.items():
        click.echo(f"{path}: left out lines that a crash cut short: {number}", err=True)
    for path, number in begun.items():
        if number > 1:
            click.echo(f"{path}: {number:,} crawls, which are taken for one", err=True)
    said = ", ".join(f"{counts[kind]:,} {kind}" for kind in crawldiff.CHANGES)
    click.echo(f"Pages: {said}", err=True)
    if unknown := counts[UNKNOWN]:
        click.echo(f"{unknown:,} more weren't judged by one of the crawls", err=True)
    if by_fingerprint:
        click.echo(
            f"{by_fingerprint:,} of them have no texts, so only fingerprints were compared,"
            " which may miss small changes, and take a clock for one. NEARDUP_AUDIT_TEXT = True"
            " puts texts into an audit",
            err=True,
        )


_WHAT = "a line of an audit (the setting NEARDUP_AUDIT) or of scan"

Changing = dict[str, set[str]]
"""Place -> the DOM paths whose text changes with each response."""


def _known(
    *audits: str,
) -> tuple[Changing, set[str], defaultdict[str, set[str]], Counter[str]]:
    """Return what two files say about their crawls.

    This is what changes by itself, the parameters of fingerprints, and for each file the pages
    that weren't requested because of a claim, and the number of its crawls.
    """
    changing: Changing = {}
    schemas: set[str] = set()
    skipped: defaultdict[str, set[str]] = defaultdict(set)
    begun: Counter[str] = Counter()
    for audit in dict.fromkeys(audits):
        for _, entry in rows_of(audit, _WHAT, torn=Counter()):
            if schema := entry.get("schema"):
                schemas.add(json.dumps(schema, sort_keys=True))
            match entry.get("event"):
                case "begun":
                    begun[audit] += 1
                case "skipped":
                    skipped[audit].add(str(entry.get("page")))
                case "refetched":
                    paths = entry.get("changing", ())
                    found = {f"{path:04x}" for path in paths if isinstance(path, int)}
                    changing.setdefault(str(entry.get("place")), set()).update(found)
    return changing, schemas, skipped, begun


def _pages(path: str, changing: Changing, torn: Counter[str]) -> Iterator[PageText]:
    for where, entry in rows_of(path, _WHAT, torn=torn):
        if "event" in entry:
            continue
        if "page" not in entry:
            raise InputError(f"{where}: not {_WHAT}")
        url, text, known = str(entry["page"]), entry.get("text"), None
        if isinstance(text, str):
            paths = unpacked(str(entry.get("paths", "")))
            known = crawldiff.page_lines(
                unpacked(text), paths, changing.get(crawldiff.place(url), ())
            )
        yield PageText(url, entry.get("fingerprint"), known)
