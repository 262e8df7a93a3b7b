"""Files and their lines: here or elsewhere, compressed with gzip or not.

fsspec opens a path with ``://`` (``s3://``, ``hdfs://`` ...).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from gzip import GzipFile
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Literal, cast

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.record import reading


def is_remote(path: str) -> bool:
    """Whether `path` is a URL, to be opened through fsspec."""
    return "://" in path


def opened(path: str, mode: Literal["rb", "wb"] = "rb") -> IO[bytes]:
    """Open a file, wherever it is."""
    if not is_remote(path):
        with reading(path):
            return Path(path).open(mode)
    with reading(path):
        return cast("IO[bytes]", _file_system(path).open(path, mode))


def stamp(path: str) -> tuple[int, str]:
    """Return the size of a file in bytes, and a value that changes when the file does."""
    if is_remote(path):
        system = _file_system(path)
        with reading(path):
            return int(system.size(path)), str(system.ukey(path))
    with reading(path):
        status = Path(path).stat()
    return status.st_size, str(status.st_mtime_ns)


def files_below(path: str) -> tuple[str, list[str]]:
    """Return the full URL of a folder or file, and those of the files in it, or of itself."""
    system = _file_system(path)
    with reading(path):
        found = [str(system.unstrip_protocol(each)) for each in system.find(path)]
    if not found:
        raise InputError(f"{path}: there is no such file or folder")
    return str(system.unstrip_protocol(system._strip_protocol(path))), found  # noqa: SLF001


def exists(path: str) -> bool:
    """Whether there is a file, wherever it is."""
    if not is_remote(path):
        return Path(path).exists()
    with reading(path):
        return bool(_file_system(path).exists(path))


def is_empty(folder: str) -> bool:
    """Whether a folder holds no file, or isn't there."""
    if is_remote(folder):
        with reading(folder):
            return not _file_system(folder).exists(folder)
    with reading(folder):
        return all(path.is_dir() for path in Path(folder).rglob("*"))


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it."""
    with reading(folder):
        if is_remote(folder):
            _file_system(folder).rm(folder, recursive=True)
        else:
            shutil.rmtree(folder)


def remove_parts(folder: str) -> None:
    """Remove the temporary files that killed processes left in a folder."""
    if not is_remote(folder):  # elsewhere a file appears when it is complete
        for path in Path(folder).rglob(".*.part"):
            path.unlink()


def _file_system(path: str) -> Any:
    try:
        import fsspec  # noqa: PLC0415  (an extra)

        return fsspec.core.url_to_fs(path)[0]
    except ImportError as error:
        raise InputError(
            f"{path}: {error}; files elsewhere need fsspec and the package of their file system:"
            " pip install 'scrapy-neardup[dask]', and s3fs, gcsfs ..."
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: can't be opened: {error}") from error


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
