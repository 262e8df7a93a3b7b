"""Files that appear when they are complete, or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import is_remote, opened


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces `path` when the block ends well; else `path` stays.

    A new file has the permissions that the umask leaves, one that replaces another has that one's.
    A pipe or a device (``/dev/null``) is written to directly.
    """
    target = Path(os.path.realpath(path))
    direct = target.exists() and not target.is_file()
    temporary = target if direct else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") if direct else _made(temporary, target) as file:
            yield file
        if not direct:
            temporary.replace(target)
    except BaseException as error:
        if not direct:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise InputError(f"{path}: can't be written: {error.strerror or error}") from error
        raise


def _made(temporary: Path, target: Path) -> IO[bytes]:
    """Return a new file, with the permissions of `target` if that exists."""
    temporary.unlink(missing_ok=True)  # somebody else's, or a link to what isn't to be overwritten
    file = temporary.open("xb")
    with suppress(FileNotFoundError):
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
    return file


@contextmanager
def written(target: str) -> Iterator[IO[bytes]]:
    """Yield a file at a URL, or at a path whose folder is made, as `atomic_file` does."""
    if is_remote(target):
        with opened(target, "wb") as file:  # a store of objects shows it when it is complete
            yield file
    else:
        with suppress(OSError):  # what is wrong with the folder, writing says
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as file:
            yield file
