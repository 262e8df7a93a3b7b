# ruff: noqa: E501, B905, INP001, SLF001, RUF001, S101, I001, C901, B008, PLR0911, RUF100
"""What the kept pages of a site have shown so far: `Site`.

None of it enters what is stored of a page. A *folder* is any ancestor of a page's address, the host
included: what is shared by the pages below ``/docs/`` is shared by those of ``/docs/4.1/``, too.
Memory is bounded: folders by number, shingles of a folder by lossy counting, segments of titles and
DOM paths by number. Counts of crawlers that share a store add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.evidence.counts import Counts

from evidence import KINDS, SIZES, Evidence
from sketch import Sketch

GROWN: Final = 8
"""Number of kept pages from which on a folder shows what its pages share."""
SHARED: Final = 0.5
"""Minimum share of a folder's kept pages that a shingle of its boilerplate is on."""
SHARED_TITLE, GROWN_TITLES = 0.3, 4
"""Minimum share of a folder's titles that a segment of its own is in, and minimum number of titles."""
SHOWN: Final = 4
"""Minimum number of pairs of responses with one page in which text at a DOM path must have changed;
they must also be a quarter of the pairs that have it."""
_MAX_FOLDERS, _MAX_SEGMENTS, _MAX_PATHS = 256, 512, 64
_MAX_DEPTH: Final = 8

_NOTHING = np.empty(0, np.uint64)


@lru_cache(maxsize=512)
def folders_of(url: str) -> tuple[str, ...]:
    """Return the folders of a page, its host first. ``http://a.example/b/c/d?e``: 3 of them."""
    parts = urlsplit(url)
    steps = parts.path.split("/")[1:-1][:_MAX_DEPTH]
    return tuple("/".join([parts.netloc, *steps[:depth]]) for depth in range(len(steps) + 1))


class Folder:
    """What the kept pages below one folder share."""

    def __init__(self) -> None:
        self.pages = 0
        self._shingles = Counts()
        self._segments: BoundedDict[int, int] = BoundedDict(_MAX_SEGMENTS)
        self._boilerplate = _NOTHING
        self._sketches: dict[tuple[int, int], int] = {}

    def learn(self, shingles: NDArray[np.uint64], segments: frozenset[int]) -> None:
        """Count a kept page."""
        self.pages += 1
        if self._shingles.add(shingles):
            counted = self._shingles.pages - len(self._shingles._waiting)
            least = max(SHARED * counted, GROWN - 1)
            self._boilerplate = (
                self._shingles.shingles[self._shingles.counts >= least]
                if counted >= GROWN
                else _NOTHING
            )
            self._sketches.clear()
        for segment in segments:
            self._segments[segment] = self._segments.get(segment, 0) + 1

    def sketch(self, kind: int, level: int) -> int:
        """Return the bits of its boilerplate of a kind at a level; computed once until it changes."""
        if not len(self._boilerplate):
            return 0
        if (kind, level) not in self._sketches:
            of_kind = self._boilerplate[self._boilerplate & np.uint64(1) == kind]
            self._sketches[kind, level] = Sketch.of(of_kind, SIZES[kind], level).bits
        return self._sketches[kind, level]

    def names(self, segment: int) -> bool:
        """Return whether a segment of a title is the folder's, not the page's."""
        least = max(SHARED_TITLE * self.pages, GROWN_TITLES - 1)
        return self.pages >= GROWN_TITLES and self._segments.get(segment, 0) >= least


class ChangingPaths:
    """At which DOM paths of one host the text changes with each response of one page."""

    def __init__(self) -> None:
        self._seen: BoundedDict[int, list[int]] = BoundedDict(_MAX_PATHS)
        self.known: frozenset[int] = frozenset()

    def learn(self, ours: Evidence, theirs: Evidence) -> None:
        """Compare two responses with one page: equal but for what stands at some DOM paths."""
        paths = ours.paths.keys() | theirs.paths.keys()
        changed = {
            path
            for path in paths
            if (a := ours.paths.get(path)) is None
            or (b := theirs.paths.get(path)) is None
            or a.rows != b.rows
        }
        if ours.rows_without(changed) != theirs.rows_without(changed):
            return
        for path in (ours.paths.keys() & theirs.paths.keys()) | changed:
            seen = self._seen.setdefault(path, [0, 0])
            self._seen.move_to_end(path)
            seen[path not in changed] += 1
        self.known = frozenset(
            path
            for path, (other, same) in self._seen.items()
            if other >= SHOWN and 3 * other >= same
        )


class Site:
    """What is known of the folders of one host, or of several."""

    def __init__(self) -> None:
        self._folders: BoundedDict[str, Folder] = BoundedDict(_MAX_FOLDERS)
        self._changing: BoundedDict[str, ChangingPaths] = BoundedDict(_MAX_FOLDERS)

    def learn(self, url: str, shingles: NDArray[np.uint64], segments: frozenset[int]) -> None:
        """Count a kept page in each of its folders."""
        for name in folders_of(url):
            if name not in self._folders:
                self._folders[name] = Folder()
            self._folders.move_to_end(name)
            self._folders[name].learn(shingles, segments)

    def met_again(self, url: str, ours: Evidence, theirs: Evidence) -> None:
        """Learn from two responses with one page."""
        host = folders_of(url)[0]
        if host not in self._changing:
            self._changing[host] = ChangingPaths()
        self._changing[host].learn(ours, theirs)

    def changing(self, *urls: str) -> frozenset[int]:
        """Return the DOM paths whose text is known to change on the hosts of these pages."""
        hosts = {folders_of(url)[0] for url in urls}
        return frozenset().union(*[self._changing[h].known for h in hosts if h in self._changing])

    def boilerplate(self, urls: tuple[str, str], kind: int, level: int) -> int:
        """Return the bits that are boilerplate of the folders of one of two pages."""
        bits = 0
        for folder in {name: folder for url in urls for name, folder in self._known(url)}.values():
            bits |= folder.sketch(kind, level)
        return bits

    def own_segments(self, url: str, segments: frozenset[int]) -> frozenset[int]:
        """Return the segments of a page's title that aren't its folders'."""
        folders = [folder for _, folder in self._known(url)]
        return frozenset(s for s in segments if not any(folder.names(s) for folder in folders))

    def is_young(self, ours: str, theirs: str) -> bool:
        """Return whether too little is known to tell what two pages share from what all pages do.

        That is, whether the deepest folder of both has few kept pages; or, of pages of two hosts,
        either host.
        """
        common = [a for a, b in zip(folders_of(ours), folders_of(theirs)) if a == b][-1:]
        names = common or [folders_of(ours)[0], folders_of(theirs)[0]]
        return any(
            name not in self._folders or self._folders[name].pages < GROWN for name in names
        )

    def _known(self, url: str) -> Iterator[tuple[str, Folder]]:
        for name in folders_of(url):
            if (folder := self._folders.get(name)) is not None:
                yield name, folder


assert len(KINDS) == len(SIZES)
