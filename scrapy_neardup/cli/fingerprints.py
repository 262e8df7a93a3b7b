"""Inputs and binary results of the verbs for files of fingerprints."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from scrapy_neardup.offline.files.atomic import atomic_file
from scrapy_neardup.offline.files.fingerprintfiles import open_source
from scrapy_neardup.offline.files.sources import Chain, Source
from scrapy_neardup.offline.readers.files import check_stdin


def open_inputs(paths: Sequence[str], column: str, *, stored: bool = False) -> Source:
    """Open the fingerprints of all `paths`, with consecutive row numbers.

    With `stored`, what a store keeps of pages is read, too, if the files have it.
    """
    check_stdin(paths)
    return Chain([open_source(path, column=column, stored=stored) for path in paths])


@contextmanager
def binary_output(path: str) -> Iterator[IO[bytes]]:
    """Yield a binary file that appears when it is complete; ``-`` is standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_file(path) as file:
        yield file
