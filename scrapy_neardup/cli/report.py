"""``scrapy-neardup report``, ``rules`` and ``changes``: what the audits of crawls say."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import click

from scrapy_neardup.claims import usedclaims
from scrapy_neardup.claims.claim import bound
from scrapy_neardup.claims.usedclaims import UsedClaim
from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, escaped, output
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.compression import decompressed
from scrapy_neardup.offline.readers.files import opened, reading
from scrapy_neardup.offline.readers.textual import objects
from scrapy_neardup.report.crawldiff import CHANGES, UNCHANGED, PageText, page_lines, place
from scrapy_neardup.report.crawldiff import changes as crawl_changes
from scrapy_neardup.report.overview import report_page
from scrapy_neardup.report.reportpage import Report, said_of_claims, text_of
from scrapy_neardup.report.summary import Entry, Summary, entries, unpacked
from scrapy_neardup.stores.admin import is_store, viewed
from scrapy_neardup.verdict import Decision


@click.command()
@click.argument("audits", metavar="AUDIT...", nargs=-1, required=True)
@click.option(
    "--output",
    "path",
    metavar="FILE",
    default="report.html",
    help="Output file, which appears when it is complete; - is standard output.",
)
@flags.progress_option
@flags.pass_given
def report(given: flags.Given) -> None:
    """Make one web page of the audits of crawls: what was dropped, and why.

    AUDIT is a file of NEARDUP_AUDIT, plain or compressed with gzip; several are
    counted together. The page needs no network and no other file. With NEARDUP_AUDIT_TEXT
    it shows how two pages differ, word by word.

    The page counts all drops. It shows at most 100,000 of them, and says so if there are more:
    those worth a look, and the first of each group.

    \b
    Examples:
      scrapy crawl news -s NEARDUP_ACTION=flag -s NEARDUP_AUDIT=audit.jsonl
      scrapy-neardup report audit.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    written = write_report(given.audits, given.path, progress=given.progress)
    click.echo(written.headline(), err=True)
    if given.path != "-":
        click.echo(f"The report is in {given.path}", err=True)


def write_report(
    audits: Sequence[str],
    path: str,
    *,
    progress: bool | None = None,
    name: str | None = None,
    only_from_drops: Sequence[str] | None = None,
) -> Report:
    """Write the report on `audits` to `path` when it is complete, and return it.

    Audits are read twice: for the counts, and for the texts of the pairs that are shown. The
    page calls each audit by its path, or all of them `name`.
    """
    summary = Summary()
    with output(path) as results:
        line = Progress(progress, path)
        number = -1
        for number, entry in enumerate(audit_entries(audits)):
            summary.add(entry, number)
            line.update(number + 1, "lines")
        made = Report(summary, [name] if name else audits, only_from_drops=only_from_drops)
        wanted = set(made.lines)
        again = enumerate(islice(audit_entries(audits), max(wanted, default=-1) + 1))
        texts = {place: text_of(entry) for place, entry in again if place in wanted}
        results.writelines(report_page(made, texts))
        line.done(number + 1, "lines")
    return made


def audit_entries(audits: Sequence[str]) -> Iterator[Entry]:
    """Yield the entries of audits; see `entries`."""
    for audit in audits:
        with reading(audit), opened(audit) as file:
            yield from entries(decompressed(file), audit)


