"""Files, their lines and pages: local or remote, compressed or not, and atomic writing.

fsspec opens a path with ``://`` (``s3://``, ``hdfs://`` ...).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha1
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any, Literal, TypeVar, cast

from w3lib.url import canonicalize_url, safe_url_string

from scrapy_neardup.errors import INSTALL, InputError, OutputError
from scrapy_neardup.offline.readers.compression import DAMAGED

_log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_PAGE = 1 << 26
"""Maximum size of a decompressed page in bytes, like Scrapy's ``DOWNLOAD_MAXSIZE``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """A page of a collection, before parsing.

    `page` is its name: its URL, or else its path or ``FILE:LINE``. It has `html` (bytes) or
    `text`, or neither if it is longer than `MAX_PAGE`; `content_type`, in lower case, and
    `encoding` are as its source declares them. `row` numbers its row, line or record in the file
    from 0; `id` is its value in the column of ids, `values` those of other requested columns.
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

    @property
    def name(self) -> str:
        """Its id, if it has one, else its page."""
        return self.page if self.id is None else self.id


def identity(url: str) -> bytes:
    """Return the identity of the page at `url`: Scrapy's fingerprint of a plain GET request.

    So a page of a collection is the page that a crawl finds at its URL, with query parameters in
    any order. A path, or another text that isn't an http(s) URL, is identified by its bytes. It
    equals `scrapy.utils.request.fingerprint` since Scrapy 2.7; a crawl with another
    ``REQUEST_FINGERPRINTER_CLASS`` identifies pages in its own way. 20 to 40 µs.
    """
    if not url.lower().startswith(("http://", "https://")):
        return url.encode("utf-8", "surrogatepass")
    try:
        canonical = canonicalize_url(safe_url_string(url))
    except ValueError:
        return url.encode("utf-8", "surrogatepass")
    request = {"method": "GET", "url": canonical, "body": "", "headers": {}}
    return sha1(json.dumps(request, sort_keys=True).encode(), usedforsecurity=False).digest()


def unicode_of(value: str | bytes) -> str:
    """Return `value` (UTF-8) with each invalid byte as Windows-1252, and ``?`` for a surrogate.

    So texts in another encoding differ if their letters do. It is for comparing; the original one
    is written. Each character corresponds to a character, or an escaped byte, of the original.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if value.isascii():  # str knows this; many rows may have one text of megabytes
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        from scrapy_neardup.text.encoding import unescaped  # noqa: PLC0415  (and with it numpy)

        return unescaped(value).encode("utf-8", "replace").decode()
    return value  # the same object, so that equal values that are one object stay one


def json_line(item: Any) -> bytes:
    """Return a line of JSON with lone surrogates escaped."""
    try:
        return json.dumps(item, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(item).encode() + b"\n"


def printable(path: str) -> str:
    """Return `path` with invalid UTF-8 bytes escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def batches(
    items: Iterable[T], most: int, size: Callable[[T], int] = lambda _: 0, heaviest: int = 1
) -> Iterator[list[T]]:
    """Yield lists of `most` items, or of fewer if their sizes add up to `heaviest`."""
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


REPEATED = 1 << 18
"""Minimum size in bytes of a value that is remembered."""


