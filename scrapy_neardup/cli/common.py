"""Helpers of several verbs: exit statuses of errors, output files, a progress line."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from io import TextIOWrapper
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeVar

import click

from scrapy_neardup import errors
from scrapy_neardup.offline.readers import files
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


def failure(error: errors.NeardupError | OSError) -> click.ClickException:
    """Return the error that ends the command: `Unusable`, or one with exit status 1."""
    unusable = (
        errors.ConfigurationError,
        errors.InputError,
        errors.OutputError,
        errors.StoreCorruptError,
        errors.StoreLockedError,
        errors.StoreMismatchError,
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
        if sys.stdout is None:
            raise errors.OutputError("standard output is closed; --output names a file")
        yield sys.stdout
        sys.stdout.flush()
        return
    with files.atomic_file(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        yield text


@contextmanager
def rows_to(path: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that writes a row of JSON lines, or Parquet by the file's name.

    The file appears when it is complete; see `output`.
    """
    with output(path) as file:
        if path.lower().endswith(".parquet"):
            with TemporaryFile() as spool:
                yield (rows := _ParquetRows(path, spool))
                rows.write(file.buffer)
        else:

            def write(row: Mapping[str, Any]) -> None:
                file.write(json.dumps(row) + "\n")
                if path == "-":  # a reader of standard output may wait for each row
                    file.flush()

            yield write


_GROUP = 1 << 13
"""Number of rows of a row group, and of rows whose types are inferred at once."""


class _ParquetRows:
    """Rows, held on disk until all are known, because a later row may have new columns."""

    def __init__(self, path: str, spool: IO[bytes]) -> None:
        self._path, self._spool = path, spool
        what = "results in Parquet need the package pyarrow"
        self._pyarrow = files.required(what, "pyarrow", "parquet", errors.OutputError)
        self._waiting: list[Any] = []
        self._schema = self._pyarrow.schema([])

    def __call__(self, row: Mapping[str, Any]) -> None:
        self._waiting.append(_clean(row))
        if len(self._waiting) == _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            try:
                found = self._pyarrow.RecordBatch.from_pylist(self._waiting).schema
                self._schema = self._pyarrow.unify_schemas(
                    [self._schema, found], promote_options="permissive"
                )
            except (ValueError, TypeError, OverflowError) as error:
                raise errors.OutputError(
                    f"{self._path}: a column of Parquet has one type, of 64 bits at most"
                    f" ({error}); write JSON lines"
                ) from error
            with files.using_temporary(self._spool):
                pickle.dump(self._waiting, self._spool)
        self._waiting = []

    def write(self, target: IO[bytes]) -> None:
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415  (an extra)

        self._flush()
        schema = self._schema
        end = self._spool.tell()
        self._spool.seek(0)
        with ParquetWriter(target, schema, compression="zstd") as writer:
            while self._spool.tell() < end:
                rows = pickle.load(self._spool)  # noqa: S301  (what `_flush` wrote)
                writer.write_batch(self._pyarrow.RecordBatch.from_pylist(rows, schema))


def _clean(value: Any) -> Any:
    """Return a value with valid Unicode, and without empty objects, which have no columns."""
    if isinstance(value, str):
        return files.unicode_of(value)
    if isinstance(value, Mapping):
        return {files.unicode_of(key): _clean(each) for key, each in value.items()} or None
    return [*map(_clean, value)] if isinstance(value, list) else value


class Progress:
    """The progress of a long run: one line on standard error, redrawn in place.

    It is shown if `wanted`. With None it is shown if standard error is a terminal, and the results
    of the run go to another `path`.
    """

    def __init__(self, wanted: bool | None, path: str = "-") -> None:
        self.terminal = bool(sys.stderr and sys.stderr.isatty())
        is_free = self.terminal and not (path == "-" and sys.stdout and sys.stdout.isatty())
        self.shown = is_free if wanted is None else wanted
        self._every = 0.2 if self.terminal else 10.0
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
        if self.shown and self.terminal:
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
        start = "\r\x1b[K" if self.terminal else ""
        click.echo(start + line, nl=not self.terminal, err=True)
