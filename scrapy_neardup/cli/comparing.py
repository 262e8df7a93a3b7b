"""Options of the verbs on exact resemblance: which features of pages are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from scrapy_neardup.cli.common import Progress
from scrapy_neardup.cli.options import output_option, progress_option, setting_option, together
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.options import OPTIONS

Features = TypeVar("Features")

shingle_size_option = setting_option("shingle_size", help=OPTIONS["shingle_size"].help)

text_options = together(
    setting_option("text"),
    setting_option("ignore"),
    output_option,
    progress_option,
)
"""The options on text, output and progress."""


def watched(pages: Iterable[Features], line: Progress, corpus: Corpus) -> Iterator[Features]:
    """Yield the pages of a corpus, and show how much of it has been read."""
    count = 0
    for count, page in enumerate(pages, 1):
        line.update(count, "pages", corpus.share)
        yield page
    line.done(count, "pages")