class Repeated:
    """A function of long values that isn't called again for the same object.

    Equal values of a Parquet file are one object, and rows may name one as often as they like.
    Holds the values, up to ``8 * MAX_PAGE`` bytes or characters of them, and their results.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self._held = function, 0
        self._known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        """Return the result for a value."""
        if len(value) < REPEATED:
            return self._function(value)
        if id(value) not in self._known:
            if self._held + len(value) > 8 * MAX_PAGE:
                self._known, self._held = {}, 0
            self._known[id(value)] = value, self._function(value)
            self._held += len(value)
        return self._known[id(value)][1]


def required(what: str, module: str, extra: str, error: type[Exception] = InputError) -> Any:
    """Return a module of an extra, or raise the `error` that `what` needs it."""
    try:
        return import_module(module)
    except ImportError as missing:
        raise error(f"{what}: {INSTALL.format(f'[{extra}]')}") from missing


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn errors while `path` is read into an `InputError` that names it."""
    try:
        yield
    except EOFError:
        raise InputError(
            f"{path}: its compressed data ends too early; was it cut short while copying?"
        ) from None
    except DAMAGED as error:
        if "memory" in str(error).lower():
            raise InputError(
                f"{path}: its window of Zstandard or xz is larger than 128 MiB; compress it again:"
                " 'zstd -d --long=31 -c FILE | zstd -o NEW' or 'xz -dc FILE | xz > NEW'"
            ) from error
        raise InputError(f"{path}: its compressed data is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror or error}") from error


def standard_input() -> IO[bytes]:
    """Return standard input."""
    if sys.stdin is None:
        raise InputError("-: can't be read: standard input is closed")
    return sys.stdin.buffer


def is_remote(path: str) -> bool:
    """Return whether `path` is a URL, to open through fsspec."""
    return "://" in path


def is_pipe(path: str) -> bool:
    """Return whether `path` exists and is neither file nor folder, so that it is read once."""
    here = Path(path)
    return not is_remote(path) and here.exists() and not (here.is_file() or here.is_dir())


def opened(path: str, mode: Literal["rb", "wb"] = "rb") -> IO[bytes]:
    """Open a local or remote file."""
    with reading(path):
        if is_remote(path):
            return cast("IO[bytes]", _file_system(path).open(path, mode))
        return Path(path).open(mode)


def content_of(path: str, start: int = 0, size: int = -1) -> bytes:
    """Return up to `size` bytes of a file from `start` on."""
    with reading(path), opened(path) as file:
        if start:  # a pipe can't seek
            file.seek(start)
        return file.read(size)


def stamp(path: str) -> tuple[int, str]:
    """Return the size of a file in bytes, and a value that changes when the file does."""
    with reading(path):
        if is_remote(path):
            system = _file_system(path)
            return int(system.size(path)), str(system.ukey(path))
        status = Path(path).stat()
        return status.st_size, str(status.st_mtime_ns)


def files_of(path: str) -> tuple[str, list[str]]:
    """Return the path or full URL of a file or folder, and the files of a folder, at any depth.

    The only file of a file is itself. In a folder, links to folders and other entries that aren't
    regular files, such as pipes, are left out with a warning.
    """

    def fail(error: OSError) -> None:
        raise InputError(f"{error.filename}: can't be read: {error.strerror}") from error

    if not is_remote(path):
        if path == "-" or not Path(path).is_dir():
            return path, [path]
        found: list[Path] = []
        others: list[Path] = []
        for folder, folders, names in os.walk(path, onerror=fail):
            others += [each for name in folders if (each := Path(folder, name)).is_symlink()]
            for each in (Path(folder, name) for name in names):
                (found if each.is_file() or not each.exists() else others).append(each)
        whole = Path(path).as_posix()
        warn_of(whole, [each.as_posix() for each in others], "links to folders, and pipes")
        return whole, [each.as_posix() for each in found]
    system = _file_system(path)
    with reading(path):
        below = [str(system.unstrip_protocol(each)) for each in system.find(path)]
    if not below:
        raise InputError(f"{path}: there is no such file or folder")
    return str(system.unstrip_protocol(system._strip_protocol(path))), below  # noqa: SLF001


def inside(folder: str, path: str) -> str:
    """Return the path of a file relative to its folder, both as `files_of` returns them."""
    return path.removeprefix(f"{folder}/").lstrip("/")  # paths in "." have no "./"


