"""``scrapy-neardup stats``: what a store in Redis holds."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any

import click

from scrapy_neardup.cli.common import Unusable


@click.command()
@click.option(
    "--store", "uri", metavar="URI", required=True, help="redis://HOST, redis+cluster://HOST ..."
)
@click.option("--namespace", metavar="NAME", help="NEARDUP_NAMESPACE; without it, list them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def stats(*, uri: str, namespace: str | None, as_json: bool) -> None:
    """Show what a store in Redis holds: pages, memory, what was dropped, its busiest buckets."""
    result = asyncio.run(_collected(uri, namespace))
    click.echo(json.dumps(result, indent=2) if as_json else _text(result))


async def _collected(uri: str, namespace: str | None) -> dict[str, Any]:
    from scrapy_neardup.stores.redis_admin import redis_admin  # noqa: PLC0415, not for --help

    async with redis_admin(redis_uri(uri)) as admin:
        if namespace is None:
            return {"namespaces": await admin.namespaces()}
        report = await admin.report(namespace)
    if report is None:
        raise Unusable(f"--namespace {namespace!r} isn't there; without it, stats lists them")
    counts = asdict(report.stats)
    memory = counts.pop("memory_bytes")
    return {
        "namespace": namespace,
        **counts,
        "memory_bytes": memory,
        "bytes_per_page": memory / max(report.stats.pages, 1),
        "memory": report.memory,
        "busiest": [asdict(bucket) for bucket in report.busiest],
        "parameters": report.parameters,
    }


def redis_uri(uri: str) -> str:
    """Return `uri` if it leads to a Redis.

    Raises
    ------
    Unusable
        It leads elsewhere.
    """
    if uri.partition(":")[0].lower() in {"memory", "sqlite"}:
        raise Unusable("--store must be that of a Redis; a file of SQLite is shown by sqlite3")
    return uri


def _text(result: dict[str, Any]) -> str:
    if "namespaces" in result:
        return "\n".join(result["namespaces"])
    lines = [
        f"{name.replace('_', ' '):16} {value:,.0f}"
        for name, value in result.items()
        if isinstance(value, int | float)
    ]
    lines += [f"{f'  {kind}':16} {size:,}" for kind, size in result["memory"].items()]
    lines += [
        f"busiest bucket   {bucket['entries']:,} entries in table {bucket['table']}, "
        f"{bucket['prefix']}..."
        for bucket in result["busiest"]
    ]
    lines += [
        f"{name.replace('_', ' '):16} {value}" for name, value in result["parameters"].items()
    ]
    return "\n".join(lines)
