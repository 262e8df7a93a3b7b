"""``scrapy-neardup tune``: how good the filter is on one's own pages, and with which settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.cli.common import Progress, output
from scrapy_neardup.cli.options import progress_option
from scrapy_neardup.cli.report import audit_entries
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.offline.sampling import LOST, ReadPage, Sample, audited_pages, read_pages
from scrapy_neardup.offline.tuning import (
    Outcome,
    Share,
    Truth,
    chosen,
    drawn,
    measured,
    truth_of,
)
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.reports.report import counted, printable
from scrapy_neardup.reports.tuned import pieces

_PRINTED, _LISTED = 5, 100
"""Maximum pairs to look at that are printed, and that the report shows."""


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option(
    "--audit",
    is_flag=True,
    help="The INPUTs are audit files with texts (NEARDUP_AUDIT_TEXT).",
)
@click.option(
    "--pages",
    metavar="N",
    type=click.IntRange(10),
    default=6_000,
    help="Pages of the sample, in whole groups of pages that look alike. A smaller collection is"
    " taken as it is, and nothing is estimated.",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    default=0,
    help="Seed of the random sample.",
)
@click.option("--output", "path", metavar="FILE", help="Write a page with the picture here.")
@progress_option
def tune(
    *,
    inputs: tuple[str, ...],
    audit: bool,
    pages: int,
    seed: int,
    path: str | None,
    progress: bool | None,
) -> None:
    """Show precision and recall on your own pages, for the presets and settings.

    INPUTs are those of scan. Of a sample all pairs are found exactly, as join finds them, and
    each configuration judges it in order. A page is a duplicate if an earlier one has a
    resemblance of at least 0.9; a drop is lost content if no earlier page has 0.8.

    The settings to choose are the defaults, unless others lose fewer pages, or as few with a
    recall beyond the interval of the defaults'. The intervals hold for 95 samples of 100, each
    group of pages that look alike taken for one observation.

    \b
    Examples:
      scrapy-neardup tune site/ --output tuning.html
      scrapy-neardup try https://www.example.com/ --audit audit.jsonl
      scrapy-neardup tune --audit audit.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    line = Progress(progress, sys.stdout)
    analyser = Analyser(Parameters())

    def collection() -> Iterator[ReadPage]:
        found = (
            audited_pages(audit_entries(inputs)) if audit else read_pages(Corpus(inputs), analyser)
        )
        for number, page in enumerate(found, 1):
            line.update(number, "pages read")
            yield page

    sample = drawn(collection, pages, seed)
    truth = truth_of(sample)
    if not truth.duplicates.any():
        raise InputError(
            f"of {counted(len(sample.pages), 'page')} none repeats another: there is nothing to"
            " tune; give more pages, or a larger --pages"
        )
    outcomes = measured(
        sample, truth, lambda done, of: line.update(done, "configurations", done / of)
    )
    line.done(len(outcomes), "configurations")
    choice = chosen(outcomes)
    if path is not None:
        with output(path) as results:
            results.writelines(pieces(_page(inputs, sample, truth, outcomes, choice)))
    click.echo("\n".join(_table(sample, truth, outcomes, choice)))
    if path is not None and path != "-":
        click.echo(f"The page is {path}.", err=True)


def _table(
    sample: Sample, truth: Truth, outcomes: list[Outcome], choice: Outcome
) -> Iterator[str]:
    groups = len(np.unique(sample.groups[truth.duplicates]))
    yield (
        f"{len(sample.pages):,} of {counted(sample.collection, 'page')}:"
        f" {int(truth.duplicates.sum()):,} duplicates in {counted(groups, 'group')}"
    )
    yield ""
    yield f"{'':34}{'precision':^22}{'recall':^22}{'dropped':>8}{'lost':>6}"
    for outcome in outcomes:
        setting, value = outcome.configuration.varied
        mark = "*" if outcome is choice else " "
        yield (
            f"{mark} {setting:22} {value:>8} {_share(outcome.precision)}{_share(outcome.recall)}"
            f"{outcome.dropped:>8,}{outcome.lost:>6,}"
        )
    yield ""
    if choice.configuration.settings:
        yield "Settings to choose:"
        yield from (f"  {line}" for line in _lines(choice))
    else:
        yield "The defaults are to be chosen."
    for title, pairs in _looks(sample, truth, choice):
        if pairs:
            yield f"{title}: {len(pairs):,}"
        for page, other, resemblance in pairs[:_PRINTED]:
            told = "" if resemblance is None else f"  ({resemblance:.3f})"
            yield f"  {printable(page)}  {printable(other or '?')}{told}"


def _share(share: Share) -> str:
    return f"  {share.value:.3f} ({share.low:.3f}-{share.high:.3f})"


def _lines(outcome: Outcome) -> list[str]:
    return [f"{name} = {value!r}" for name, value in outcome.configuration.settings.items()]


NamedPairs = list[tuple[str, str | None, float | None]]


def _looks(sample: Sample, truth: Truth, outcome: Outcome) -> list[tuple[str, NamedPairs]]:
    """Return the errors of an outcome: pairs of names, and their resemblance if it is known."""

    def name(number: int | None) -> str | None:
        known = number is not None and 0 <= number < len(sample.pages)
        return sample.pages[number].name if known and number is not None else None

    lost: NamedPairs = [
        (sample.pages[page].name, name(other), None)
        for page, other in outcome.drops.items()
        if truth.best[page] < LOST
    ]
    missed: NamedPairs = [
        (sample.pages[page].name, name(int(truth.nearest[page])), float(truth.best[page]))
        for page in np.flatnonzero(truth.duplicates).tolist()
        if page not in outcome.drops
    ]
    return [("Lost", lost), ("Not found", missed)]


def _page(
    inputs: Sequence[str],
    sample: Sample,
    truth: Truth,
    outcomes: list[Outcome],
    choice: Outcome,
) -> dict[str, Any]:
    def share(value: Share) -> dict[str, float]:
        return {"value": value.value, "low": value.low, "high": value.high}

    return {
        "sources": list(inputs),
        "pages": len(sample.pages),
        "collection": sample.collection,
        "duplicates": int(truth.duplicates.sum()),
        "groups": len(np.unique(sample.groups[truth.duplicates])),
        "settings": _lines(choice),
        "outcomes": [
            {
                "setting": outcome.configuration.varied[0],
                "value": outcome.configuration.varied[1],
                "chosen": outcome is choice,
                "precision": share(outcome.precision),
                "recall": share(outcome.recall),
                "dropped": outcome.dropped,
                "lost": outcome.lost,
            }
            for outcome in outcomes
        ],
        "looks": [
            {"title": title, "count": len(pairs), "pairs": pairs[:_LISTED]}
            for title, pairs in _looks(sample, truth, choice)
        ],
    }
