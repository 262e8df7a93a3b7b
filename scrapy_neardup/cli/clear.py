"""``scrapy-neardup clear``: forget one namespace of a store in Redis."""

from __future__ import annotations

import asyncio

import click

from scrapy_neardup.cli.common import Unusable
from scrapy_neardup.cli.stats import redis_uri


@click.command()
@click.option(
    "--store", "uri", metavar="URI", required=True, help="redis://HOST, redis+cluster://HOST ..."
)
@click.option("--namespace", metavar="NAME", required=True, help="NEARDUP_NAMESPACE of the crawl.")
@click.option("--yes", is_flag=True, help="Don't ask.")
def clear(*, uri: str, namespace: str, yes: bool) -> None:
    """Forget all pages of one namespace of a store in Redis.

    No crawl may be using it meanwhile. Other namespaces, and other keys, stay.
    """
    pages = asyncio.run(_pages(redis_uri(uri), namespace))
    if pages is None:
        raise Unusable(f"--namespace {namespace!r} isn't there; stats lists them")
    if not yes:
        click.confirm(f"Forget the {pages:,} pages of {namespace!r}?", abort=True, err=True)
    keys = asyncio.run(_clear(uri, namespace))
    click.echo(f"{pages:,} pages of {namespace!r} forgotten ({keys:,} keys)")


async def _pages(uri: str, namespace: str) -> int | None:
    from scrapy_neardup.stores.redis_admin import redis_admin  # noqa: PLC0415, not for --help

    async with redis_admin(uri) as admin:
        report = await admin.report(namespace)
        return None if report is None else report.stats.pages


async def _clear(uri: str, namespace: str) -> int:
    from scrapy_neardup.stores.redis_admin import redis_admin  # noqa: PLC0415, not for --help

    async with redis_admin(uri) as admin:
        return await admin.clear(namespace)