@click.command()
@click.argument("sources", metavar="AUDIT...|STORE", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dud", "deny"]),
    default="text",
    help="text: for people; dud: rules for duplicate-url-discarder; deny: regular expressions, for"
    " NEARDUP_DENY or a link extractor.",
)
@flags.setting_option("namespace", help="With STORE: the namespace, unless there is only one.")
@flags.output_option
@flags.pass_given
def rules(given: flags.Given) -> None:
    """Show a crawl's claims about addresses, such as '?sid= has no effect'.

    AUDIT is a file of NEARDUP_AUDIT, or of try --audit. A STORE such as sqlite:neardup.db has the
    claims that its crawlers have learnt.

    Each claim has the number of requests that it covers, that weren't made, and that have tested
    it. The format deny leaves out a claim if the crawl met a page only under an address that the
    claim covers, because such pages may have links that no other page has.

    \b
    Examples:
      scrapy-neardup rules audit.jsonl
      scrapy-neardup rules redis://localhost:6379/0 --namespace shop
      scrapy-neardup rules audit.jsonl --format dud --output rules.json
    """  # noqa: D301  (click's mark for lines to keep)
    stores = [source for source in given.sources if is_store(source)]
    if stores and len(given.sources) > 1:
        raise click.UsageError("Give a store alone: only audits can be combined.")
    pages_met: Met = []
    if stores:
        read = viewed(stores[0], given.namespace, lambda admin, name: admin.notices(name))
        found = usedclaims.of_notices(asyncio.run(read))
    else:
        found, pages_met = _read(audit_entries(given.sources))
    with output(given.path) as results:
        if given.form == "text":
            results.write(_text(found))
        elif given.form == "dud":
            written, left = usedclaims.dud_rules(found, pages_met)
            _tell_left("duplicate-url-discarder can't express it", left)
            results.write(json.dumps(written, indent=2, ensure_ascii=False) + "\n")
        else:
            patterns, left, needed = usedclaims.deny_patterns(found, pages_met)
            _tell_left("regular expressions can't express it", left)
            _tell_left("pages were met by such addresses alone", needed)
            results.write(json.dumps(patterns, indent=2, ensure_ascii=False) + "\n")


Met = list[tuple[str, bool]]
"""The URLs of the pages that were met, each with whether its page was new."""


def _read(entries: Iterable[Entry]) -> tuple[list[UsedClaim], Met]:
    claims: list[Entry] = []
    pages: Met = []
    for entry in entries:
        if entry.get("event") == "claim":
            claims.append(entry)
        elif "verdict" in entry:
            pages.append((entry["page"], entry["verdict"] == Decision.NEW))
    return usedclaims.of_audit(claims), pages


def _text(found: Sequence[UsedClaim]) -> str:
    lines = [said_of_claims(found)]
    host = None
    for name, key, claim in found:
        if name != host:
            host = name
            lines += ["", escaped(host)]
        tested = f"{claim.checks:,} tested it: at most {bound(claim.checks):.1%} differ"
        lines.append(f"{claim.covered:9,}  {escaped(str(key))} ({tested})")
        if claim.example is not None:
            lines.append(f"{'':11}{escaped(claim.example[0])} shows {escaped(claim.example[1])}")
    return "\n".join(lines) + "\n"


def _tell_left(why: str, left: Sequence[UsedClaim]) -> None:
    for each in left:
        click.echo(f"Left out, as {why}: {escaped(f'{each.host}: {each.key}')}", err=True)


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@flags.output_option
@flags.pass_given
def changes(given: flags.Given) -> None:
    """Compare two crawls page by page: which pages and lines are new, gone or changed.

    OLD and NEW are audit files (NEARDUP_AUDIT) or outputs of scan, perhaps compressed with gzip. A
    JSON line is printed for each page that isn't unchanged, and a summary on standard error. Where
    both audits hold texts (NEARDUP_AUDIT_TEXT) lines are compared, without those that a crawl
    found to change with each response, else fingerprints.

    \b
    Example:
      scrapy-neardup changes january.jsonl february.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    changing = _changing(given.old, given.new)
    counts: Counter[str] = Counter()
    by_fingerprint = 0
    with output(given.path) as results:
        for each in crawl_changes(_pages(given.old, changing), _pages(given.new, changing)):
            counts[each.kind] += 1
            by_fingerprint += each.by_fingerprint
            if each.kind != UNCHANGED:
                row = {"page": each.page, "change": each.kind, **each.lines}
                results.write(json.dumps(row, ensure_ascii=False) + "\n")
    said = ", ".join(f"{counts[kind]:,} {kind}" for kind in CHANGES)
    click.echo(f"Pages: {said}", err=True)
    if by_fingerprint:
        click.echo(
            f"Of {by_fingerprint:,} of them only fingerprints could be compared: an estimate,"
            " which doesn't show small changes; NEARDUP_AUDIT_TEXT = True puts texts into an"
            " audit",
            err=True,
        )


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
