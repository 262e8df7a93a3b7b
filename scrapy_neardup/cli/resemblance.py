"""What the verbs on exact resemblance share: which features of pages are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import click

from scrapy_neardup.cli.common import Progress
from scrapy_neardup.cli.options import ignore_option, output_option, progress_option, together
from scrapy_neardup.offline.corpora import Corpus

Features = TypeVar("Features")

shingle_size_option = click.option(
    "--shingle-size",
    metavar="N",
    type=click.IntRange(1, 64),
    default=4,
    help="Words in a shingle.",
)

text_options = together(
    click.option(
        "--text",
        type=click.Choice(["main", "full"]),
        default="main",
        help="The text that is compared: without templates (navigation, footers), or all of it.",
    ),
    ignore_option,
    output_option,
    progress_option,
)
"""The options on text, output and progress."""


def watched(pages: Iterable[Features], line: Progress, corpus: Corpus) -> Iterator[Features]:
    """Yield what `pages` yields of a corpus, and say on the way how much of it is read."""
    count = 0
    for count, page in enumerate(pages, 1):
        line.update(count, "pages", corpus.share)
        yield page
    line.done(count, "pages")
