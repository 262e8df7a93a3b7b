"""``scrapy-neardup tune``: how good the filter is on your own pages, with any settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click
import numpy as np

from scrapy_neardup.cli import flags
from scrapy_neardup.cli.common import Progress
from scrapy_neardup.cli.report import audit_entries
from scrapy_neardup.errors import InputError
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.truth import LOST, audited_pages, read_pages
from scrapy_neardup.offline.jobs.tuning import Measured, Outcome, Share, chosen, measure
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.report.differences import KEEPS_THEM
from scrapy_neardup.report.reportpage import counted, printable, said_of_difference

_PRINTED = 20
"""Maximum number of pairs, and of groups, to review that are printed."""


@click.command()
@flags.inputs
@click.option(
    "--audit", is_flag=True, help="The INPUTs are audit files with texts (NEARDUP_AUDIT_TEXT)."
)
@flags.column_options
@flags.progress_option
@flags.pass_given
def tune(given: flags.Given) -> None:
    """Show precision and recall on your own pages, for the presets and settings.

    INPUTs are those of scan. Each configuration judges all pages in order, as a crawl would. All
    pages are then compared exactly, as by join. A page is a duplicate if an earlier page has a
    resemblance of at least 0.9; a dropped page is lost content if no earlier page has 0.8. A line
    that most pages of a folder share counts as one word; elements named as navigation don't count.

    It recommends the defaults, except in two cases. First, other settings find more, beyond the
    interval of the defaults' recall, lose no more pages, and are no less precise. Second, more
    than one in a hundred drops of the defaults loses content, and other settings lose less. It
    warns if even the best settings lose more. It lists dropped pages that differ only in numbers
    or a few words, because only you know whether they are copies. The intervals say what to expect
    of other pages of such a site (confidence 95 %); a group of similar pages is one observation.

    \b
    Examples:
      scrapy-neardup tune site/ > tuning.txt
      scrapy-neardup try https://www.example.com/ --audit audit.jsonl
      scrapy-neardup tune --audit audit.jsonl
    """  # noqa: D301  (click's mark for lines to keep)
    line = Progress(given.progress)
    found = (
        audited_pages(audit_entries(given.inputs))
        if given.audit
        else read_pages(Corpus(given.inputs, flags.columns_of(given)), Analyser(Parameters()))
    )
    measured = measure(found, line.update)
    if not (measured.truth.duplicates.any() or measured.outcomes[0].dropped):
        raise InputError(
            f"none of {counted(len(measured.names), 'page')} repeats another, so there is"
            " nothing to tune: give more pages"
        )
    line.done(len(measured.names), "pages")
    click.echo("\n".join(_table(measured, chosen(measured.outcomes))))


def _table(measured: Measured, choice: Outcome) -> Iterator[str]:
    truth = measured.truth
    groups = len(np.unique(truth.groups[truth.duplicates]))
    yield (
        f"{counted(len(measured.names), 'page')}: {counted(truth.duplicates.sum(), 'duplicate')}"
        f" in {counted(groups, 'group')}"
    )
    yield ""
    yield f"{'':34}{'precision':^22}{'recall':^22}{'dropped':>8}{'lost':>6}"
    for each in measured.outcomes:
        setting, value = each.configuration.varied
        yield (
            f"{'*' if each is choice else ' '} {setting:22} {value:>8} {_share(each.precision)}"
            f"{_share(each.recall)}{each.dropped:>8,}{each.lost:>6,}"
        )
    yield ""
    if settings := choice.configuration.settings:
        yield "Settings to choose:"
        yield from (f"  {name} = {value!r}" for name, value in settings.items())
    else:
        yield f"{_headline(choice)}: no other setting is clearly better here."
    yield from _warnings(measured, choice)
    for title, pairs in _looks(measured, choice):
        if pairs:
            yield f"{title}: {len(pairs):,}"
        for page, other, resemblance in pairs[:_PRINTED]:
            shown = "" if resemblance is None else f"  ({resemblance:.3f})"
            yield f"  {printable(page)}  {printable(other or '?')}{shown}"


def _headline(choice: Outcome) -> str:
    if choice.loses_content:
        return "The defaults lose content here"
    if choice.differences:
        return "Keep the defaults if pages that differ only a little are copies to you"
    return "Keep the defaults"


def _warnings(measured: Measured, choice: Outcome) -> list[str]:
    """Return warnings about drops to review before the filter is switched on."""
    lines = []
    if choice.loses_content:
        lines.append(
            f"{choice.lost:,} of {choice.dropped:,} drops lose content. NEARDUP_DENY names pages"
            f" that are never dropped; {KEEPS_THEM} keeps all pages that differ."
        )
    sizes = Counter(choice.matches.tolist())
    groups = sorted(choice.differences.items(), key=lambda item: -sizes[item[0]])
    lines += [
        said_of_difference(measured.names[page], sizes[page], difference)
        for page, difference in groups[:_PRINTED]
    ]
    return lines


def _share(share: Share) -> str:
    return f"  {share.value:.3f} ({share.low:.3f}-{share.high:.3f})"


NamedPairs = list[tuple[str, str | None, float | None]]


def _looks(measured: Measured, outcome: Outcome) -> list[tuple[str, NamedPairs]]:
    """Return the errors of an outcome: pairs of names with their resemblance."""
    names, truth = measured.names, measured.truth
    lost: NamedPairs = []
    missed: NamedPairs = []
    for page, match in enumerate(outcome.matches.tolist()):
        if match != -1 and truth.best[page] < LOST:
            lost.append((names[page], names[match] if match >= 0 else None, None))
        elif match == -1 and truth.duplicates[page]:
            nearest = names[int(truth.nearest[page])]
            missed.append((names[page], nearest, float(truth.best[page])))
    return [("Dropped, with content lost", lost), ("Duplicates not found", missed)]
