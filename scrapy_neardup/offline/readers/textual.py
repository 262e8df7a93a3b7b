"""Documents in text files (JSON lines, arrays of JSON, CSV), split without losing a byte.

Invalid UTF-8 bytes are escaped while a file is in memory (PEP 383), and written unchanged.
"""

from __future__ import annotations

import csv
import json
import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import chain
from typing import IO, Any, NamedTuple

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.compression import decompressed
from scrapy_neardup.offline.readers.files import MAX_PAGE, FoundPage
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns, page_of, present

MAX_LINE = 2 * MAX_PAGE
"""Maximum size of a line or document in bytes, for files whose lines never end."""
_PART = 1 << 20
"""Number of characters of an array read at a time."""
Skipped = Callable[[InputError], None]
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_MARK = _BOM.encode()
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of text in UTF-16."""
_DELIMITERS = ",;\t|"
"""Delimiters of CSV; if several are equally frequent in the first line, the first of these
counts."""
_SEP = re.compile(rb"(?:\xef\xbb\xbf)?sep=(.)\r?\n")
"""A line before the names of columns, by which Excel knows the delimiter."""


class Piece(NamedTuple):
    """A part of a file; the concatenation of all pieces is the file.

    `row` numbers its document from 0; None: it has none, such as a blank line. `item` returns its
    object, or raises an `InputError` that names it; that of the first line of CSV is a `Header`.
    """

    raw: bytes
    row: int | None = None
    item: Callable[[], Any] = lambda: None


class Header(NamedTuple):
    """The first line of a CSV file."""

    names: list[str]
    delimiter: str


def pieces(path: str, kind: str) -> Iterator[Piece]:
    """Yield the pieces of the file at `path`; ``-`` is standard input."""
    opened = nullcontext(files.standard_input()) if path == "-" else files.opened(path)
    with files.reading(path), opened as file:
        yield from _pieces(kind, decompressed(file), path)


def objects(path: str, what: str, torn: Counter[str] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the objects of a file of JSON lines, with the place of each.

    Any other line that isn't blank is an `InputError`: it isn't `what`. With `torn` lines that
    aren't JSON are counted there instead, but for the first one.
    """
    for piece in pieces(path, "lines"):
        if piece.row is not None:
            where = f"{path}, line {piece.row + 1}"
            try:
                item = piece.item()
            except InputError:
                item = None
                if torn is not None and piece.row:
                    torn[path] += 1
                    continue
            if not isinstance(item, dict):
                raise InputError(f"{where}: not {what}")
            yield where, item


def _pieces(kind: str, file: IO[bytes], path: str) -> Iterator[Piece]:
    if _peek(file).startswith(_UTF16):  # its lines can't be found
        raise InputError(f"{path}: is in UTF-16; 'iconv -f UTF-16 -t UTF-8' makes it UTF-8")
    return KINDS[kind](file, path)


def _peek(file: IO[bytes]) -> bytes:
    """Return the next bytes of a file; none of a part of lines, which can't be looked into."""
    return file.peek(1 << 12) if hasattr(file, "peek") else b""


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
    """Yield the documents of a file of one of the `KINDS`; `before` lines precede a part of lines.

    `skipped` is called with the error of each row that can't be read.
    """
    found = _pieces(kind, file, path) if not before else _lines(file, path, before)
    for piece in found:
        if piece.row is None:
            if isinstance(header := piece.item(), Header):
                present([*dict.fromkeys(header.names)], path, columns)
        else:
            number = piece.row + 1
            where = f"{path}, {'line' if kind == 'lines' else 'row'} {number}"
            try:
                page = page_of(piece.item(), columns, where, path, number)
            except InputError as error:
                skipped(error)
            else:
                yield page


def text_page(file: IO[bytes], path: str, _: Columns = USUAL) -> Iterator[FoundPage]:
    """Yield the single document of a plain text file, in UTF-8, or UTF-16 with its mark."""
    content = file.read(MAX_PAGE + 1)
    if content.startswith(_UTF16):
        content = content.decode("utf-16", "replace").encode("utf-8", "surrogatepass")
    text = None if len(content) > MAX_PAGE else files.unicode_of(content).removeprefix(_BOM)
    yield FoundPage(page=files.printable(path), text=text)


