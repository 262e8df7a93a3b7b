"""Documents in text files (JSON lines, arrays of JSON, CSV), split without losing a byte.

Invalid UTF-8 bytes are escaped while a file is in memory (PEP 383), and written unchanged.
"""

from __future__ import annotations

import csv
import json
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.compression import decompressed
from scrapy_neardup.offline.readers.files import MAX_PAGE, FoundPage
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns, page_of

MAX_LINE = 2 * MAX_PAGE
"""Maximum size of a line or document in bytes, for files whose lines never end."""
_PART = 1 << 20
"""Number of characters of an array read at a time."""
Skipped = Callable[[InputError], None]
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Piece(NamedTuple):
    """A part of a file; the concatenation of all pieces is the file.

    `row` numbers its document from 0; None: it has none, such as a blank line. `item` returns its
    object, or raises an `InputError` that names it.
    """

    raw: bytes
    row: int | None = None
    item: Callable[[], Any] = lambda: None


def pieces(path: str, kind: str) -> Iterator[Piece]:
    """Yield the pieces of the file at `path`."""
    with files.reading(path), files.opened(path) as file:
        yield from KINDS[kind](decompressed(file), path)


def raised(error: InputError) -> None:
    """Raise an error."""
    raise error


def text_rows(
    kind: str,
    file: IO[bytes],
    path: str,
    columns: Columns = USUAL,
    skipped: Skipped = raised,
    *,
    before: int = 0,
) -> Iterator[FoundPage]:
    """Yield the documents of a file of one of the `KINDS`; of lines with some `before` them.

    `skipped` is called with the error of each row that can't be read.
    """
    found = KINDS[kind](file, path) if not before else _lines(file, path, before)
    for piece in found:
        if piece.row is not None:
            number = piece.row + 1
            where = f"{path}, {'line' if kind == 'lines' else 'row'} {number}"
            try:
                page = page_of(piece.item(), columns, where, path, number)
            except InputError as error:
                skipped(error)
            else:
                yield page


def text_page(file: IO[bytes], path: str, _: Columns = USUAL) -> Iterator[FoundPage]:
    """Yield the single document of a plain text file in UTF-8."""
    content = file.read(MAX_PAGE + 1)
    text = None if len(content) > MAX_PAGE else files.unicode_of(content).removeprefix(_BOM)
    yield FoundPage(page=files.printable(path), text=text)


def _lines(file: IO[bytes], path: str, before: int = 0) -> Iterator[Piece]:
    for number, line in enumerate(iter(partial(file.readline, MAX_LINE), b""), before + 1):
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            yield Piece(b"", number - 1, _passed(file, path, number))
        elif line.isspace():
            yield Piece(line)
        else:
            yield Piece(line, number - 1, partial(_line, line, path, number))


def _passed(file: IO[bytes], path: str, number: int) -> Callable[[], Any]:
    """Read to the end of a line that is too long; return a function that raises the error."""
    error = InputError(f"{path}, line {number}: longer than {MAX_LINE >> 20} MiB")
    while part := file.readline(_PART):
        if part.endswith(b"\n"):
            return partial(raised, error)
    raise error


def _line(line: bytes, path: str, number: int) -> Any:
    try:
        text = line.decode("utf-8", "surrogateescape")
        return json.loads(text.removeprefix(_BOM) if number == 1 else text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {number}: not a line of JSON ({error})") from error


def _array(file: IO[bytes], path: str) -> Iterator[Piece]:
    """Yield the elements of an array, each with the comma and the white space before it."""
    decode, read = json.JSONDecoder().raw_decode, _decoded(file)
    buffer = read(_PART)
    start = buffer.index("[") + 1
    yield Piece(_bytes(buffer[:start]))
    row, at = 0, start
    while True:
        while at < len(buffer) and (buffer[at].isspace() or buffer[at] == ","):
            at += 1
        if buffer[at : at + 1] == "]":
            break
        try:
            item, end = decode(buffer, at)
        except RecursionError as error:
            raise InputError(f"{path}, row {row + 1}: not JSON ({error})") from error
        except ValueError as error:
            more = read(max(_PART, len(buffer)))
            if not more or len(buffer) - start > MAX_LINE:
                raise InputError(f"{path}, row {row + 1}: not JSON ({error})") from error
            buffer, at, start = buffer[start:] + more, at - start, 0
            continue
        yield Piece(_bytes(buffer[start:end]), row, partial(_same, item))
        row, at, start = row + 1, end, end
    while buffer:
        yield Piece(_bytes(buffer[start:]))
        buffer, start = read(_PART), 0


def _json(file: IO[bytes], path: str) -> Iterator[Piece]:
    """Yield the pieces of a file that may be an array or lines of objects."""
    start = file.peek(1 << 12) if hasattr(file, "peek") else b""
    is_array = start.decode("utf-8", "ignore").removeprefix(_BOM).lstrip().startswith("[")
    return (_array if is_array else _lines)(file, path)


def _csv(file: IO[bytes], path: str, delimiter: str = ",") -> Iterator[Piece]:
    """Yield the records of RFC 4180; the first one names the columns."""
    taken: list[bytes] = []

    def fed() -> Iterator[str]:
        for line in iter(partial(file.readline, MAX_LINE), b""):
            taken.append(line)
            if sum(map(len, taken)) >= MAX_LINE:
                raise InputError(f"{path}: a row is longer than {MAX_LINE >> 20} MiB")
            text = line.decode("utf-8", "surrogateescape")
            yield text.removeprefix(_BOM) if is_first else text

    is_first, names, row = True, [""], -1
    csv.field_size_limit(MAX_LINE)
    try:
        for values in csv.reader(fed(), delimiter=delimiter):
            raw = b"".join(taken)
            taken.clear()
            if is_first or not values:
                yield Piece(raw)
                is_first, names = False, values if is_first else names
                continue
            row += 1
            yield Piece(raw, row, partial(_named, names, values, path, row + 1))
    except csv.Error as error:
        raise InputError(f"{path}, row {row + 2}: not CSV ({error})") from error


def _named(names: list[str], values: list[str], path: str, number: int) -> dict[str, str | None]:
    if len(values) != len(names):
        raise InputError(
            f"{path}, row {number}: has {len(values)} fields, and the first line {len(names)}"
        )
    return dict(zip(names, values, strict=True))


def _decoded(file: IO[bytes]) -> Callable[[int], str]:
    """Return a function that reads a number of bytes as text; "" is the end."""
    decode = getincrementaldecoder("utf-8")("surrogateescape").decode

    def read(size: int) -> str:
        part = file.read(size)
        return decode(part, not part)

    return read


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _same(item: Any) -> Any:
    return item


KINDS: dict[str, Callable[[IO[bytes], str], Iterator[Piece]]] = {
    "lines": _lines,
    "json": _json,
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
}
"""Format -> function that yields its pieces."""
