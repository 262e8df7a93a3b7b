"""``scrapy-neardup try``: a dry run on a site."""

from __future__ import annotations

import webbrowser
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, Unusable
from scrapy_neardup.cli.report import write_report
from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.report.reportpage import counted, printable

_LISTED = 10
"""Maximum number of lost pages that are printed."""


@click.command("try")
@click.argument("what", metavar="URL", required=False)
@click.option(
    "--project",
    is_flag=True,
    help="Run a spider of the Scrapy project in this folder. If there are several, give its name"
    " instead of URL. Its items are discarded.",
)
@flags.number_option(
    "--pages", default=300, help="Number of responses after which the crawl ends."
)
@click.option(
    "--delay",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=0.1,
    help="Minimum time between two requests; a slow site gets fewer. A project has its own.",
)
@flags.settings_option
@click.option(
    "-a",
    "arguments",
    metavar="NAME=VALUE",
    multiple=True,
    callback=flags.name_value_pairs,
    help="With --project: an argument of the spider. May be repeated.",
)
@flags.file_option("File of the report, which appears when it is complete.", default="trial.html")
@click.option("--open", "opens", is_flag=True, help="Open the report in the web browser.")
@click.option(
    "--audit",
    metavar="FILE",
    help="Keep the audit in this file, for the commands report and tune.",
)
@flags.progress_option
@flags.pass_given
def try_(given: flags.Given) -> None:
    """Crawl some pages of a site, drop none, and report which ones the filter would drop.

    The crawl stays on the host and port that URL leads to, obeys robots.txt, names itself in its
    user agent, and waits between requests. It prints a summary, and writes a report that also
    lists the addresses linked only from pages that would be dropped.

    \b
    Examples:
      scrapy-neardup try https://www.example.com/
      scrapy-neardup try --project news --pages 1000 -s NEARDUP_TITLES=strict
    """  # noqa: D301  (click's mark for lines to keep)
    from scrapy_neardup.crawl.verbs.trial import Terms, try_project, try_site  # noqa: PLC0415  (Scrapy)

    if not (given.what or given.project):
        raise click.UsageError("Missing argument 'URL', or the option --project.")
    _check_writable(given.path, given.audit or "")
    report = Path(given.path)
    with TemporaryDirectory(prefix="scrapy-neardup-") as folder:
        log = str(Path(given.audit or Path(folder, "audit.jsonl")).absolute())
        if given.project:
            crawl = partial(try_project, given.what, given.arguments)
        else:
            crawl = partial(try_site, given.what or "", delay=given.delay)
        line, most = Progress(given.progress), given.pages
        terms = Terms(
            pages=most,
            audit=log,
            settings=given.settings,
            progress=lambda number: line.update(number, "pages", min(number / most, 1.0)),
        )
        try:
            trial = crawl(terms)
        except NeardupError as error:
            Path(log).unlink(missing_ok=True)  # the next trial would be refused because of it
            if isinstance(error, ConfigurationError):
                raise Unusable(str(error)) from error  # names settings as they are given
            raise
        line.done(trial.pages, "pages")
        lost = trial.lost_pages + trial.lost_addresses
        made = write_report(
            [log],
            given.path,
            name=given.what or "the project",
            progress=False,
            only_from_drops=lost,
        )
    click.echo(f"{trial.requests:,} requests in {trial.seconds:,.0f} s.")
    click.echo("\n".join(made.digest()))
    if lost:
        new = trial.lost_pages
        found = f"these {len(new):,} are new pages:" if new else "none is a new page."
        click.echo(
            f"Only duplicates link to {counted(len(lost), 'address')}. Of those that were fetched,"
            f" {'this one is a new page:' if len(new) == 1 else found}"
        )
        for address in new[:_LISTED]:
            click.echo(f"  {printable(address)}")
    click.echo(f"The report: {report.absolute().as_uri()}")
    if given.opens:
        webbrowser.open(report.absolute().as_uri())


def _check_writable(report: str, audit: str) -> None:
    """Raise an error before the crawl, not after it, if its results can't be written."""
    for option, path in ("--output", report), ("--audit", audit):
        if not Path(path).parent.is_dir():
            raise ConfigurationError(f"{option}: {path} can't be written: there is no such folder")
    if audit and Path(audit).exists():
        raise ConfigurationError(f"--audit: {audit} exists; name a new file for the trial's audit")