def _lines(file: IO[bytes], path: str, before: int = 0) -> Iterator[Piece]:
    for number, line in enumerate(iter(partial(file.readline, MAX_LINE), b""), before + 1):
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            yield Piece(b"", number - 1, _passed(file, path, number))
        elif line.isspace() or (number == 1 and not line.removeprefix(_MARK).strip()):
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
        text = text.removeprefix(_BOM) if number == 1 else text
        try:
            return json.loads(text)
        except ValueError:  # perhaps a number is too long: `DECODER` is slower
            return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        hint = "; 'jq -c . FILE' writes an object a line" * (number == 1 and line[:1] == b"{")
        raise InputError(f"{path}, line {number}: not a line of JSON ({error}){hint}") from error


def _whole(digits: str) -> int | str:
    """Return a whole number, or its digits if there are too many for Python."""
    try:
        return int(digits)
    except ValueError:
        return digits


DECODER = json.JSONDecoder(parse_int=_whole)
"""Reads JSON with whole numbers of any length."""


def _array(file: IO[bytes], path: str) -> Iterator[Piece]:
    """Yield the elements of an array, each with the comma and the white space before it."""
    decoder = getincrementaldecoder("utf-8")("surrogateescape")

    def read(size: int) -> str:
        part = file.read(size)
        return decoder.decode(part, not part)

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
            item, end = DECODER.raw_decode(buffer, at)
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
    end = at + 1
    while buffer:
        if buffer[end:].strip():
            raise InputError(f"{path}, row {row + 1}: there is more after the end of the array")
        yield Piece(_bytes(buffer[start:]))
        buffer, start, end = read(_PART), 0, 0


def _json(file: IO[bytes], path: str) -> Iterator[Piece]:
    """Yield the pieces of a file that may be an array or lines of objects."""
    start = _peek(file).decode("utf-8", "ignore")
    is_array = start.removeprefix(_BOM).lstrip().startswith("[")
    return (_array if is_array else _lines)(file, path)


def _csv(file: IO[bytes], path: str, delimiter: str = "") -> Iterator[Piece]:
    """Yield the records of RFC 4180; the first one names the columns, and shows the delimiter."""
    read = partial(file.readline, MAX_LINE)
    before, first, named = _before_header(read)
    yield from map(Piece, before)
    unquoted = re.sub(r'"[^"]*"', "", first.decode("latin-1"))
    delimiter = delimiter or named or max(_DELIMITERS, key=unquoted.count)
    header: Header | None = None
    taken: list[str] = []

    def fed() -> Iterator[str]:
        size = 0
        for line in chain([first] if first else [], iter(read, b"")):
            size = len(line) + (size if taken else 0)
            taken.append(line.decode("utf-8", "surrogateescape"))
            if size >= MAX_LINE:
                raise InputError(f"{path}: a row is longer than {MAX_LINE >> 20} MiB")
            yield taken[-1] if header else taken[-1].removeprefix(_BOM)

    row, last = 0, [""]
    csv.field_size_limit(MAX_LINE)
    try:
        for values in csv.reader(fed(), delimiter=delimiter):
            last, raw = [*taken], _bytes("".join(taken))
            taken.clear()
            if header is None:
                header = Header(values, delimiter)
                yield Piece(raw, item=partial(_same, header))
            elif not values:
                yield Piece(raw)
            else:
                yield Piece(raw, row, partial(_named, header.names, values, path, row + 1))
                row += 1
        _check_closed(last, delimiter)
    except csv.Error as error:
        reason = "a line ends in CR alone" if "new-line" in str(error) else error
        raise InputError(f"{path}, row {row + 1}: not CSV ({reason})") from error


def _before_header(read: Callable[[], bytes]) -> tuple[list[bytes], bytes, str]:
    """Return blank lines and Excel's `sep=` line, the line after them, and a named delimiter."""
    before, named = [], ""
    while (line := read()).removeprefix(_MARK).isspace() or _SEP.fullmatch(line):
        before.append(line)
        if found := _SEP.fullmatch(line):
            named = found[1].decode("latin-1")
    return before, line, named


def _check_closed(record: list[str], delimiter: str) -> None:
    """Raise a `csv.Error` if the file ends within quotes, which `csv` accepts unless strict."""
    try:
        for _ in csv.reader(record, delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise csv.Error("the row before has a quote that is never closed") from None


def _named(names: list[str], values: list[str], path: str, number: int) -> dict[str, str | None]:
    if len(values) != len(names):
        raise InputError(
            f"{path}, row {number}: has {len(values)} fields, and the first line {len(names)}"
        )
    return dict(zip(names, values, strict=True))


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
