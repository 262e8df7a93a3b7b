"""``scrapy-neardup load``: put a collection's fingerprints into a store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import closing

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.offline.execution import workers
from scrapy_neardup.offline.jobs.scanning import Analysed, analysed, judge, opened_store
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import batches
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
@flags.workers_options
@flags.progress_option
@flags.pass_given
def load(given: flags.Given) -> None:
    """Put the pages of each INPUT into a store, so that a crawl knows them from its start.

    INPUTs are those of scan. Options named like settings must have the crawl's values; a store
    made with others refuses them.

    A page that is already in the store counts as seen and changes nothing, so you may repeat a
    load, for example one that was interrupted.

    \b
    Example:
      scrapy-neardup load old.warc.gz --store sqlite:pages.sqlite --namespace bot.news --jobs 4
    """  # noqa: D301  (click's mark for lines to keep)
    corpus = Corpus(given.inputs, flags.columns_of(given))
    parameters = flags.judging_parameters(given)
    counts: Counter[Decision] = Counter()
    line = Progress(given.progress)
    opened = opened_store(
        given.uri, given.namespace, parameters, expected_pages=given.expected_pages
    )
    try:
        with (
            opened as (store, runner, keyed),
            workers(given.scheduler, given.jobs) as work,
            closing(analysed(corpus, analyser := Analyser(keyed), work)) as pages,
        ):
            detector = Detector(analyser, store)
            for batch in batches(pages, _IN_FLIGHT):
                counts += runner.run(_loaded(batch, detector))
                line.update(counts.total(), "pages", corpus.share)
            runner.run(detector.close())
        line.done(counts.total(), "pages")
    except BaseException:
        if done := counts.total():
            click.echo(f"{done:,} pages were loaded; a repeated load keeps them", err=True)
        raise
    found = ", ".join(f"{counts[decision]:,} {decision}" for decision in Decision)
    click.echo(f"{counts.total():,} pages in {line.seconds:,.1f} s: {found}", err=True)


async def _loaded(pages: Iterable[Analysed], detector: Detector) -> Counter[Decision]:
    """Judge `pages` at the same time, and confirm the new ones.

    Exactly one of two near-duplicates of a batch is kept; across a network it may be either.
    """
    verdicts = await asyncio.gather(*(judge(page, detector) for _, page in pages))
    return Counter(verdict.decision for verdict in verdicts)
