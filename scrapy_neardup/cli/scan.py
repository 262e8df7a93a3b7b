"""``scrapy-neardup scan``: judge the pages of a collection, in order."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import closing
from typing import Any

import click

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.cli.judging import judging_options, judging_parameters, opened_store
from scrapy_neardup.cli.options import jobs_option, progress_option, setting_option
from scrapy_neardup.detector import Detector
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.offline.scan import analysed, judge
from scrapy_neardup.offline.stored import printed
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.verdict import Decision, Page, Reason, Verdict


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@judging_options
@setting_option("store", "uri", default="memory:")
@setting_option("namespace", default="default")
@jobs_option
@click.option(
    "--output",
    "path",
    metavar="FILE",
    default="-",
    help="Write the results here, all or nothing: FILE is replaced when the scan is complete."
    "  [default: standard output]",
    show_default=False,
)
@progress_option
@click.option(
    "--summary/--no-summary",
    default=None,
    help="Count the verdicts at the end, on standard error.  [default: on a terminal]",
)
def scan(
    *,
    inputs: tuple[str, ...],
    uri: str,
    namespace: str,
    jobs: int,
    path: str,
    progress: bool | None,
    summary: bool | None,
    **settings: Any,
) -> None:
    """Judge the pages of each INPUT in order; print one JSON object a page.

    INPUT is a folder of HTML files (in the order of their paths), an HTML file, a WARC file
    (its HTML responses with status 200; needs the extra "warc"), a file of JSON lines,
    {"url": ..., "html" or "text": ...}, or - for JSON lines on standard input. Files may
    be compressed with gzip. In a --store other than memory: the pages outlast the run: they
    are 'seen' the next time, and others are compared with them.

    \b
    page          URL of the page, or else its path, or FILE:LINE
    verdict       new, duplicate, seen (the same page again) or unjudged
    of            for a duplicate, the page that it repeats
    distance      between the two fingerprints, in bits
    resemblance   estimated resemblance of the two, where the method has one
    reason        why; of an unjudged page: empty, not-html, unparsable ...
    fingerprint   64 bits as 16 hexadecimal digits
    tokens        number of words judged
    features      K,S,R -> its min-wise features, 16 hexadecimal digits each; none of a short page
    path          its address without parameters, as another feature
    sketch        BINSxBITS -> what a store keeps to confirm that it is repeated, in base64
    evidence      digests of its title, and of its pictures and data
    schema        how the fingerprint was made

    \b
    Examples:
      scrapy-neardup scan site/ --jobs 4 --output verdicts.jsonl
      scrapy-neardup scan crawl.warc.gz --scope host --store sqlite:seen.db
      zcat pages.jsonl.gz | scrapy-neardup scan - | jq -r 'select(.verdict == "duplicate") | .page'
    """  # noqa: D301  (click's mark for lines to keep)
    parameters = judging_parameters(settings)
    corpus = Corpus(inputs)
    analyser = Analyser(parameters)
    counts: Counter[tuple[Decision, Reason]] = Counter()
    schema = parameters.schema()
    with (
        output(path) as results,
        opened_store(uri, namespace, parameters) as (store, runner),
        closing(analysed(corpus, analyser, jobs=jobs)) as pages,
    ):
        line = Progress(progress, results)
        detector = Detector(analyser, store)
        for page, outcome in pages:
            verdict = runner.run(judge(outcome, detector))
            click.echo(json.dumps(_row(page, outcome, verdict, parameters, schema)), results)
            counts[verdict.decision, verdict.reason] += 1
            line.update(counts.total(), "pages", corpus.share)
        runner.run(detector.close())
        line.done(counts.total(), "pages")
    if sys.stderr.isatty() if summary is None else summary:
        click.echo(_summary(counts, line.seconds), err=True)


def _row(
    page: str,
    outcome: Page | Verdict,
    verdict: Verdict,
    parameters: Parameters,
    schema: dict[str, str | int | float],
) -> dict[str, object]:
    match, fingerprint = verdict.match, verdict.fingerprint
    return {
        "page": page,
        "verdict": verdict.decision,
        "of": (match.url or f"{match.page_id:016x}") if match else None,
        "distance": match.distance if match else None,
        "resemblance": match.resemblance if match else None,
        "reason": verdict.reason,
        "rule": verdict.rule or None,
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
