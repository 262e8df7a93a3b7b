"""``scrapy-neardup rules``: claims about addresses, from audits, a store or a trial."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence

import click

from scrapy_neardup.claims import usedclaims
from scrapy_neardup.claims.claim import bound
from scrapy_neardup.claims.usedclaims import UsedClaim
from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import escaped, output
from scrapy_neardup.cli.report import audit_entries
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.report.reportpage import said_of_claims
from scrapy_neardup.report.summary import Entry
from scrapy_neardup.stores.admin import is_store, store_admin
from scrapy_neardup.verdict import Decision


@click.command()
@click.argument("sources", metavar="AUDIT...|STORE", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dud", "deny"]),
    default="text",
    help="text: for people; dud: rules for duplicate-url-discarder; deny: regular expressions, for"
    " a link extractor (pages that NEARDUP_DENY names are always delivered).",
)
@flags.setting_option("namespace", help="With STORE: the namespace, unless there is only one.")
@flags.output_option
@flags.pass_given
def rules(given: flags.Given) -> None:
    """Show a crawl's claims about addresses, such as '?sid= has no effect'.

    AUDIT is a file of NEARDUP_AUDIT, or of try --audit. A STORE such as sqlite:neardup.db has the
    claims that its crawlers have learnt.

    Each claim has the numbers of requests that it covers, that weren't made, and that have tested
    it. The formats dud and deny leave out a claim if their rule would also apply to new pages that
    the claim isn't about, and deny if the crawl found a page only under an address that the claim
    covers, because such pages may have links that no other page has. Other new pages that the
    rules leave out are counted: exceptions, or copies from before the crawl knew the site.

    \b
    Examples:
      scrapy-neardup rules audit.jsonl
      scrapy-neardup rules redis://localhost:6379/0 --namespace shop
      scrapy-neardup rules audit.jsonl --format dud --output rules.json
    """  # noqa: D301  (click's mark for lines to keep)
    stores = [source for source in given.sources if is_store(source)]
    if stores and len(given.sources) > 1:
        raise click.UsageError("Give a store alone: only audits can be combined.")
    pages_met: Met = []
    if stores:
        found = usedclaims.of_notices(asyncio.run(_notices(stores[0], given.namespace)))
    else:
        found, pages_met = _read(audit_entries(given.sources))
    with output(given.path) as results:
        if given.form == "text":
            results.write(_text(found))
        elif given.form == "dud":
            written, left = usedclaims.dud_rules(found, pages_met)
            _tell_left("duplicate-url-discarder can't express it", left)
            _tell_exceptions(found, left, pages_met)
            results.write(json.dumps(written, indent=2) + "\n")
        else:
            patterns, left, needed = usedclaims.deny_patterns(found, pages_met)
            _tell_left("regular expressions can't express it", left)
            _tell_left("some pages were found only under such addresses", needed)
            _tell_exceptions(found, [*left, *needed], pages_met)
            results.write(json.dumps(patterns, indent=2) + "\n")


async def _notices(uri: str, asked: str | None) -> list[tuple[str, bytes]]:
    """Return the notices of the requested namespace, or of the only one."""
    async with store_admin(uri) as admin:
        names = await admin.namespaces()
        if asked in names or (asked is None and len(names) == 1):
            return await admin.notices(asked or names[0])
    there = ", ".join(map(repr, names)) or "none"
    raise ConfigurationError(f"--namespace: name one of the store's namespaces: {there}")


Met = list[tuple[str, bool]]
"""The URLs of the crawled pages, each with whether its page was new."""


def _read(entries: Iterable[Entry]) -> tuple[list[UsedClaim], Met]:
    claims: list[Entry] = []
    pages: Met = []
    for entry in entries:
        if entry.get("event") == "claim":
            claims.append(entry)
        elif entry.get("event") is None:
            pages.append((entry["page"], entry["verdict"] == Decision.NEW))
    return usedclaims.of_audit(claims), pages


def _text(found: Sequence[UsedClaim]) -> str:
    lines = [said_of_claims(found)]
    host = None
    for name, key, claim in found:
        if name != host:
            host = name
            lines += ["", escaped(host)]
        tested = f"{claim.checks:,} tested it: at most {bound(claim.checks):.1%} differ"
        numbers = f"{claim.covered:9,} covered, {claim.withheld:,} not made"
        lines.append(f"{numbers}: {escaped(str(key))} ({tested})")
        if claim.example is not None:
            lines.append(f"{'':11}{escaped(claim.example[0])} shows {escaped(claim.example[1])}")
    return "\n".join(lines) + "\n"


def _tell_left(why: str, left: Sequence[UsedClaim]) -> None:
    for each in left:
        click.echo(f"Left out, because {why}: {escaped(f'{each.host}: {each.key}')}", err=True)


def _tell_exceptions(found: Sequence[UsedClaim], left: Sequence[UsedClaim], met: Met) -> None:
    written = [each for each in found if each not in left]
    if urls := usedclaims.exceptions(written, met):
        said = "1 new page" if len(urls) == 1 else f"{len(urls):,} new pages"
        shown = escaped(", ".join(urls[:_SHOWN]))
        click.echo(f"These rules leave out {said} of the crawl, such as {shown}", err=True)


_SHOWN = 3
"""Number of pages of which the address is shown."""
