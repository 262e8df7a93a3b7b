"""``scrapy-neardup changes``: the pages that are new, gone or changed between two crawls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import chain

import click

from scrapy_neardup.cli.common import Unusable, escaped, output
from scrapy_neardup.cli.flags import Given, output_option, pass_given, setting_option
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import objects
from scrapy_neardup.report.auditlines import unpacked
from scrapy_neardup.report.crawldiff import CHANGES, CrawlDiff, PageText, page_lines, place
from scrapy_neardup.stores.admin import Admin, StoredPage, is_store, viewed
from scrapy_neardup.stores.keys import FIELDS, OWN


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@setting_option("namespace", help="For stores: the namespace, unless there is only one.")
@output_option
@pass_given
def changes(given: Given) -> None:
    """Compare two crawls page by page: which pages and lines are new, gone or changed.

    OLD and NEW are audit files (NEARDUP_AUDIT), outputs of scan, either of them perhaps compressed
    with gzip, or two SQLite stores made with the same NEARDUP_HASH_KEY. A JSON line is printed for
    each page that isn't unchanged, and a summary on standard error. Where both audits hold texts
    (NEARDUP_AUDIT_TEXT) lines are compared, without those that a crawl found to change with each
    response, else fingerprints; a store doesn't hold pages that repeated another one, so these may
    be reported as new or gone.

    \b
    Example:
      scrapy-neardup changes january.jsonl february.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    if is_store(given.old) != is_store(given.new):
        raise click.UsageError("Compare a store with a store: audits have other fingerprints.")
    if is_store(given.old):
        before, after = asyncio.run(_stored(given.old, given.new, given.namespace))
        comparison = CrawlDiff(before)
        found = comparison.changes(after, before)
    else:
        changing = _changing(given.old, given.new)
        comparison = CrawlDiff(_pages(given.old, changing))
        found = comparison.changes(_pages(given.new, changing), _pages(given.old, changing))
    with output(given.path) as results:
        for change in found:
            results.write(json.dumps(change, ensure_ascii=False) + "\n")
    counts = (f"{comparison.counts[kind]:,} {kind}" for kind in CHANGES)
    click.echo(f"Pages: {', '.join(counts)}", err=True)
    if comparison.by_fingerprint:
        click.echo(
            f"Of {comparison.by_fingerprint:,} of them only fingerprints could be compared: an"
            " estimate, which doesn't show small changes; NEARDUP_AUDIT_TEXT = True puts texts"
            " into an audit",
            err=True,
        )


async def _read(admin: Admin, namespace: str) -> tuple[dict[str, str], list[StoredPage] | None]:
    report = await admin.report(namespace)
    return ({} if report is None else report.parameters), await admin.pages(namespace)


async def _stored(old: str, new: str, namespace: str | None) -> list[list[PageText]]:
    """Return the pages of two stores, which must have the same parameters."""
    made, pages = [], []
    for uri in (old, new):
        parameters, stored = await viewed(uri, namespace, _read)
        if stored is None:
            raise Unusable(f"{escaped(uri)}: such a store can't list its pages; compare audits")
        made.append(parameters)
        pages.append([
            PageText(page.url or f"{page.page_id:016x}", f"{page.fingerprint:016x}", None)
            for page in stored
        ])  # fmt: skip
    if made[0] != made[1] or made[0].get(FIELDS[0]) == OWN:
        raise Unusable(
            f"{escaped(old)} and {escaped(new)} can't be compared, as their pages were hashed with"
            " other keys or settings: crawl with the same settings and NEARDUP_HASH_KEY, or"
            " compare audits"
        )
    return pages


_WHAT = "a line of an audit (NEARDUP_AUDIT) or of scan"

Changing = dict[str, set[str]]
"""Place -> the DOM paths whose text is another one in each response."""


def _changing(*audits: str) -> Changing:
    """Return what two crawls have found to change by itself."""
    found: Changing = {}
    for _, entry in chain.from_iterable(objects(path, _WHAT) for path in audits):
        if entry.get("event") == "refetched":
            paths = {f"{path:04x}" for path in entry.get("changing", ()) if isinstance(path, int)}
            found.setdefault(str(entry.get("place")), set()).update(paths)
    return found


def _pages(path: str, changing: Changing) -> Iterator[PageText]:
    for where, entry in objects(path, _WHAT):
        if "event" in entry:
            continue
        if "page" not in entry:
            raise InputError(f"{where}: not {_WHAT}")
        url, text, known = str(entry["page"]), entry.get("text"), None
        if isinstance(text, str):
            paths = unpacked(str(entry.get("paths", "")))
            known = page_lines(unpacked(text), paths, changing.get(place(url), ()))
        yield PageText(url, entry.get("fingerprint"), known)
