"""Files compressed with gzip or Zstandard."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import GzipFile
from importlib import import_module
from io import BufferedReader
from typing import IO, Any, cast

from scrapy_neardup.errors import INSTALL, InputError

try:
    _zstd: Any = import_module("compression.zstd")
except ImportError:
    try:
        _zstd = import_module("backports.zstd")
    except ImportError:
        _zstd = None
DAMAGED: tuple[type[Exception], ...] = (zlib.error, *([_zstd.ZstdError] if _zstd else []))
"""Exceptions for damaged compressed data."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""Magic number of a first frame with a dictionary, which some WARC files have."""


def decompressed(file: IO[bytes]) -> IO[bytes]:
    """Return `file`, or its decompressed content if it is compressed."""
    # A pipe can't be read twice; what fsspec opens may have no peek of its own.
    buffered = file if isinstance(file, BufferedReader) else BufferedReader(cast("Any", file))
    magic = buffered.peek(4)
    if magic.startswith(_GZIP_MAGIC):
        return cast("IO[bytes]", GzipFile(fileobj=buffered))
    if not magic.startswith((_ZSTD_MAGIC, _ZSTD_DICTIONARY)):
        return buffered
    zstd, words = zstandard(), None
    if magic.startswith(_ZSTD_DICTIONARY):
        words = buffered.read(int.from_bytes(buffered.read(8)[4:], "little"))
        words = zstd.ZstdDict(zstd.decompress(words) if words[:4] == _ZSTD_MAGIC else words)
    return BufferedReader(zstd.ZstdFile(buffered, zstd_dict=words))


@contextmanager
def compressed(target: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    """Yield a file that compresses as the extension of its path says."""
    if path.lower().endswith(".gz"):
        with GzipFile("", "wb", 6, target, mtime=0) as file:
            yield cast("IO[bytes]", file)
    elif path.lower().endswith(".zst"):
        with zstandard().ZstdFile(target, "w") as file:
            yield file
    else:
        yield target


def zstandard() -> Any:
    """Return the module for Zstandard: Python's own from 3.14 on, else its backport."""
    if _zstd is None:
        raise InputError(f"Zstandard needs backports.zstd: {INSTALL.format('[zstd]')}")
    return _zstd
