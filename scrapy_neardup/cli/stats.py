"""``scrapy-neardup stats``: the content of a store."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any

import click

from scrapy_neardup.cli.common import Unusable, escaped
from scrapy_neardup.cli.flags import json_option, setting_option
from scrapy_neardup.stores.admin import store_admin


@click.command()
@setting_option("store", "uri", required=True)
@setting_option("namespace", help="Namespace to count; without it, list them.")
@json_option
def stats(*, uri: str, namespace: str | None, as_json: bool) -> None:
    """Show the content of a store: pages, drops, parameters.

    For a Redis store also its memory and its busiest buckets; crawls may be using it. An SQLite
    file is locked while a crawl has it open.
    """
    result = asyncio.run(_collected(uri, namespace))
    click.echo(json.dumps(result, indent=2) if as_json else _text(result))


async def _collected(uri: str, namespace: str | None) -> dict[str, Any]:
    async with store_admin(uri) as admin:
        if namespace is None:
            return {"namespaces": await admin.namespaces()}
        report = await admin.report(namespace)
    if report is None:
        raise Unusable(f"--namespace {namespace!r} isn't there; without it, stats lists them")
    counts = asdict(report.stats)
    memory = counts.pop("memory_bytes")
    result = {"namespace": namespace, **counts}
    if memory is not None:
        result |= {
            "memory_bytes": memory,
            "bytes_per_page": memory / max(report.stats.pages, 1),
            "memory": report.memory,
            "busiest": [asdict(bucket) for bucket in report.busiest],
        }
    if report.file_bytes is not None:
        result["file_bytes"] = report.file_bytes
    return result | {"parameters": report.parameters}


def _text(result: dict[str, Any]) -> str:
    if "namespaces" in result:
        return "\n".join(map(escaped, result["namespaces"]))
    lines = [
        f"{name.replace('_', ' '):16} {value:,.0f}"
        for name, value in result.items()
        if isinstance(value, int | float)
    ]
    lines += [f"{f'  {kind}':16} {size:,}" for kind, size in result.get("memory", {}).items()]
    lines += [
        f"busiest bucket   {bucket['entries']:,} entries in table {bucket['table']}, "
        f"{bucket['prefix']}..."
        for bucket in result.get("busiest", [])
    ]
    lines += [
        f"{escaped(name.replace('_', ' ')):16} {escaped(value)}"
        for name, value in result["parameters"].items()
    ]
    return "\n".join(lines)
