"""``scrapy-neardup dedupe``: write a data set without its duplicates."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields
from typing import Any

import click

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress, escaped
from scrapy_neardup.fingerprints.broder import checked_filter
from scrapy_neardup.offline.dedupe import job, within
from scrapy_neardup.offline.dedupe.joboptions import DedupeOptions, TrimOptions, Unit
from scrapy_neardup.offline.dedupe.jobplan import PausedError, ShardTurn
from scrapy_neardup.offline.execution import workers

_UNITS: dict[Unit, str] = {
    "lines": "lines that more than N documents have",
    "paragraphs": "paragraphs that more than N documents have",
    "substrings": "runs of N words and more that occurred before, in the same document or an"
    " earlier one",
}
"""Unit -> what is removed, if it is chosen."""
_unit_options = flags.together(*(
    click.option(
        f"--{unit}",
        metavar="N",
        type=click.IntRange(1),
        help=f"Instead of documents, remove {what}.",
    )
    for unit, what in _UNITS.items()
))  # fmt: skip


@click.command()
@flags.inputs
@click.option(
    "--output",
    metavar="DIR",
    required=True,
    help="Folder for the files without duplicates, new or empty, or its URL.",
)
@flags.column_options
@click.option(
    "--existing",
    metavar="INPUT",
    multiple=True,
    help="Existing documents; INPUTs that repeat one are removed. Files and folders, such as an"
    " earlier output; may be repeated.",
)
@flags.setting_option("features")
@flags.setting_option(
    "min_resemblance",
    help="Minimum resemblance of a removed document to the kept one that it repeats, above 0,"
    " up to 1.",
)
@click.option(
    "--keep",
    metavar="RULE",
    default="first",
    help="Which of several similar documents is kept: first, longest, shortest-url, newest or"
    " newest:COLUMN, or the one with the largest number in a COLUMN; -COLUMN for the"
    " smallest.",
)
@flags.shingle_size_option
@flags.setting_option("text")
@flags.setting_option("ignore")
@flags.memory_option(
    "; each further process of --jobs takes 200 MB more, and works on one file at a time."
)
@flags.workers_options
@click.option("--resume", is_flag=True, help="Resume a job that was stopped.")
@click.option(
    "--shard",
    metavar="K/N",
    help="Do only the files of part K of N, from 1 to N, as one of several processes that share"
    " the output folder. After all shards run --merge, then all shards again, then --merge"
    " again.",
)
@click.option(
    "--merge", is_flag=True, help="Do the work that is done once, when all shards are done."
)
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Leave out files and lines that can't be read, and count them. A document that --keep"
    " can't rank is counted as a line, and ranks last.",
)
@_unit_options
@click.option(
    "--per-host", is_flag=True, help="For lines and paragraphs: count each host separately."
)
@click.option(
    "--but-first",
    is_flag=True,
    help="For lines and paragraphs: keep them in the first document that has them.",
)
@click.option(
    "--mark",
    is_flag=True,
    help="For lines, paragraphs and substrings: keep texts unchanged, and write the ranges to a"
    " column neardup_repeated.",
)
@flags.progress_option
@flags.pass_given
def dedupe(given: flags.Given) -> None:
    """Write the documents of each INPUT, except those that repeat another one.

    INPUT is a file or a folder, or its URL (s3://..., or any other that fsspec opens): Parquet,
    Arrow, Feather, folders saved by Hugging Face's datasets, JSON lines or arrays, CSV, WARC,
    HTML, plain text. All may be compressed with gzip, bzip2, xz or Zstandard. Kept documents are
    written to the output folder under the same names, in the same format, with all columns;
    removed ones are listed in its folder _removed. The counts are printed, and written to its file
    _summary.json.

    \b
    {"id": ..., "row": n, "of": ..., "of_file": ..., "of_row": n, "resemblance": r, "reason": ...}
    id, row        the removed document, and its row, line or record in its file, from 0
    of             the document that is kept instead
    of_file        its file, and of_row its row
    resemblance    of the two documents
    reason         equal: it has the same words; similar: it resembles the other one

    \b
    Examples:
      scrapy-neardup dedupe data/ --output clean/ --jobs 8
      scrapy-neardup dedupe data/ --output clean/ --id-column id --keep newest:metadata.date
      scrapy-neardup dedupe new/ --existing clean/ --output added/
      scrapy-neardup dedupe data/ --output clean/ --lines 10 --per-host
      scrapy-neardup dedupe data/ --output clean/ --substrings 50
    """  # noqa: D301  (click's mark for lines to keep)
    options = _trim_options(given) or _options(given)
    line = Progress(given.progress)
    summary: job.DedupeSummary | within.TrimSummary
    try:
        with workers(given.scheduler, given.jobs) as work:
            how: dict[str, Any] = {
                "resume": given.resume,
                "turn": _turn(given.shard, merge=given.merge),
                "work": work,
                "watch": lambda step, count, share: line.update(count, f"documents {step}", share),
            }
            if isinstance(options, TrimOptions):
                summary = within.trim(given.inputs, given.output, options, **how)
            else:
                how["existing"] = given.existing
                summary = job.dedupe(given.inputs, given.output, options, **how)
    except PausedError as paused:  # a later call goes on with the job
        click.echo(json.dumps({"paused": str(paused)}))
        return
    line.done(summary.documents, "documents")
    if isinstance(summary, job.DedupeSummary):
        for reason in summary.skipped:
            click.echo(escaped(f"left out: {reason}"), err=True)
    click.echo(json.dumps(asdict(summary)))


def _turn(shard: str | None, *, merge: bool) -> ShardTurn | None:
    if shard is not None and merge:
        raise click.UsageError("use only one of --shard and --merge")
    if shard is None:
        return ShardTurn(0, 1) if merge else None
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise click.UsageError(f"--shard {shard!r} is not K/N, such as 3/64, with K from 1 to N")
    return ShardTurn(int(found[1]), int(found[2]))


_OF_DOCUMENTS = {
    "html_column", "id_column", "existing", "features", "min_resemblance", "keep",
    "shingle_size", "text", "ignore", "skip_bad",
}  # fmt: skip
"""Options of whole documents."""


def _trim_options(given: flags.Given) -> TrimOptions | None:
    """Return the options for parts of texts, if the command line has them."""
    numbers = {unit: number for unit in _UNITS if (number := getattr(given, unit)) is not None}
    if not numbers:
        if wrong := flags.among({"per_host", "but_first", "mark"}):
            raise click.UsageError(f"{wrong[0]} needs --lines, --paragraphs or --substrings")
        return None
    if len(numbers) > 1:
        raise click.UsageError("use only one of --lines, --paragraphs and --substrings")
    ((unit, number),) = numbers.items()
    flags.refuse_given(f"--{unit}", _OF_DOCUMENTS)
    if unit == "substrings" and given.but_first:
        raise click.UsageError("--but-first is for lines and paragraphs")
    others = {name: getattr(given, name) for name in ("memory", "per_host", "but_first", "mark")}
    return TrimOptions(
        unit=unit, number=number, text=given.text_column or "text", url=given.url_column, **others
    )


def _options(given: flags.Given) -> DedupeOptions:
    others = {each.name for each in fields(DedupeOptions)} - {"columns", "features"}
    return DedupeOptions(
        columns=flags.columns_of(given),
        features=checked_filter(given.features),
        **{name: getattr(given, name) for name in others},
    )
