"""Helpers of several verbs: exit statuses of errors, output files, a progress line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from io import TextIOWrapper
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeVar

import click

from scrapy_neardup.errors import (
    ConfigurationError,
    InputError,
    NeardupError,
    OutputError,
    StoreCorruptError,
    StoreLockedError,
    StoreMismatchError,
)
from scrapy_neardup.offline.readers.files import atomic_file
from scrapy_neardup.settings.catalogue import as_flags

if TYPE_CHECKING:
    from scrapy_neardup.offline.readers.corpus import Corpus

T = TypeVar("T")


class Unusable(click.ClickException):
    """A wrong option or input: exit status 2, as for click's usage errors."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user interrupted the run: exit status 130, as in shells."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, which isn't an error."""
        click.echo(f"\n{self.format_message()}", file, err=True)


def failure(error: NeardupError | OSError) -> click.ClickException:
    """Return the error that ends the command: `Unusable`, or one with exit status 1."""
    unusable = (
        ConfigurationError,
        InputError,
        OutputError,
        StoreCorruptError,
        StoreLockedError,
        StoreMismatchError,
    )
    kind = Unusable if isinstance(error, unusable) else click.ClickException
    return kind(escaped(as_flags(str(error))))


def escaped(message: str) -> str:
    """Return `message` with escaped control characters, which a terminal would obey.

    Line ends are escaped, too: messages contain names chosen by others.
    """
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in message
    )


@contextmanager
def output(path: str) -> Iterator[TextIO]:
    """Yield a text file that appears when it is complete; ``-`` is standard output.

    Write bytes to its `buffer`.
    """
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    with atomic_file(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        yield text


@contextmanager
def rows_to(path: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that writes a row of JSON lines, or Parquet by the file's name.

    The file appears when it is complete; see `output`.
    """
    with output(path) as file:
        if path.endswith(".parquet"):
            from scrapy_neardup.offline.files.rowfiles import ParquetRows  # noqa: PLC0415

            yield (rows := ParquetRows())
            rows.write(file.buffer)
        else:
            yield lambda row: click.echo(json.dumps(row), file)


class Progress:
    """The progress of a long run: one line on standard error, redrawn in place.

    It is shown if `wanted`. With None it is shown if standard error is a terminal, and the results
    of the run go to another `path`.
    """

    def __init__(self, wanted: bool | None, path: str = "-") -> None:
        self._terminal = sys.stderr.isatty()
        is_free = self._terminal and not (path == "-" and sys.stdout.isatty())
        self.shown = is_free if wanted is None else wanted
        self._every = 0.2 if self._terminal else 10.0
        self._start = monotonic()
        self._due = self._start + self._every

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return monotonic() - self._start

    def update(self, count: int, unit: str, share: float | None = None) -> None:
        """Show that `count` of `unit` are done, with the `share` in [0, 1] if it is known."""
        if self.shown and monotonic() >= self._due:
            self._due = monotonic() + self._every
            self._draw(count, unit, share)

    def reading(self, pages: Iterable[T], corpus: Corpus) -> Iterator[T]:
        """Yield the pages of a corpus, and show how much has been read."""
        count = 0
        for count, page in enumerate(pages, 1):
            self.update(count, "pages", corpus.share)
            yield page
        self.done(count, "pages")

    def done(self, count: int, unit: str) -> None:
        """Clear the line; in a log, where that is impossible, leave the final count."""
        if self.shown and self._terminal:
            click.echo("\r\x1b[K", nl=False, err=True)
        elif self.shown:
            self._draw(count, unit, 1.0)

    def _draw(self, count: int, unit: str, share: float | None) -> None:
        seconds = max(self.seconds, 1e-3)
        line = f"{count:,} {unit}, {count / seconds:,.0f} a second"
        if share is not None:
            line = f"{share:4.0%}  {line}"
        if share and share < 1:
            line += f", {timedelta(seconds=round(seconds * (1 - share) / share))} left"
        start = "\r\x1b[K" if self._terminal else ""
        click.echo(start + line, nl=not self._terminal, err=True)
