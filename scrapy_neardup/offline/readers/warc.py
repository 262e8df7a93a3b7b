"""The HTML pages of a WARC file (ISO 28500), through warcio.

What warcio lets pass (a record cut short, a wrong length, a header without end) is found here and
is an error. `gzip` decompresses, as it verifies checksums. What is read and what is decoded of a
page are both bounded: some hundred kB of gzip hold gigabytes, and one chunk of a chunked body may
be as large as its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.message import Message
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import MAX_PAGE, Record, reading
from scrapy_neardup.offline.readers.tabular import USUAL, Columns
from scrapy_neardup.text.sniffing import looks_like_html
from scrapy_neardup.urls import redact

if TYPE_CHECKING:
    from warcio.archiveiterator import WARCIterator
    from warcio.recordloader import ArcWarcRecord

_HTML = ("text/html", "application/xhtml+xml")
_QUOTED = 80
"""Maximum characters of a message of warcio that are passed on."""
_MAX_HEADER = 1 << 20
"""Maximum bytes of a header."""
_PART = 1 << 16
"""Bytes that are read at a time."""
_SLICE = 1 << 12
"""Number of compressed bytes decoded at once: of gzip, some 4 MB of output."""
_UNKNOWN = "application/octet-stream"
"""Media type of a response that doesn't declare one (RFC 9110, section 8.3); its body is
examined."""


def warc_pages(file: IO[bytes], path: str, _: Columns = USUAL) -> Iterator[Record]:
    """Yield the HTML pages answered with status 200, decoded, of a file that isn't compressed."""
    from warcio.archiveiterator import WARCIterator  # noqa: PLC0415  (an extra)
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    # HTTP headers are left to _page: warcio fails on records that hold no HTTP at all.
    stream = _Stream(file, path)
    records = WARCIterator(stream, no_record_parse=True)
    try:
        for number, record in enumerate(records):
            stream.left = None
            page = _page(record, number) if record.rec_type == "response" else None
            while record.raw_stream.read(_PART):
                pass
            stream.left = _MAX_HEADER
            _check_end(records, record, path)
            if page is not None:
                yield page
    except ArchiveLoadFailed as error:
        quoted = repr(error.msg[:_QUOTED])  # it quotes the file, whatever bytes that holds
        raise InputError(f"{path}: not a WARC file, or a damaged one: {quoted}") from error


def record_offsets(file: IO[bytes], path: str) -> Iterator[int]:
    """Yield the offset of each record of a WARC file, which isn't compressed as a whole."""
    from warcio.archiveiterator import WARCIterator  # noqa: PLC0415  (an extra)
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    records = WARCIterator(file, no_record_parse=True)
    try:
        for record in records:
            while record.raw_stream.read(_PART):
                pass
            yield records.get_record_offset()
    except ArchiveLoadFailed as error:
        raise InputError(
            f"{path}: can't be taken apart record by record; is it compressed as a whole?"
            " 'warcio recompress' mends that"
        ) from error


def _page(record: ArcWarcRecord, number: int) -> Record | None:
    """Return the page of a response record, or None if it has none."""
    from warcio.limitreader import LimitReader  # noqa: PLC0415  (an extra)
    from warcio.statusandheaders import StatusAndHeadersParser  # noqa: PLC0415  (an extra)

    url = record.rec_headers.get_header("WARC-Target-URI")
    kind = record.rec_headers.get_header("Content-Type") or ""
    if not url or not kind.lower().startswith("application/http") or not record.length:
        return None
    record.http_headers = StatusAndHeadersParser([], verify=False).parse(
        LimitReader(record.raw_stream, _MAX_HEADER)
    )
    if record.http_headers.get_statuscode() != "200":
        return None
    header = Message()
    header["Content-Type"] = record.http_headers.get_header("Content-Type") or _UNKNOWN
    content_type = header.get_content_type()
    if content_type not in (*_HTML, _UNKNOWN):
        return None
    html = _body(record, MAX_PAGE)
    if content_type == _UNKNOWN and html is not None and not looks_like_html(html):
        return None
    return Record(
        page=redact(url),
        url=url,
        html=html,
        content_type=content_type,
        encoding=header.get_content_charset(),
        row=number,
    )


def _check_end(records: WARCIterator, record: ArcWarcRecord, path: str) -> None:
    """Check that a record was complete, and that nothing follows it."""
    records.read_to_end()
    if record.length is None or record.raw_stream.tell() < record.length:
        raise InputError(f"{path}: ends in the middle of a record; was it cut short?")
    if records.err_count:
        raise InputError(f"{path}: a record isn't as long as its Content-Length says")


class _Stream:
    """A stream whose end is an error: warcio takes an EOFError for the end of the file.

    `left` is how many bytes may still be read, as warcio reads headers to their ends; None: any
    number.
    """

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file = file
        self._path = path
        self.tell = file.tell
        self.left: int | None = _MAX_HEADER

    def read(self, size: int) -> bytes:
        if self.left is not None:
            self.left -= size
            if self.left < 0:
                raise InputError(
                    f"{self._path}: a header of more than {_MAX_HEADER >> 20} MiB; is it damaged?"
                )
        with reading(self._path):
            return self._file.read(size)


def _body(record: ArcWarcRecord, most: int) -> bytes | None:
    """Return the decoded body of a response; None if over `most` bytes, stored or decoded."""
    from warcio.limitreader import LimitReader  # noqa: PLC0415  (an extra)

    whole = record.raw_stream
    stored = record.raw_stream = LimitReader(whole, most + 1)
    stream = record.content_stream()
    record.raw_stream = whole
    if stream is not stored:
        stream.DECOMPRESSORS = {
            name: partial(_Decoder, make, most) for name, make in stream.DECOMPRESSORS.items()
        }
        stream.set_decomp(stream.decomp_type)
    decoded: bytes = stream.read(most + 1)
    return None if stored.limit == 0 or len(decoded) > most else decoded


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
        """Return the rest of the decoded data."""
        return self._decompressor.flush()
