"""``scrapy-neardup scan``: judge the pages of a collection, in order."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from contextlib import ExitStack, closing
from typing import Any

import click

from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.detector import Analyser, Parameters
from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.offline.scan import analysed, judge
from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.verdict import Decision, Reason, Verdict

_DEFAULT = Parameters()


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option(
    "--max-distance",
    metavar="K",
    type=click.IntRange(0, 8),
    default=_DEFAULT.max_distance,
    help="Largest Hamming distance of a near-duplicate, 0 to 8 bits.",
)
@click.option(
    "--shingle-size",
    metavar="N",
    type=click.IntRange(1, 64),
    default=_DEFAULT.shingle_size,
    help="Words in a feature.",
)
@click.option(
    "--weights",
    type=click.Choice(["set", "tf", "sqrt", "log"]),
    default=str(_DEFAULT.weights),
    help="What a feature weighs that occurs tf times: 1, tf, its root or logarithm.",
)
@click.option(
    "--text",
    type=click.Choice(["main", "full"]),
    default=_DEFAULT.text,
    help="The text that is judged: without templates (navigation, footers), or all of it.",
)
@click.option(
    "--ignore",
    metavar="CSS",
    multiple=True,
    help="Leave out the parts of a page that this selector finds; may be repeated.",
)
@click.option(
    "--min-tokens",
    metavar="N",
    type=click.IntRange(0),
    default=_DEFAULT.min_tokens,
    help="Pages with fewer words are compared for equality, pictures and data included.",
)
@click.option(
    "--scope",
    type=click.Choice(["all", "host", "domain"]),
    default=_DEFAULT.scope,
    help="Compare a page with all others, or with those of its host or registered domain."
    " Pages without a URL are compared with each other.",
)
@click.option(
    "--store",
    "uri",
    metavar="URI",
    default="memory:",
    help="Where fingerprints are kept: memory:, sqlite:PATH, redis://HOST. But for memory: they"
    " outlast the run: its pages are 'seen' the next time, and others are compared with them.",
)
@click.option(
    "--namespace",
    metavar="NAME",
    default="default",
    help="Which of a store's collections; they never meet.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    help="Processes that read pages and compute fingerprints.",
)
@click.option(
    "--output",
    "path",
    metavar="FILE",
    default="-",
    help="Write the results here, all or nothing: FILE is replaced when the scan is complete."
    "  [default: standard output]",
    show_default=False,
)
@click.option(
    "--progress/--no-progress",
    default=None,
    help="Show how far it is, on standard error.  [default: on a terminal]",
)
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
    be compressed with gzip.

    \b
    page          URL of the page, or else its path, or FILE:LINE
    verdict       new, duplicate, seen (the same page again) or unjudged
    of            for a duplicate, the page that it repeats
    distance      between the two fingerprints, in bits
    resemblance   estimated resemblance of the two, where the method has one
    reason        why; of an unjudged page: empty, not-html, unparsable ...
    fingerprint   64 bits as 16 hexadecimal digits
    tokens        number of words judged

    \b
    Examples:
      scrapy-neardup scan site/ --jobs 4 --output verdicts.jsonl
      scrapy-neardup scan crawl.warc.gz --scope host --store sqlite:seen.db
      zcat pages.jsonl.gz | scrapy-neardup scan - | jq -r 'select(.verdict == "duplicate") | .page'
    """  # noqa: D301  (click's mark for lines to keep)
    parameters = Parameters(**settings)
    corpus = Corpus(inputs)
    analyser = Analyser(parameters)
    store = open_store(
        uri,
        namespace=namespace,
        max_distance=parameters.max_distance,
        schema=parameters.schema(),
    )
    counts: Counter[tuple[Decision, Reason]] = Counter()
    with ExitStack() as stack:
        results = stack.enter_context(output(path))
        line = Progress(progress, results)
        runner = stack.enter_context(asyncio.Runner())
        _open(store, runner)
        stack.callback(lambda: runner.run(store.close()))
        pages = stack.enter_context(closing(analysed(corpus, analyser, jobs=jobs)))
        for page, outcome in pages:
            verdict = runner.run(judge(outcome, store))
            click.echo(json.dumps(_row(page, verdict)), results)
            counts[verdict.decision, verdict.reason] += 1
            line.update(counts.total(), "pages", corpus.share)
        line.done(counts.total(), "pages")
    if sys.stderr.isatty() if summary is None else summary:
        click.echo(_summary(counts, line.seconds), err=True)


def _open(store: Store, runner: asyncio.Runner) -> None:
    try:
        runner.run(store.open())
    except StoreUnavailableError:
        raise  # a server that may answer later
    except StoreError as error:
        raise ConfigurationError(str(error)) from error  # the command line names it


def _row(page: str, verdict: Verdict) -> dict[str, str | int | float | None]:
    match, fingerprint = verdict.match, verdict.fingerprint
    return {
        "page": page,
        "verdict": verdict.decision,
        "of": (match.url or f"{match.page_id:016x}") if match else None,
        "distance": match.distance if match else None,
        "resemblance": match.resemblance if match else None,
        "reason": verdict.reason,
        "fingerprint": None if fingerprint is None else f"{fingerprint:016x}",
        "tokens": verdict.tokens,
    }


def _summary(counts: Counter[tuple[Decision, Reason]], seconds: float) -> str:
    lines = [f"{counts.total():,} pages in {seconds:,.1f} s"]
    for decision in Decision:
        reasons = {reason: n for (made, reason), n in counts.most_common() if made is decision}
        why = ", ".join(f"{reason} {n:,}" for reason, n in reasons.items())
        lines.append(f"  {decision:10}{sum(reasons.values()):>12,}   {why}".rstrip())
    return "\n".join(lines)
