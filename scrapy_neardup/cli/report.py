"""``scrapy-neardup report``: a web page about the pages that a crawl dropped, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.offline.readers.compression import decompressed
from scrapy_neardup.offline.readers.files import check_rereadable, opened, reading
from scrapy_neardup.report.overview import report_page
from scrapy_neardup.report.reportpage import Report, text_of
from scrapy_neardup.report.summary import Entry, Summary, entries


@click.command()
@click.argument("audits", metavar="AUDIT...", nargs=-1, required=True)
@flags.file_option(
    "Output file, which appears when it is complete; - is standard output.", default="report.html"
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
    check_rereadable(*given.audits)
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
        results.buffer.writelines(piece.encode() for piece in report_page(made, texts))
        line.done(number + 1, "lines")
    return made


def audit_entries(audits: Sequence[str]) -> Iterator[Entry]:
    """Yield the entries of audits; see `entries`."""
    for audit in audits:
        with reading(audit), opened(audit) as file:
            yield from entries(decompressed(file), audit)
