"""``scrapy-neardup pairs``: all near-duplicate pairs of collections of fingerprints."""

from __future__ import annotations

from collections.abc import Iterator

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.offline.execution import Cluster, workers
from scrapy_neardup.offline.files.fingerprintfiles import open_sources
from scrapy_neardup.offline.jobs import pairjob
from scrapy_neardup.offline.jobs.pairjob import Found, PairJob


@click.command()
@flags.inputs
@flags.existing_option
@flags.setting_option("max_distance", help="Maximum Hamming distance of a pair, in bits.")
@click.option(
    "--group-equal",
    is_flag=True,
    help="Compare only the first of equal fingerprints, and pair each of the others with it. This"
    " connects the same pages with far fewer pairs.",
)
@flags.number_option(
    "--max-pairs",
    least=0,
    default=pairjob.MAX_PAIRS,
    help="Stop with an error if there are more pairs; 0: never.",
)
@flags.rows_option
@click.option(
    "--by-query",
    is_flag=True,
    help="Write a JSON line for each page of the INPUTs, with the pages near it.",
)
@flags.workers_options
@flags.column_option
@flags.progress_option
@flags.pass_given
def pairs(given: flags.Given) -> None:
    """Print all pairs of fingerprints within K bits, in the INPUTs or with --existing ones.

    INPUTs are those of pack. The rows of several INPUTs are numbered consecutively, those of a
    packed file in the order of the fingerprints. Two million fingerprints of the INPUTs are in
    memory at a time, and the rest is streamed. So name the larger collection with --existing.

    \b
    {"a": ..., "b": ..., "distance": n}
    {"query": ..., "pages": [{"page": ..., "distance": n}, ...]}    (--by-query)
    a, b   page or URL if known, else page id, else row number from 0; without
           --existing, a comes before b; with it, b is the existing one

    \b
    Examples:
      scrapy-neardup scan crawl.warc.gz | scrapy-neardup pairs -
      scrapy-neardup pairs new.u64 --existing archive.pack --jobs 8 --output p.parquet
    """  # noqa: D301  (click's mark for lines to keep)
    is_table = given.path.lower().endswith(".parquet")
    if given.by_query and is_table:
        raise click.UsageError("--by-query writes JSON lines: give --output another name")
    collection = open_sources(given.inputs, given.column)
    other = open_sources(given.existing, given.column) if given.existing else None
    with workers(given.scheduler, given.jobs) as work, output(given.path) as results:
        job = PairJob(
            collection=collection,
            existing=other,
            max_distance=given.max_distance,
            group_equal=given.group_equal,
            max_pairs=given.max_pairs,
            work=work,
        )
        if isinstance(work, Cluster):
            job = pairjob.on_cluster(work, job)
        parts = _counted(job, Progress(given.progress, given.path))
        write = pairjob.write_parquet if is_table else pairjob.write_json
        write = pairjob.write_by_query if given.by_query else write
        write(results.buffer, collection, collection if other is None else other, parts)


def _counted(job: PairJob, line: Progress) -> Iterator[Found]:
    """Yield the pairs of a job, and show its progress."""
    scanned, total = 0, job.to_scan
    for found in job.run():
        yield found
        scanned += found.scanned
        line.update(scanned, "fingerprints", scanned / total)
    line.done(scanned, "fingerprints")
