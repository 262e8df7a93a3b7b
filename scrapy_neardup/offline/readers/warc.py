"""The pages of a WARC file (ISO 28500), through warcio.

Damage that warcio accepts (a record cut short, a wrong length, a header without end) is an error
here. `gzip` decompresses, because it verifies checksums. Both the bytes read and the bytes decoded
of a page are bounded: some hundred kB of gzip hold gigabytes, and one chunk of a chunked body may
be as large as its file.
"""

from __future__ import annotations

import logging
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from email.message import Message
from io import BytesIO
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.compression import decompressed
from scrapy_neardup.offline.readers.files import MAX_PAGE, FoundPage
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns
from scrapy_neardup.text.sniffing import looks_like_html
from scrapy_neardup.urls import redact

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_log = logging.getLogger(__name__)

_HTML = ("text/html", "application/xhtml+xml")
_QUOTED = 80
"""Maximum length of a message of warcio in characters."""
_MAX_HEADER = 1 << 20
"""Maximum size of a header in bytes."""
_PART = 1 << 16
"""Number of bytes read or decoded at a time."""
_RECORD = b"WARC/"
"""First bytes of a record."""
_UNKNOWN = "application/octet-stream"
"""Media type of a response that declares none (RFC 9110, section 8.3); its body decides."""


def warc_pages(file: IO[bytes], path: str, _: Columns = USUAL) -> Iterator[FoundPage]:
    """Yield the pages of an uncompressed file.

    They are HTML responses with status 200, decoded; HTML that was archived without a response
    (records `resource` and `conversion`); and the text of conversions (WET files).
    """
    from warcio.archiveiterator import WARCIterator  # noqa: PLC0415  (an extra)
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    # _response reads HTTP headers, because warcio fails on records without HTTP.
    stream = _Stream(file, path)
    records = WARCIterator(stream, no_record_parse=True)
    records.INC_RECORD = ""  # its message has the whole damaged record
    number, count = -1, 0
    try:
        for number, record in enumerate(records):
            stream.left = None
            page = _page(record, number)
            while record.raw_stream.read(_PART):
                pass
            stream.left = _MAX_HEADER
            records.read_to_end()
            if record.length is None or record.raw_stream.tell() < record.length:
                raise InputError(f"{path}: ends in the middle of a record; was it cut short?")
            if records.err_count:
                raise InputError(f"{path}: a record isn't as long as its Content-Length says")
            if page is not None:
                count += 1
                yield page
    except ArchiveLoadFailed as error:
        quoted = repr(error.msg[:_QUOTED])  # the message quotes the file's bytes
        raise InputError(f"{path}: not a WARC file, or a damaged one: {quoted}") from error
    if not count:
        _log.warning("%s: none of its %d records is a page of HTML or its text", path, number + 1)


Reader = Callable[[IO[bytes]], IO[bytes]]
"""Function that returns a file as it is, or its decompressed content."""


def divided(path: str, readers: Iterable[Reader]) -> tuple[Reader, array[int]]:
    """Return the first of `readers` by which records can be told apart, and their offsets, int64.

    As it is, a file is divided if each record is compressed on its own.
    """
    failed: InputError | None = None
    for reader in readers:
        with files.reading(path), files.opened(path) as file, files.opened(path) as again:
            try:
                offsets = array("q", _record_offsets(reader(file), path))
            except InputError as error:
                failed = failed or error
                continue
            if reader is decompressed or _begin_records(again, offsets):
                return reader, offsets
    raise failed or InputError(f"{path}: can't be divided into records")


def _begin_records(file: IO[bytes], offsets: array[int]) -> bool:
    """Return whether a record begins at each offset, and not within a member of gzip.

    warcio takes a member that begins within a record for another record.
    """
    for before, offset in pairwise([-1, *offsets]):
        if offset <= before:
            return False
        file.seek(offset)
        start = file.read(1 << 10)
        if start.startswith(b"\x1f\x8b"):
            start = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start, len(_RECORD))
        if not start.startswith(_RECORD):
            return False
    return True


def _record_offsets(file: IO[bytes], path: str) -> Iterator[int]:
    from warcio.archiveiterator import WARCIterator  # noqa: PLC0415  (an extra)
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415  (an extra)

    records = WARCIterator(file, no_record_parse=True)
    records.INC_RECORD = ""
    try:
        for record in records:
            while record.raw_stream.read(_PART):
                pass
            yield records.get_record_offset()
    except ArchiveLoadFailed as error:
        raise InputError(
            f"{path}: can't be divided into records; is there something after the last one?"
            " 'warcio recompress' repairs that"
        ) from error


