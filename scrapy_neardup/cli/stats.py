"""``scrapy-neardup stats`` and ``clear``: the content of a store, and one namespace removed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Unusable, escaped
from scrapy_neardup.stores.admin import Admin, NamespaceReport, store_admin

Answer = TypeVar("Answer")


@click.command()
@flags.setting_option("store", "uri", required=True)
@flags.setting_option("namespace", help="Namespace to count; without it, list all namespaces.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@flags.pass_given
def stats(given: flags.Given) -> None:
    """Show the content of a store: pages, drops, parameters.

    For a Redis store it also shows memory, by purpose; crawls may use the store meanwhile. An
    SQLite file is locked while a crawl has it open.
    """
    if given.namespace is None:
        result: dict[str, Any] = {
            "namespaces": _asked(given.uri, lambda admin: admin.namespaces())
        }
    else:
        result = {"namespace": given.namespace, **_figures(_report(given.uri, given.namespace))}
    click.echo(json.dumps(result, indent=2) if given.as_json else _text(result))


def _asked(uri: str, ask: Callable[[Admin], Awaitable[Answer]]) -> Answer:
    async def asked() -> Answer:
        async with store_admin(uri) as admin:
            return await ask(admin)

    return asyncio.run(asked())


def _report(uri: str, namespace: str) -> NamespaceReport:
    report = _asked(uri, lambda admin: admin.report(namespace))
    if report is None:
        raise Unusable(f"--namespace {namespace!r}: no such namespace; alone, stats lists all")
    return report


def _figures(report: NamespaceReport) -> dict[str, Any]:
    counts = asdict(report.stats)
    memory = counts.pop("memory_bytes")
    if memory is not None:
        counts |= {
            "memory_bytes": memory,
            "bytes_per_page": memory / max(report.stats.pages, 1),
            "memory": report.memory,
        }
    if report.file_bytes is not None:
        counts["file_bytes"] = report.file_bytes
    return counts | {"parameters": report.parameters}


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
        f"{escaped(name.replace('_', ' ')):16} {escaped(value)}"
        for name, value in result["parameters"].items()
    ]
    return "\n".join(lines)


@click.command()
@flags.setting_option("store", "uri", required=True)
@flags.setting_option("namespace", required=True)
@click.option("--yes", is_flag=True, help="Don't ask.")
@flags.pass_given
def clear(given: flags.Given) -> None:
    """Remove all pages of one namespace of a store.

    No crawl may use it meanwhile; an SQLite file that is in use is refused. Other namespaces stay,
    and so do other keys of a Redis server. A file keeps its size, and new pages reuse the space.
    """
    pages = _report(given.uri, given.namespace).stats.pages
    if not given.yes:
        click.confirm(f"Remove the {pages:,} pages of {given.namespace!r}?", abort=True, err=True)
    _asked(given.uri, lambda admin: admin.clear(given.namespace))
    click.echo(f"{pages:,} pages of {given.namespace!r} removed")