def warn_of(folder: str, left_out: Sequence[str], why: str) -> None:
    """Log a warning that names some files of a folder that aren't read."""
    if left_out:
        names = [printable(inside(folder, path)) for path in left_out[:3]]
        shown = ", ".join(map(repr, names)) + ", ..." * (len(left_out) > 3)
        many = f"{len(left_out)} file" + "s" * (len(left_out) > 1)
        _log.warning("%s: left out %s, %s: %s", folder, many, why, shown)


def exists(path: str) -> bool:
    """Return whether a local or remote file exists."""
    with reading(path):
        return bool((_file_system(path) if is_remote(path) else os.path).exists(path))


def count_of(folder: str) -> int:
    """Return the number of files in and below a local or remote folder; 0 without one."""
    with reading(folder):
        if is_remote(folder):
            return len(_file_system(folder).find(folder))
    return len(files_of(folder)[1]) if Path(folder).is_dir() else 0


def remove_folder(folder: str) -> None:
    """Remove a folder with its content."""
    with reading(folder):
        if is_remote(folder):
            _file_system(folder).rm(folder, recursive=True)
        else:
            shutil.rmtree(folder)


def remove_parts(folder: str) -> None:
    """Remove the temporary files that killed processes left in a folder."""
    if not is_remote(folder):  # elsewhere a file appears when it is complete
        for path in Path(folder).rglob(".*.part"):
            path.unlink()


def _file_system(path: str) -> Any:
    try:
        import fsspec  # noqa: PLC0415  (an extra)

        return fsspec.core.url_to_fs(path)[0]
    except ImportError as error:
        raise InputError(
            f"{path}: {error}; remote files need fsspec and the package of their file system:"
            f" {INSTALL.format('[dask]')}, and s3fs, gcsfs ..."
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be opened: {error}") from error


def check_rereadable(*paths: str) -> None:
    """Raise an `InputError` if a path is read only once: standard input, or a pipe."""
    for path in paths:
        if path == "-" or is_pipe(path):
            raise InputError(f"{path}: would be read twice; name a regular file")


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces `path` if the block ends without an error.

    A new file has the permissions of the umask; one that replaces another keeps its permissions.
    A pipe or a device (``/dev/null``) is written directly.
    """
    target = Path(os.path.realpath(path))
    direct = target.exists() and not target.is_file()
    temporary = target if direct else target.with_name(f".{target.name[:50]}.{os.getpid()}.part")
    try:
        with temporary.open("wb") if direct else _made(temporary, target) as file:
            yield file
        if not direct:
            temporary.replace(target)
    except BaseException as error:
        if not direct:
            with suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise OutputError(f"{path}: can't be written: {error.strerror or error}") from error
        raise


def _made(temporary: Path, target: Path) -> IO[bytes]:
    """Return a new file, with the permissions of `target` if it exists."""
    temporary.unlink(missing_ok=True)  # another user's file, or a link
    file = temporary.open("xb")
    with suppress(FileNotFoundError):
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
    return file


@contextmanager
def using_temporary(*files: IO[bytes], folder: str = "") -> Iterator[None]:
    """Turn errors while temporary files are written into an `OutputError` that names their folder.

    Open `files` are flushed, or closed if that fails: what they hold would be written at the end.
    """
    try:
        yield
        for file in files:
            file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        for file in files:
            with suppress(OSError):
                file.close()
        hint = "" if folder else "; TMPDIR names another folder for temporary files"
        raise OutputError(
            f"{folder or gettempdir()}: can't be written: {error.strerror or error}{hint}"
        ) from error


@contextmanager
def written(target: str) -> Iterator[IO[bytes]]:
    """Yield a file at a URL, or at a path whose folder is made; see `atomic_file`."""
    if is_remote(target):
        try:
            with opened(target, "wb") as file:  # an object store shows the file when it is closed
                yield file
        except BaseException:
            with suppress(OSError):
                _file_system(target).rm(target)
            raise
    else:
        try:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{target}: can't be written: {error.strerror}") from error
        with atomic_file(target) as file:
            yield file
