"""A page of a collection before it is parsed, and errors of reading."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from scrapy_neardup.errors import InputError

T = TypeVar("T")

MAX_PAGE = 1 << 26
"""Maximum bytes of a page, decompressed; as Scrapy's ``DOWNLOAD_MAXSIZE``."""


_BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A page of a collection, as it was found.

    `page` is its name: its URL, or else its path or ``FILE:LINE``. Of `html` (bytes) and `text` it
    has one, or neither where it is longer than `MAX_PAGE`; `content_type`, in lower case, and
    `encoding` are as its source declares them. `row` numbers its row, line or record in the file
    from 0; `id` is its value in the column of ids, `values` those of other columns that were asked
    for.
    """

    page: str
    url: str | None = None
    html: bytes | None = None
    text: str | None = None
    content_type: str | None = None
    encoding: str | None = None
    row: int = 0
    id: str | None = None
    values: Mapping[str, Any] | None = None


def printable(path: str) -> str:
    """Return `path` with bytes that aren't UTF-8 spelt out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def batches(
    items: Iterable[T], most: int, size: Callable[[T], int] = lambda _: 0, heaviest: int = 1
) -> Iterator[list[T]]:
    """Yield lists of `most` items, or of fewer whose sizes add up to `heaviest` or more."""
    batch: list[T] = []
    held = 0
    for item in items:
        batch.append(item)
        held += size(item)
        if len(batch) == most or held >= heaviest:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def batches_of_records(records: Iterable[Record], most: int = 16) -> Iterator[list[Record]]:
    """Yield records to be sent together: a message costs as much as a short page."""
    return batches(
        records, most, lambda record: len(record.html or record.text or ""), _BATCH_BYTES
    )


def required(what: str, module: str, extra: str, error: type[Exception] = InputError) -> Any:
    """Return a module of an extra, or raise the `error` that `what` needs it."""
    try:
        return import_module(module)
    except ImportError as missing:
        raise error(f"{what}: pip install 'scrapy-neardup[{extra}]'") from missing


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn errors while `path` is read into an `InputError` that names it."""
    try:
        yield
    except EOFError:
        raise InputError(
            f"{path}: its compressed data ends too early; was it cut short while copying?"
        ) from None
    except zlib.error as error:
        raise InputError(f"{path}: its compressed data is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror or error}") from error
