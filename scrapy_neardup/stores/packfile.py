"""The file of a packed index: written in one pass, mapped into memory, verified when read.

This module knows bytes and offsets; `scrapy_neardup.tables.packed` knows their meaning. A file is
::

    magic, version                  16 bytes
    sections, each padded to 8      the parts of the pieces of `encode_index`
    checksums                       CRC-32 of every page of every section
    description                     JSON: pieces, parameters, sections, the writer's version
    length and CRC-32 of the description, version, magic       24 bytes

All numbers are little-endian. The description comes last, so that a file can be written to
a pipe. A page is verified when it is first read; directories when the file is opened.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

import numpy as np

from scrapy_neardup import __version__
from scrapy_neardup.errors import InputError
from scrapy_neardup.tables.packed.checked import Checked, Encoded, checksums
from scrapy_neardup.tables.packed.packedindex import Opened, PackedIndex

MAGIC = b"\x93NEARDUP"
VERSION = 3
"""Version of the format. Version 1 had neither records nor sorted page ids; records of version 2
had the digests of title and media, which are in the evidence now."""
_HEAD = struct.Struct("<8sII")
_TAIL = struct.Struct("<QII8s")
_ALIGN = 8
"""Alignment of the start of a section, in bytes."""


def write_pieces(file: IO[bytes], pieces: Iterable[tuple[str, Encoded]]) -> int:
    """Write the pieces that `encode_index` yields; return the number of bytes written.

    `file` need not be seekable.
    """
    file.write(_HEAD.pack(MAGIC, VERSION, 0))
    place = _HEAD.size
    described: dict[str, Any] = {}
    sums: list[bytes] = []
    for name, piece in pieces:
        parts = {}
        for part_name, part in piece.parts.items():
            length = 0
            for chunk in part.chunks():
                length += len(chunk)
                data = chunk
                # Only the last chunk isn't whole pages.
                if missing := -len(chunk) % _ALIGN:
                    data = memoryview(bytes(chunk) + bytes(missing))
                file.write(data)
                sums.append(checksums(data, part.page).tobytes())
            parts[part_name] = [place, length, part.page]
            place += -(-length // _ALIGN) * _ALIGN
        described[name] = {"parameters": piece.parameters, "parts": parts}
    for some in sums:
        file.write(some)
        place += len(some)
    text = json.dumps({"writer": __version__, "pieces": described}).encode()
    file.write(text)
    file.write(_TAIL.pack(len(text), zlib.crc32(text), VERSION, MAGIC))
    return place + len(text) + _TAIL.size


def open_packed(path: str | os.PathLike[str]) -> PackedIndex:
    """Map the packed file at `path` into memory, for as long as the index is referenced.

    Raises `InputError` if it can't be read, isn't a packed file, was written by a later version,
    or is damaged. The index raises it later, when it reads a damaged part for the first time.
    """
    name = os.fspath(path)
    try:
        with Path(name).open("rb") as file:
            empty = not os.fstat(file.fileno()).st_size
            buffer = b"" if empty else mmap(file.fileno(), 0, access=ACCESS_READ)
    except OSError as error:
        raise InputError(f"{name}: can't be read: {error.strerror or error}") from error
    return read_packed(buffer, name)


def read_packed(buffer: bytes | mmap, name: str) -> PackedIndex:
    """Return the packed index in `buffer`; errors call it `name`."""
    if buffer[: len(MAGIC)] != MAGIC:
        raise InputError(f"{name}: not a packed file; scrapy-neardup pack writes them")
    if len(buffer) >= _HEAD.size and (version := _HEAD.unpack(buffer[: _HEAD.size])[1]) != VERSION:
        why = (
            f", and version {VERSION} is the last that this release reads; upgrade scrapy-neardup"
            if version > VERSION
            else ", of an earlier release; pack the fingerprints again"
        )
        raise InputError(f"{name}: its format is version {version}{why}")
    damage = InputError(f"{name}: cut short or damaged; copy it again, or repack it")
    head = _HEAD.pack(MAGIC, VERSION, 0)
    if len(buffer) < _HEAD.size + _TAIL.size or buffer[: _HEAD.size] != head:
        raise damage
    end = len(buffer) - _TAIL.size
    length, crc, version, magic = _TAIL.unpack(buffer[end:])
    start = end - length
    text = buffer[max(start, 0) : end]
    if (version, magic) != (VERSION, MAGIC) or start < _HEAD.size or zlib.crc32(text) != crc:
        raise damage
    try:
        return PackedIndex(_opened(buffer, name, start, json.loads(text)["pieces"]))
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{name}: made by another program, or damaged beyond its checksums: {error!r}"
        ) from error


def _opened(
    buffer: bytes | mmap, name: str, end: int, pieces: dict[str, Any]
) -> dict[str, Opened]:
    """Return the pieces, from their description and its position."""
    sections = [part for piece in pieces.values() for part in piece["parts"].values()]
    padded = [-(-length // _ALIGN) * _ALIGN for _, length, _ in sections]
    counts = [-(-size // page) for size, (_, _, page) in zip(padded, sections, strict=True)]
    start = _HEAD.size + sum(padded)
    if start + 4 * sum(counts) != end:
        raise ValueError("its sections don't fill it")
    sums = iter(np.split(np.frombuffer(buffer, "<u4", sum(counts), start), np.cumsum(counts)))
    opened = {}
    for piece_name, piece in pieces.items():
        parts = {
            part_name: Checked(buffer, place, length, next(sums), page=page, name=name)
            for part_name, (place, length, page) in piece["parts"].items()
        }
        opened[piece_name] = Opened(piece["parameters"], parts)
    return opened
