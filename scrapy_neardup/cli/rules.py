"""``scrapy-neardup rules``: rules of addresses, from audits, from a store or from a trial."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import escaped, output
from scrapy_neardup.cli.report import audit_entries
from scrapy_neardup.cli.try_ import tried
from scrapy_neardup.dust.formats import deny_patterns, dud_rules
from scrapy_neardup.dust.hindsight import Finding, Findings, findings, learnt
from scrapy_neardup.reports.auditlines import judged_pages
from scrapy_neardup.reports.reportpage import saved_by_rules
from scrapy_neardup.stores.admin import is_store, viewed


@click.command()
@click.argument("sources", metavar="AUDIT...|STORE|URL", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "dud", "deny"]),
    default="text",
    help="text: for people; json: all details; dud: rules for duplicate-url-discarder; deny:"
    " regular expressions, for NEARDUP_DENY or a link extractor.",
)
@flags.number_option(
    "--pages", default=1000, help="With URL: responses after which the trial ends."
)
@flags.setting_option("namespace", help="With STORE: the namespace, unless it is the only one.")
@flags.skip_torn_option
@flags.output_option
@flags.progress_option
def rules(
    *,
    sources: tuple[str, ...],
    form: str,
    pages: int,
    namespace: str | None,
    skip_torn: bool,
    path: str,
    progress: bool | None,
) -> None:
    """Show the rules that a site's addresses follow: ?sid= has no effect.

    AUDIT is a file that NEARDUP_AUDIT names; with URL some pages of a site are crawled, as
    try does; for a STORE such as sqlite:neardup.db, the rules that its crawlers have learnt are
    shown, but not how many requests they would have saved. Otherwise, each rule is checked against
    all pages: how many confirm it, how many contradict it, and how many requests it would have
    saved. Only rules that hold are written in the formats dud and deny.

    \b
    Examples:
      scrapy-neardup rules audit.jsonl
      scrapy-neardup rules redis://localhost:6379/0 --namespace shop
      scrapy-neardup rules https://www.example.com/ --format dud --output rules.json
    """  # noqa: D301  (click's mark for lines to keep)
    first, *others = sorted(sources, key=lambda source: not (_is_url(source) or is_store(source)))
    if others and (_is_url(first) or is_store(first)):
        raise click.UsageError("Give a URL or a store alone: only audits can be combined.")
    if _is_url(first):
        found = _tried(first, pages, progress)
    elif is_store(first):
        found = learnt(
            asyncio.run(viewed(first, namespace, lambda admin, name: admin.notices(name)))
        )
    else:
        found = findings(judged_pages(audit_entries(sources, skip_torn=skip_torn)))
    with output(path) as results:
        results.write(_FORMS[form](found))


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _tried(url: str, pages: int, progress: bool | None) -> Findings:
    """Return the rules of a site, after a crawl of some of its pages."""
    from scrapy_neardup.crawl.verbs.trial import try_site  # noqa: PLC0415  (it imports Scrapy)

    with TemporaryDirectory(prefix="scrapy-neardup-") as folder:
        audit = str(Path(folder, "audit.jsonl"))
        tried(partial(try_site, url, delay=0.1), audit, pages, {}, progress)
        return findings(judged_pages(audit_entries([audit])))


def _text(found: Findings) -> str:
    lines = [saved_by_rules(found)]
    host = None
    hosts = list(dict.fromkeys(finding.host for finding in found.rules))
    for finding in sorted(found.rules, key=lambda finding: hosts.index(finding.host)):
        if finding.host != host:
            host = finding.host
            lines += ["", escaped(host)]
        confirmed = f"{finding.support:,} confirm it"
        against = f", {finding.contradictions:,} contradict it" if finding.contradictions else ""
        few = "" if finding.holds or against else f", {finding.rule.needed} are needed"
        saved = f"{finding.saved:,}" if found.pages else ""
        lines.append(f"{saved:>9}  {escaped(str(finding.rule))} ({confirmed}{against}{few})")
        if (pair := finding.counter or finding.example) is not None:
            says = "is another page than" if finding.counter else "shows"
            lines.append(f"{'':11}{escaped(pair[0])} {says} {escaped(pair[1])}")
    return "\n".join(lines) + "\n"


def _json(found: Findings) -> str:
    def row(finding: Finding) -> dict[str, Any]:
        rule = {name: getattr(finding.rule, name) for name in ("kind", "what", "by", "place")}
        names = ("holds", "support", "contradictions", "example", "counter", "saved")
        shown = {name: getattr(finding, name) for name in names}
        return {"host": finding.host, "rule": str(finding.rule), **rule, **shown}

    return _dumped(
        {"pages": found.pages, "saved": found.saved, "rules": list(map(row, found.rules))}
    )


def _dud(found: Findings) -> str:
    written, left = dud_rules(found.holding)
    _tell_left("duplicate-url-discarder", left)
    return _dumped(written)


def _deny(found: Findings) -> str:
    patterns, left = deny_patterns(found.holding)
    _tell_left("regular expressions", left)
    return _dumped(patterns)


def _tell_left(what: str, left: Sequence[Finding]) -> None:
    for finding in left:
        rule = escaped(f"{finding.host}: {finding.rule}")
        click.echo(f"Left out, as {what} can't express it: {rule}", err=True)


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


_FORMS = {"text": _text, "json": _json, "dud": _dud, "deny": _deny}
