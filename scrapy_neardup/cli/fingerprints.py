"""Inputs and binary results of the verbs on files of fingerprints."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TextIO, cast

from scrapy_neardup.cli.common import Progress
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.files.atomic import written_aside
from scrapy_neardup.offline.files.fingerprintfiles import open_source
from scrapy_neardup.offline.files.sources import Chain, Source


def open_inputs(paths: Sequence[str], column: str, *, stored: bool = False) -> Source:
    """Return the fingerprints of all `paths`, with consecutive row numbers.

    `stored` asks for what a store keeps of pages, too, where the files say it.
    """
    if paths.count("-") > 1:
        raise InputError("-: standard input can be read only once")
    return Chain([open_source(path, column=column, stored=stored) for path in paths])


@contextmanager
def binary_output(path: str) -> Iterator[IO[bytes]]:
    """Yield a binary file for results; ``-`` is standard output, any other is written aside."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with written_aside(path) as aside:
        yield aside


def progress_line(wanted: bool | None, results: IO[bytes]) -> Progress:
    """Return the progress line of a verb with binary results."""
    # It only asks them whether they are a terminal.
    return Progress(wanted, cast("TextIO", results))
