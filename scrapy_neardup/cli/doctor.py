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
from scrapy_neardup._speed import IS_PURE, NAMES, load
from scrapy_neardup.cli.common import Unusable, escaped
from scrapy_neardup.cli.flags import settings_option
from scrapy_neardup.errors import ConfigurationError

_NEEDED = "scrapy", "twisted", "lxml", "numpy"
_EXTRAS = {
    "redis": "redis",
    "warc": "warcio",
    "offline": "duckdb",
    "parquet": "pyarrow",
    "language": "py3langid",
}
"""Extra -> one of its distributions."""


@click.command()
@click.argument("spider", metavar="[SPIDER]", required=False)
@click.option("--project", is_flag=True, help="Check the Scrapy project in this folder, too.")
@settings_option
def doctor(*, spider: str | None, project: bool, settings: dict[str, str]) -> None:
    """Check what is installed, how a project is set up, and what is wrong with it.

    With --project: where the add-on stands, each NEARDUP_* setting as it is understood and where
    it was set, the reactor, whether the store can be reached and what it holds. With SPIDER its
    custom_settings count, too. Nothing is fetched, and nothing is changed.

    Exit status: 1 if there is something to be done, which is printed last.

    \b
    Examples:
      scrapy-neardup doctor
      scrapy-neardup doctor --project news -s JOBDIR=crawls/news
    """  # noqa: D301  (click's mark for lines to keep)
    _print_section("Installed", _installed())
    if not (project or spider):
        if Path("scrapy.cfg").exists():
            click.echo("\nThere is a Scrapy project here: --project checks its settings, too.")
        return
    from scrapy_neardup.crawl.verbs.checkup import check_project  # noqa: PLC0415  (it imports Scrapy)

    try:
        found = asyncio.run(check_project(spider, settings))
    except ConfigurationError as error:
        raise Unusable(str(error)) from error
    _print_section(f"Project ({found.project})", found.facts.items())
    values = [(name, f"{value}   ({source})") for name, (value, source) in found.settings.items()]
    _print_section("Settings; all others have their defaults", values)
    click.echo("\nTo be done" if found.findings else "\nNothing is to be done.")
    for number, finding in enumerate(found.findings, 1):
        click.echo(f"  {number}. {escaped(finding.problem)}\n     -> {escaped(finding.remedy)}")
    if found.findings:
        sys.exit(1)


def _print_section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    click.echo(f"\n{title}")
    entries = list(rows)
    width = max((len(name) for name, _ in entries), default=0)
    for name, value in entries:
        click.echo(f"  {escaped(name):{width}}  {escaped(value)}")


def _installed() -> Iterator[tuple[str, str]]:
    built = [name for name in NAMES if load(name) is not None]
    if len(built) == len(NAMES):
        speed = "compiled"
    elif built:
        speed = f"{len(built)} of {len(NAMES)} modules compiled: install again with a C compiler"
    else:
        why = "NEARDUP_PURE=1" if IS_PURE else "no C compiler when it was installed"
        speed = f"pure Python ({why}): the same verdicts, more slowly"
    yield "scrapy-neardup", f"{__version__}, {speed}"
    yield platform.python_implementation(), platform.python_version()
    yield from ((name, _version(name) or "not installed") for name in _NEEDED)
    for extra, name in _EXTRAS.items():
        missing = f'not installed: pip install "scrapy-neardup[{extra}]"'
        yield f"{name} ({extra})", _version(name) or missing


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
