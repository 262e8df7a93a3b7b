"""Files compressed with gzip, bzip2, xz or Zstandard, by their first bytes."""

from __future__ import annotations

import sys
import zlib
from bz2 import BZ2Decompressor, BZ2File
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from gzip import BadGzipFile, GzipFile
from importlib import import_module
from io import BufferedReader
from lzma import LZMADecompressor, LZMAError, LZMAFile
from typing import IO, Any, cast

from scrapy_neardup.errors import INSTALL, InputError

_zstd: Any = None
for _module in ("backports.zstd", "compression.zstd"):  # the latter is Python's own
    with suppress(ImportError):
        _zstd = import_module(_module)
DAMAGED: tuple[type[Exception], ...] = (
    zlib.error,
    BadGzipFile,
    LZMAError,
    *([_zstd.ZstdError] if _zstd else []),
)
"""Exceptions for damaged compressed data."""


def _streams(
    file: IO[bytes], decoder: Callable[..., Any], usual: Callable[..., Any], **how: int
) -> IO[bytes]:
    """Return the content of streams, one after the other; anything else after one is an error.

    The `usual` classes end there without an error. They read by a class that Python may move; then
    they serve.
    """
    module = "compression._common._streams" if sys.version_info >= (3, 14) else "_compression"
    try:
        reader = import_module(module).DecompressReader
    except (ImportError, AttributeError):
        return cast("IO[bytes]", usual(file))
    return BufferedReader(reader(file, decoder, **how))


_MAGIC: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": lambda file: GzipFile(fileobj=file),
    b"BZh": lambda file: _streams(file, BZ2Decompressor, BZ2File),
    # A window of 128 MiB, as for Zstandard.
    b"\xfd7zXZ\0": lambda file: _streams(file, LZMADecompressor, LZMAFile, memlimit=160 << 20),
}
"""First bytes of a file -> its decompressor."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED = tuple(bytes((kind, 0x2A, 0x4D, 0x18)) for kind in range(0x50, 0x60))
"""Magic numbers of frames without data, with which some writers begin."""
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
"""Extensions of compressed files."""


def decompressed(file: IO[bytes]) -> IO[bytes]:
    """Return `file`, or its decompressed content if it is compressed."""
    # A pipe can't be read twice; a file that fsspec opens may have no peek.
    buffered = file if isinstance(file, BufferedReader) else BufferedReader(cast("Any", file))
    start = buffered.peek(6)
    for magic, open_ in _MAGIC.items():
        if start.startswith(magic):
            return cast("IO[bytes]", open_(buffered))
    if not start.startswith((_ZSTD_MAGIC, *_ZSTD_SKIPPED)):
        return buffered
    zstd, words = zstandard(), None
    if start.startswith(_ZSTD_SKIPPED[0xD]):  # a dictionary, which some WARC files have
        words = buffered.read(int.from_bytes(buffered.read(8)[4:], "little"))
        try:
            words = zstd.ZstdDict(zstd.decompress(words) if words[:4] == _ZSTD_MAGIC else words)
        except ValueError as error:
            raise zstd.ZstdError(f"its dictionary: {error}") from error
    return BufferedReader(zstd.ZstdFile(buffered, zstd_dict=words))


def compressed(target: IO[bytes], path: str) -> AbstractContextManager[IO[bytes]]:
    """Return a file that compresses as the extension of its path says."""
    return _WRITERS.get(path.lower().rpartition(".")[2], nullcontext)(target)


_WRITERS: dict[str, Callable[[IO[bytes]], AbstractContextManager[Any]]] = {
    "gz": lambda target: GzipFile("", "wb", 6, target, mtime=0),
    "bz2": partial(BZ2File, mode="w"),
    "xz": partial(LZMAFile, mode="w"),
    "zst": lambda target: zstandard().ZstdFile(target, "w"),
}


def zstandard() -> Any:
    """Return the module for Zstandard: Python's own from 3.14 on, else its backport."""
    if _zstd is None:
        raise InputError(f"Zstandard needs backports.zstd: {INSTALL.format('[zstd]')}")
    return _zstd
