"""``scrapy-neardup scan`` and ``load``: judge the pages of a collection, or fill a store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import closing

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Interrupted, Progress, escaped, rows_to
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.execution import workers
from scrapy_neardup.offline.files.storedpages import printed
from scrapy_neardup.offline.jobs import scanning
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import batches
from scrapy_neardup.verdict import Decision, Page, Reason, Verdict


@click.command()
@flags.inputs
@flags.judging_options
@flags.setting_option("store", "uri", default="memory:")
@flags.setting_option("namespace", default="default")
@flags.workers_options
@flags.rows_option
@flags.progress_option
@flags.pass_given
def scan(given: flags.Given) -> None:
    """Judge the pages of each INPUT in order, and print one JSON object for each.

    INPUT is a file, a folder, or the URL of either: HTML (in the order of paths), WARC (pages
    with status 200, and text of WET files; extra "warc"), JSON lines or an array of {"url": ...,
    "html" or "text": ...}, CSV, Parquet and Arrow with such columns (extra "parquet"), folders
    saved by Hugging Face's datasets, plain text (.txt), or - for JSON lines on standard input.
    Files may be compressed with gzip, bzip2, xz or Zstandard. A --store other than memory:
    outlasts the run: its pages are 'seen' the next time, and others are compared with them.

    \b
    page          URL of the page, or else its path, or FILE:LINE
    verdict       new, duplicate, seen (the same page again) or unjudged
    of            for a duplicate, the page that it repeats
    distance      between the two fingerprints, in bits
    resemblance   of the two pages, estimated, if the method has sketches
    reason        of the verdict; of an unjudged page: empty, not-html, unparsable ...
    rule          by which the page repeats the other one
    identity      how addresses and titles of the two compare
    threshold     the resemblance that was needed
    views         text, all -> numbers of shingles that only one page has, and that count
    nearest       for a new page, the page that it came closest to repeating, with the same keys
    fingerprint   64 bits as 16 hexadecimal digits
    tokens        number of words judged
    features      K,S,R -> its min-wise features, 16 hexadecimal digits each
    path          its address without parameters, as another feature
    sketch        TEXTxNAMED bits -> the sketches that confirm duplicates, in base64
    schema        parameters of the fingerprint

    \b
    Examples:
      scrapy-neardup scan site/ --jobs 4 --output verdicts.jsonl
      scrapy-neardup scan crawl.warc.gz --scope host --store sqlite:seen.db
      zcat pages.jsonl.gz | scrapy-neardup scan - | jq -r 'select(.verdict == "duplicate") | .page'
    """  # noqa: D301  (click's mark for lines to keep)
    corpus = Corpus(given.inputs, flags.columns_of(given))
    parameters = flags.judging_parameters(given)
    counts: Counter[tuple[Decision, Reason]] = Counter()
    with (
        rows_to(given.path) as results,
        scanning.opened(given.uri, given.namespace, parameters) as (detector, runner),
        workers(given.scheduler, given.jobs) as work,
        closing(scanning.analysed(corpus, detector.analyser, work)) as pages,
    ):
        line = Progress(given.progress, given.path)
        keyed = detector.analyser.parameters
        schema = keyed.schema()

        async def judge_all() -> None:
            captures = scanning.Captures(detector)
            for page, outcome in pages:
                verdict = await captures.judge(outcome)
                results(_row(page, outcome, verdict, keyed, schema))
                counts[verdict.decision, verdict.reason] += 1
                line.update(counts.total(), "pages", corpus.share)
            await detector.close()

        try:
            runner.get_loop().run_until_complete(judge_all())  # `run` would delay an interrupt
        except KeyboardInterrupt:
            written = f"nothing is written to {escaped(given.path)}"
            lines = "their lines are written" if given.path == "-" else written
            kept = "" if given.uri.startswith("memory:") else ", and the store has them"
            raise Interrupted(
                f"Interrupted after {counts.total():,} pages: {lines}{kept}."
            ) from None
        line.done(counts.total(), "pages")
    if line.terminal if given.progress is None else given.progress:
        click.echo(_summary(counts, line.seconds), err=True)


def _row(
    page: str,
    outcome: Page | Verdict,
    verdict: Verdict,
    parameters: Parameters,
    schema: dict[str, str | int | float],
) -> dict[str, object]:
    match, fingerprint = verdict.match, verdict.fingerprint
    why = match.why() if match else {}
    return {
        "page": page,
        "verdict": verdict.decision,
        "of": (match.url or f"{match.page_id:016x}") if match else None,
        "distance": match.distance if match else None,
        "resemblance": match.resemblance if match else None,
        "reason": verdict.reason,
        "rule": verdict.rule or None,
        "identity": why.get("identity"),
        "threshold": why.get("threshold"),
        "views": why.get("views"),
        "nearest": verdict.nearest.as_nearest() if verdict.nearest else None,
        "fingerprint": None if fingerprint is None else f"{fingerprint:016x}",
        "tokens": verdict.tokens,
        **printed(outcome if isinstance(outcome, Page) else None, parameters),
        "schema": schema if isinstance(outcome, Page) else None,
    }


def _summary(counts: Counter[tuple[Decision, Reason]], seconds: float) -> str:
    lines = [f"{counts.total():,} pages in {seconds:,.1f} s"]
    for decision in Decision:
        reasons = {reason: n for (made, reason), n in counts.most_common() if made is decision}
        why = ", ".join(f"{reason} {n:,}" for reason, n in reasons.items())
        lines.append(f"  {decision:10}{sum(reasons.values()):>12,}   {why}".rstrip())
    return "\n".join(lines)


_IN_FLIGHT = 64
"""Maximum concurrent calls of the store: enough to fill a round trip on a local network."""


@click.command()
@flags.inputs
@flags.judging_options
@flags.setting_option("store", "uri", required=True)
@flags.setting_option(
    "namespace", required=True, help="Namespace of the crawl; its default is BOT_NAME.SPIDER."
)
@flags.setting_option("expected_pages")
@flags.workers_options
@flags.progress_option
@flags.pass_given
def load(given: flags.Given) -> None:
    """Put the pages of each INPUT into a store, so that a crawl knows them from its start.

    INPUTs are those of scan. Options that are also settings must have the values of the crawl; a
    store that was made with other values refuses them.

    A page that is already in the store counts as seen and changes nothing, so you may repeat a
    load, for example one that was interrupted.

    \b
    Example:
      scrapy-neardup load old.warc.gz --store sqlite:pages.sqlite --namespace bot.news --jobs 4
    """  # noqa: D301  (click's mark for lines to keep)
    corpus = Corpus(given.inputs, flags.columns_of(given))
    where = given.uri, given.namespace, flags.judging_parameters(given)
    counts: Counter[Decision] = Counter()
    line = Progress(given.progress)
    try:
        with (
            scanning.opened(*where, expected_pages=given.expected_pages) as (detector, runner),
            workers(given.scheduler, given.jobs) as work,
            closing(scanning.analysed(corpus, detector.analyser, work)) as pages,
        ):
            for batch in batches(pages, _IN_FLIGHT):
                counts += runner.run(_loaded(batch, detector))
                line.update(counts.total(), "pages", corpus.share)
            runner.run(detector.close())
        line.done(counts.total(), "pages")
    except BaseException:
        if done := counts.total():
            kept = "a repeated load keeps those that are in the store"
            click.echo(f"{done:,} pages were judged; {kept}", err=True)
        raise
    found = ", ".join(f"{counts[decision]:,} {decision}" for decision in Decision)
    click.echo(f"{counts.total():,} pages in {line.seconds:,.1f} s: {found}", err=True)


async def _loaded(pages: Iterable[scanning.Analysed], detector: Detector) -> Counter[Decision]:
    """Judge `pages` at the same time, and confirm the new ones.

    Exactly one of two near-duplicates of a batch is kept; with a server, either may be.
    """
    verdicts = await asyncio.gather(*(scanning.judge(page, detector) for _, page in pages))
    return Counter(verdict.decision for verdict in verdicts)
