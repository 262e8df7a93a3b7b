"""``scrapy-neardup load``: put a collection's fingerprints into a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import chain, islice

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.execution import workers
from scrapy_neardup.offline.files.storedpages import Row, scanned_rows
from scrapy_neardup.offline.jobs.knownpages import load_batch, opened_store, scanned_pages
from scrapy_neardup.offline.jobs.scanning import analysed
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import batches, check_stdin
from scrapy_neardup.verdict import Decision

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
@click.option("--scanned", is_flag=True, help="The INPUTs are outputs of scan, not pages.")
@flags.number_option(
    "--skip",
    least=0,
    default=0,
    help="Leave out the first N pages, which an earlier run has loaded.",
)
@flags.workers_options
@flags.progress_option
@flags.pass_given
def load(given: flags.Given) -> None:
    """Put the pages of each INPUT into a store, so that a crawl knows them from its start.

    INPUTs are those of scan, or with --scanned its outputs. Options named like settings must
    have the crawl's values; a store made with others refuses them.

    A page that is already in the store counts as seen and changes nothing, so you may repeat a
    load. If a load is interrupted, it prints the --skip that continues it.

    \b
    Examples:
      scrapy-neardup load old.warc.gz --store sqlite:pages.sqlite --namespace bot.news --jobs 4
      scrapy-neardup load --scanned old.jsonl --store redis://host/0 --namespace bot.news
    """  # noqa: D301  (click's mark for lines to keep)
    columns = flags.columns_of(given)
    parameters = flags.judging_parameters(given)
    corpus = None if given.scanned else Corpus(given.inputs, columns)
    rows: Iterator[Row] = iter(())
    if corpus is None:
        check_stdin(given.inputs)
        rows = islice(chain.from_iterable(map(scanned_rows, given.inputs)), given.skip, None)
        parameters, rows = _with_their_key(parameters, rows)
    counts: Counter[Decision] = Counter()
    line = Progress(given.progress)
    opened = opened_store(
        given.uri, given.namespace, parameters, expected_pages=given.expected_pages
    )
    try:
        with opened as (store, runner, keyed), ExitStack() as stack:
            analyser = Analyser(keyed)
            if corpus is None:
                pages = scanned_pages(rows, keyed)
            else:
                work = stack.enter_context(workers(given.scheduler, given.jobs))
                pages = analysed(corpus, analyser, work, skip=given.skip)
            stack.enter_context(closing(pages))
            detector = Detector(analyser, store)
            for batch in batches(pages, _IN_FLIGHT):
                counts += runner.run(load_batch(batch, detector))
                line.update(counts.total(), "pages", corpus.share if corpus else None)
            runner.run(detector.close())
        line.done(counts.total(), "pages")
    except BaseException:
        if done := given.skip + counts.total():
            click.echo(f"{done:,} pages were loaded; continue with --skip {done}", err=True)
        raise
    found = ", ".join(f"{counts[decision]:,} {decision}" for decision in Decision)
    click.echo(f"{counts.total():,} pages in {line.seconds:,.1f} s: {found}", err=True)


def _with_their_key(
    parameters: Parameters, rows: Iterator[Row]
) -> tuple[Parameters, Iterator[Row]]:
    """Return the parameters with the public key if the pages have it and no other was given."""
    if parameters.hash_key is not None or (first := next(rows, None)) is None:
        return parameters, rows
    schema = first[1].get("schema")
    if not (isinstance(schema, dict) and schema.get("hash_key")):
        parameters = replace(parameters, hash_key=PUBLIC_KEY)
    return parameters, chain([first], rows)
