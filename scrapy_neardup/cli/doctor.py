"""``scrapy-neardup doctor``: what is installed, and how a project is set up."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from scrapy_neardup import __version__
from scrapy_neardup._speed import REFUSED
from scrapy_neardup._speed.kernels import tried
from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Unusable, escaped
from scrapy_neardup.errors import INSTALL, ConfigurationError

_NEEDED = "scrapy", "twisted", "lxml", "numpy", "chardet"
_EXTRAS = {"redis": "redis", "warc": "warcio", "parquet": "pyarrow", "language": "py3langid"}
"""Extra -> one of its distributions."""


@click.command()
@click.argument("spider", metavar="[SPIDER]", required=False)
@click.option("--project", is_flag=True, help="Check the Scrapy project in this folder, too.")
@flags.settings_option
@flags.pass_given
def doctor(given: flags.Given) -> None:
    """Check what is installed, how a project is set up, and what is wrong with it.

    With --project it shows where the add-on is set, the value of each NEARDUP_* setting and where
    it was set, the reactor, whether the store can be reached, and what the store holds. With
    SPIDER its custom_settings count, too. Nothing is fetched or changed.

    Each compiled function is tried on its example. If something is wrong, the remedies are printed
    last, and the exit status is 1.

    \b
    Examples:
      scrapy-neardup doctor
      scrapy-neardup doctor --project news -s JOBDIR=crawls/news
    """  # noqa: D301  (click's mark for lines to keep)
    findings: list[tuple[str, str]] = []
    _print_section("Installed", _installed(findings))
    if given.project or given.spider:
        findings += _checked(given.spider, given.settings)
    elif Path("scrapy.cfg").exists():
        click.echo("\nThere is a Scrapy project here: --project checks its settings, too.")
    if findings:
        click.echo("\nTo be done")
    elif given.project or given.spider:
        click.echo("\nNothing needs to be mended.")
    for number, (problem, remedy) in enumerate(findings, 1):
        click.echo(f"  {number}. {escaped(problem)}\n     -> {escaped(remedy)}")
    if findings:
        sys.exit(1)


def _checked(spider: str | None, settings: dict[str, str]) -> list[tuple[str, str]]:
    """Print how the project here is set up; return what is wrong, and what to do."""
    from scrapy_neardup.crawl.verbs.checkup import check_project  # noqa: PLC0415  (it imports Scrapy)

    try:
        found = asyncio.run(check_project(spider, settings))
    except ConfigurationError as error:
        raise Unusable(str(error)) from error
    _print_section(f"Project ({found.project})", found.facts.items())
    values = [(name, f"{value}   ({source})") for name, (value, source) in found.settings.items()]
    _print_section("Settings: all have their defaults" + ", except" * bool(values), values)
    return found.findings


def _print_section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    click.echo(f"\n{title}")
    entries = list(rows)
    width = max((len(name) for name, _ in entries), default=0)
    for name, value in entries:
        click.echo(f"  {escaped(name):{width}}  {escaped(value)}")


def _installed(findings: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    again = f"install it again, for this Python and these libraries: {INSTALL.format('')}"
    try:
        slow = tried()
    except Exception as error:  # noqa: BLE001  (of whatever class)
        findings.append((f"no crawl will start, because importing raises {error!r}", again))
        slow = ["it can't be imported"]
    findings += [
        (f"pure Python does the work of the compiled {name}: {why}", again)
        for name, why in REFUSED.items()
    ]
    speed = f"{'; '.join(slow)}: the same verdicts, more slowly" if slow else "compiled"
    yield "scrapy-neardup", f"{__version__}, {speed}"
    yield platform.python_implementation(), platform.python_version()
    yield from ((name, _version(name) or "not installed") for name in _NEEDED)
    for extra, name in _EXTRAS.items():
        missing = f"not installed: {INSTALL.format(f'[{extra}]')}"
        yield f"{name} ({extra})", _version(name) or missing


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