def _page(record: ArcWarcRecord, number: int) -> FoundPage | None:
    """Return the page of a record, or None if it has none."""
    url = record.rec_headers.get_header("WARC-Target-URI")
    kind = record.rec_headers.get_header("Content-Type") or ""
    if not url or not record.length:
        return None
    found: tuple[str, list[str] | None] | None = None
    if kind.lower().startswith("application/http"):
        found = _response(record) if record.rec_type == "response" else None
    elif record.rec_type in {"resource", "conversion"}:
        found = kind, []
    if found is None:
        return None
    header = Message()
    # A type without a stroke is none; one that was sent twice is once there.
    header["Content-Type"] = (found[0] if "/" in found[0] else _UNKNOWN).partition(",")[0]
    content_type = header.get_content_type()
    is_text = record.rec_type == "conversion" and content_type == "text/plain"
    if not is_text and content_type not in (*_HTML, _UNKNOWN):
        return None
    body = _body(record, found[1])
    if content_type == _UNKNOWN and body is not None and not looks_like_html(body):
        return None
    return FoundPage(
        page=redact(url),
        url=url,
        html=None if is_text else body,
        text=files.unicode_of(body) if is_text and body is not None else None,
        content_type=None if is_text else content_type,
        encoding=header.get_content_charset(),
        row=number,
    )


def _response(record: ArcWarcRecord) -> tuple[str, list[str] | None] | None:
    """Return media type, and content and transfer codings, of a response with status 200.

    There are no codings (None) if its header is too long to be read.
    """
    from warcio.limitreader import LimitReader  # noqa: PLC0415  (an extra)
    from warcio.statusandheaders import StatusAndHeadersParser  # noqa: PLC0415  (an extra)

    limited = LimitReader(record.raw_stream, _MAX_HEADER)
    headers = StatusAndHeadersParser([], verify=False).parse(limited)
    if headers.get_statuscode() != "200":
        return None
    if not limited.limit:
        return _HTML[0], None
    codings = [
        coding.strip().lower()
        for name in ("content-encoding", "transfer-encoding")
        for key, value in headers.headers
        if key.lower() == name
        for coding in value.split(",")
    ]
    return headers.get_header("Content-Type") or "", codings


class _Stream:
    """A stream whose end is an error, because warcio takes an EOFError for the end of the file.

    `left` is the number of bytes that may still be read, because warcio reads headers to their
    ends; None: any number.
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
        with files.reading(self._path):
            return self._file.read(size)


def _body(record: ArcWarcRecord, codings: list[str] | None) -> bytes | None:
    """Return the decoded body of a record; None if over `MAX_PAGE` bytes, stored or decoded."""
    if codings is None:
        return None
    body: bytes | None = record.raw_stream.read(MAX_PAGE + 1)
    if len(body or b"") > MAX_PAGE:
        return None
    for coding in reversed(codings):
        if body is not None and coding in _DECODED:
            body = _decoded(body, _DECODED[coding])
    return body


def _decoded(body: bytes, parts_of: Callable[[bytes], Iterator[bytes]]) -> bytes | None:
    """Return a body, the beginning of a damaged one, or None if it is too long.

    A body that isn't encoded, although its header says so, is returned unchanged.
    """
    parts, size = [], 0
    try:
        for part in parts_of(body):
            parts.append(part)
            size += len(part)
            if size > MAX_PAGE:
                return None
    except InputError:
        raise
    except Exception:  # noqa: BLE001  (each library has its own for damaged data)
        return b"".join(parts) if size else body
    return b"".join(parts)


_CHUNK = re.compile(rb"([\da-fA-F]+)[ \t]*(?:;[^\r\n]*)?\r\n")
"""The line before a chunk: its size, and extensions."""


def _dechunked(body: bytes) -> Iterator[bytes]:
    """Decode `chunked` (RFC 9112, section 7.1), without the trailers behind the last chunk.

    warcio takes trailers, and the size of a chunk at whose end a body was cut, for content.
    """
    content, at = bytearray(), 0
    while (found := _CHUNK.match(body, at)) and (size := int(found[1], 16)):
        content += body[found.end() : found.end() + size]
        at = found.end() + size + len(b"\r\n")
    if not (found or at):
        raise ValueError("it isn't chunked")
    yield bytes(content)


def _unpacked(body: bytes) -> Iterator[bytes]:
    """Decode gzip and Zstandard, by their first bytes."""
    file: Any = decompressed(BytesIO(body))
    while part := file.read1(_PART):
        yield part


def _inflated(body: bytes) -> Iterator[bytes]:
    """Decode `deflate`: zlib's format, or without its header, as some servers send it."""
    is_zlib = body[:1] == b"\x78" and not int.from_bytes(body[:2], "big") % 31
    decoder = zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
    for start in range(0, len(body), _PART):
        data = body[start : start + _PART]
        while data and not decoder.eof:
            yield decoder.decompress(data, _PART)
            data = decoder.unconsumed_tail


def _unbrotlied(body: bytes) -> Iterator[bytes]:
    decoder = files.required("Brotli needs the package brotli", "brotli", "warc").Decompressor()
    for start in range(0, len(body), _PART):
        yield decoder.process(body[start : start + _PART], output_buffer_limit=_PART)
        while not decoder.can_accept_more_data():
            yield decoder.process(b"", output_buffer_limit=_PART)


_DECODED: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    **dict.fromkeys(("gzip", "x-gzip", "zstd"), _unpacked),
    "deflate": _inflated,
    "br": _unbrotlied,
    "chunked": _dechunked,
}
"""Content or transfer coding -> function that yields a body's parts."""
