"""The files of documents that inputs name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import files_below, is_remote, stamp

ENDINGS = {
    ".parquet": "parquet",
    ".jsonl": "json", ".ndjson": "json",
    ".warc": "warc",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".xht": "html", ".shtml": "html",
}  # fmt: skip
"""Ending of a file's name, without ``.gz`` -> its format."""

HTML_FILES = 1_000
"""Maximum number of HTML files that make one shard."""


class Shard(NamedTuple):
    """A file of documents, or some HTML files, which are read and written as one.

    Parameters
    ----------
    name
        Path of its output below the output folder; of HTML files, that of the folder.
    kind
        Its format, one of the values of `ENDINGS`.
    paths
        Its files: one, except for HTML.
    stamps
        Size of each, and a value that changes when it does.
    is_existing
        Whether its documents are only compared with, and not written.
    """

    name: str
    kind: str
    paths: tuple[str, ...]
    stamps: tuple[tuple[int, str], ...]
    is_existing: bool = False

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(size for size, _ in self.stamps)


def shards_of(inputs: Sequence[str], *, existing: Sequence[str] = ()) -> list[Shard]:
    """Return the shards of inputs, in their order; those in a folder by path.

    Both are files and folders, or URLs of them for fsspec. Hidden files in folders, and those
    whose names begin with ``_``, are skipped.
    """
    found = [shard for path in existing for shard in _shards(path, is_existing=True)]
    found += [shard for path in inputs for shard in _shards(path, is_existing=False)]
    named = Counter(name for shard in found if not shard.is_existing for name in _outputs(shard))
    for name, count in named.items():
        if count > 1:
            raise InputError(f"{name}: {count} inputs would be written to this path; rename one")
    return found


def _outputs(shard: Shard) -> Iterator[str]:
    return (
        (f"{shard.name}/{name_of(path)}" for path in shard.paths)
        if shard.kind == "html"
        else iter((shard.name,))
    )


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


def _shards(path: str, *, is_existing: bool) -> Iterator[Shard]:
    if is_remote(path):
        path, below = files_below(path)
    elif Path(path).is_dir():
        below = [
            Path(parent, name).as_posix()
            for parent, _, names in os.walk(path, onerror=_fail)
            for name in names
        ]
    else:
        below = [path]
    if below == [path]:
        kind = _kind(path)
        if kind is None:
            raise InputError(f"{path}: its name ends in none of {', '.join(ENDINGS)}")
        name = "" if kind == "html" else name_of(path)
        yield Shard(name, kind, (path,), (stamp(path),), is_existing)
        return
    yield from _folder(path.rstrip("/"), sorted(below), is_existing=is_existing)


def _folder(folder: str, paths: Sequence[str], *, is_existing: bool) -> Iterator[Shard]:
    pages: list[str] = []
    count = 0
    for path in paths:
        inside = path[len(folder) + 1 :]
        kind = _kind(path)
        if kind is None or any(part.startswith((".", "_")) for part in inside.split("/")):
            continue
        count += 1
        if kind == "html":
            if pages and (len(pages) == HTML_FILES or Path(path).parent != Path(pages[0]).parent):
                yield _pages(folder, pages, is_existing=is_existing)
                pages = []
            pages.append(path)
        else:
            yield Shard(inside, kind, (path,), (stamp(path),), is_existing)
    if pages:
        yield _pages(folder, pages, is_existing=is_existing)
    if not count:
        raise InputError(
            f"{folder}: no file in this folder whose name ends in one of {', '.join(ENDINGS)}"
        )


def _pages(folder: str, paths: Sequence[str], *, is_existing: bool) -> Shard:
    inside = paths[0][len(folder) + 1 :].rpartition("/")[0]
    return Shard(inside, "html", tuple(paths), tuple(map(stamp, paths)), is_existing)


def _kind(path: str) -> str | None:
    name = path.lower().removesuffix(".gz")
    return next((kind for end, kind in ENDINGS.items() if name.endswith(end)), None)


def _fail(error: OSError) -> None:
    raise InputError(f"{error.filename}: can't be read: {error.strerror}") from error
