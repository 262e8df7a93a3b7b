"""``scrapy-neardup clear``: remove one namespace of a store."""

from __future__ import annotations

import asyncio

import click

from scrapy_neardup.cli.common import Unusable
from scrapy_neardup.cli.flags import setting_option
from scrapy_neardup.stores.admin import store_admin


@click.command()
@setting_option("store", "uri", required=True)
@setting_option("namespace", required=True)
@click.option("--yes", is_flag=True, help="Don't ask.")
def clear(*, uri: str, namespace: str, yes: bool) -> None:
    """Remove all pages of one namespace of a store.

    No crawl may be using it; an SQLite file that is in use is refused. Other namespaces stay, and
    so do a Redis server's other keys. A file keeps its size; new pages reuse the space.
    """
    pages = asyncio.run(_pages(uri, namespace))
    if pages is None:
        raise Unusable(f"--namespace {namespace!r} isn't there; stats lists them")
    if not yes:
        click.confirm(f"Remove the {pages:,} pages of {namespace!r}?", abort=True, err=True)
    asyncio.run(_clear(uri, namespace))
    click.echo(f"{pages:,} pages of {namespace!r} removed")


async def _pages(uri: str, namespace: str) -> int | None:
    async with store_admin(uri) as admin:
        report = await admin.report(namespace)
        return None if report is None else report.stats.pages


async def _clear(uri: str, namespace: str) -> None:
    async with store_admin(uri) as admin:
        await admin.clear(namespace)
