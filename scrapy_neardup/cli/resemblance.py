"""What the verbs on exact resemblance share: which features of pages are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

from scrapy_neardup.cli.common import Progress
from scrapy_neardup.cli.fingerprints import progress_option
from scrapy_neardup.offline.corpora import Corpus

Verb = TypeVar("Verb", bound=Callable[..., Any])
Features = TypeVar("Features")

_OPTIONS = (
    click.option(
        "--shingle-size",
        metavar="N",
        type=click.IntRange(1, 64),
        default=4,
        help="Words in a shingle.",
    ),
    click.option(
        "--text",
        type=click.Choice(["main", "full"]),
        default="main",
        help="The text that is compared: without templates (navigation, footers), or all of it.",
    ),
    click.option(
        "--ignore",
        metavar="CSS",
        multiple=True,
        help="Leave out the parts of a page that this selector finds; may be repeated.",
    ),
    click.option(
        "--output",
        "path",
        metavar="FILE",
        default="-",
        help="Write here, all or nothing.  [default: standard output]",
        show_default=False,
    ),
)


def resemblance_options(verb: Verb) -> Verb:
    """Add the options on shingles and text, output and progress."""
    verb = progress_option(verb)
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


def watched(pages: Iterable[Features], line: Progress, corpus: Corpus) -> Iterator[Features]:
    """Yield what `pages` yields of a corpus, and say on the way how much of it is read."""
    count = 0
    for count, page in enumerate(pages, 1):
        line.update(count, "pages", corpus.share)
        yield page
    line.done(count, "pages")
