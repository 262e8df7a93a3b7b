"""The body of a WARC response, decoded by HTTP's rules, and no more than a page may have of it.

Rule of this room: what is read and what is decoded are both bounded, as some hundred kB of gzip
hold gigabytes, and one chunk of a chunked body may be as large as its file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_SLICE = 1 << 12
"""Number of compressed bytes decoded at once: of gzip, some 4 MB of output."""


def body(record: ArcWarcRecord, most: int) -> bytes | None:
    """Return the decoded body of a response whose HTTP headers were read; None if it is too long.

    Parameters
    ----------
    most
        Bytes that it may have, as they are stored and when they are decoded.
    """
    from warcio.limitreader import LimitReader  # noqa: PLC0415  (an extra)

    whole = record.raw_stream
    stored = record.raw_stream = LimitReader(whole, most + 1)
    try:
        stream = record.content_stream()
    finally:
        record.raw_stream = whole
    if stream is not stored:
        bounded = {
            name: partial(_Decoder, make, most) for name, make in stream.DECOMPRESSORS.items()
        }
        stream.DECOMPRESSORS = bounded
        stream.set_decomp(stream.decomp_type)
    decoded: bytes = stream.read(most + 1)
    if stored.limit == 0 or len(decoded) > most:
        return None
    return decoded


class _Decoder:
    """A decompressor that stops soon after it has given `most` bytes."""

    def __init__(self, make: Callable[[], Any], most: int) -> None:
        self._decompressor = make()
        self._left = most

    @property
    def unused_data(self) -> Any:
        """What followed the compressed data."""
        return self._decompressor.unused_data

    def decompress(self, data: bytes) -> bytes:
        """Decode `data`, or the first part of it."""
        parts = []
        for start in range(0, len(data), _SLICE):
            if self._left < 0:
                break
            parts.append(self._decompressor.decompress(data[start : start + _SLICE]))
            self._left -= len(parts[-1])
        return b"".join(parts)

    def flush(self) -> Any:
        """Return what is left."""
        return self._decompressor.flush()
