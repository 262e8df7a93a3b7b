"""Files here or elsewhere: fsspec opens a path with ``://`` (``s3://``, ``hdfs://`` ...)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import IO, Any, Literal, cast

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.record import reading


def is_remote(path: str) -> bool:
    """Whether `path` is a URL, to be opened through fsspec."""
    return "://" in path


def opened(path: str, mode: Literal["rb", "wb"] = "rb") -> IO[bytes]:
    """Open a file, wherever it is."""
    if not is_remote(path):
        with reading(path):
            return Path(path).open(mode)
    with reading(path):
        return cast("IO[bytes]", _file_system(path).open(path, mode))


def stamp(path: str) -> tuple[int, str]:
    """Return the size of a file in bytes, and a value that changes when the file does."""
    if is_remote(path):
        system = _file_system(path)
        with reading(path):
            return int(system.size(path)), str(system.ukey(path))
    with reading(path):
        status = Path(path).stat()
    return status.st_size, str(status.st_mtime_ns)


def files_below(path: str) -> tuple[str, list[str]]:
    """Return the full URL of a folder or file, and those of the files in it, or of itself."""
    system = _file_system(path)
    with reading(path):
        found = [str(system.unstrip_protocol(each)) for each in system.find(path)]
    if not found:
        raise InputError(f"{path}: there is no such file or folder")
    return str(system.unstrip_protocol(system._strip_protocol(path))), found  # noqa: SLF001


def exists(path: str) -> bool:
    """Whether there is a file, wherever it is."""
    if not is_remote(path):
        return Path(path).exists()
    with reading(path):
        return bool(_file_system(path).exists(path))


def is_empty(folder: str) -> bool:
    """Whether a folder holds no file, or isn't there."""
    if is_remote(folder):
        with reading(folder):
            return not _file_system(folder).exists(folder)
    with reading(folder):
        return all(path.is_dir() for path in Path(folder).rglob("*"))


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it."""
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
            f"{path}: {error}; files elsewhere need fsspec and the package of their file system:"
            " pip install 'scrapy-neardup[dask]', and s3fs, gcsfs ..."
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: can't be opened: {error}") from error
