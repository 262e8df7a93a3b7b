"""Lines of files, wherever they are and whether or not they are compressed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from gzip import GzipFile
from io import BufferedReader
from typing import IO, Any, cast

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.record import reading
from scrapy_neardup.offline.readers.remote import opened

LONGEST_LINE = 1 << 24
"""Maximum bytes of a line; a file with a longer line isn't a file of lines."""

_GZIP_MAGIC = b"\x1f\x8b"


def check_stdin(paths: Sequence[str]) -> None:
    """Raise an `InputError` if standard input is named twice."""
    if paths.count("-") > 1:
        raise InputError("-: standard input can be read only once")


def lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that aren't blank, numbered from 1; ``-`` is standard input."""
    with ExitStack() as stack:
        stack.enter_context(reading(path))
        file = sys.stdin.buffer if path == "-" else decompressed(stack.enter_context(opened(path)))
        for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
            if not line.isspace():
                yield number, line


def numbered_lines(path: str, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield all lines of a file, numbered from 1; see `bounded_lines`."""
    with reading(path), opened(path) as file:
        yield from bounded_lines(decompressed(file), path, longest)


def bounded_lines(file: IO[bytes], path: str, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an open file, numbered from 1; one of `longest` bytes is an error."""
    for number, line in enumerate(iter(partial(file.readline, longest), b""), 1):
        if len(line) == longest:
            raise InputError(f"{path}, line {number}: longer than {longest >> 20} MiB")
        yield number, line


def decompressed(file: IO[bytes]) -> IO[bytes]:
    """Return `file`, decompressed if it is compressed with gzip."""
    # A pipe can't be read twice; what fsspec opens may have no peek of its own.
    buffered = file if isinstance(file, BufferedReader) else BufferedReader(cast("Any", file))
    if buffered.peek(2).startswith(_GZIP_MAGIC):
        return cast("IO[bytes]", GzipFile(fileobj=buffered))
    return buffered
