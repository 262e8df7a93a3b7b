"""Folders whose pages repeat those of another folder, name by name.

A drop shows that one folder mirrors another if its address and that of the kept page are the same
after them: ``/1.81/a/b.html`` repeats ``/1.74/a/b.html``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from scrapy_neardup.reports.patterns import split_site
from scrapy_neardup.reports.summary import Summary

FEWEST = 10
"""Minimum number of pages that repeat those of the same name in another folder."""

MAX_ADDRESS = 2_000
"""Maximum characters of an address whose folders are compared."""

LISTED = 50
"""Maximum number of pairs of folders that are listed."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A folder, the folder that it repeats, and its pages: those that do, and all.

    Folders are named without their host where it is the same.
    """

    folder: str
    of: str
    repeated: int
    pages: int


def mirrors(summary: Summary) -> list[Mirror]:
    """Return the folders that mirror others, those with most such pages first. O(pages)."""
    pairs = Counter(
        folders for drop in summary.drops if (folders := _folders(drop.page, drop.of)) is not None
    )
    found = [(pair, count) for pair, count in pairs.most_common(LISTED) if count >= FEWEST]
    wanted = {folder for (folder, _), _ in found}
    sizes: Counter[str] = Counter()
    for page in _pages(summary) if wanted else ():
        sizes.update(wanted.intersection(_ancestors(page)))
    return [Mirror(folder, of, count, sizes[folder]) for (folder, of), count in found]


def _pages(summary: Summary) -> Iterator[str]:
    drops, kept = (
        (drop.page for drop in summary.drops),
        (page[0] for page in summary.kept.values()),
    )
    return (page for page in chain(drops, kept) if len(page) <= MAX_ADDRESS)


def _folders(page: str, of: str) -> tuple[str, str] | None:
    """Return both addresses without their common end; None where these are equal."""
    if max(len(page), len(of)) > MAX_ADDRESS:
        return None
    (site, path), (of_site, of_path) = split_site(page), split_site(of)
    segments, of_segments = path.split("/"), of_path.split("/")
    common = 0
    for mine, theirs in zip(reversed(segments), reversed(of_segments), strict=False):
        if mine != theirs:
            break
        common += 1
    if not common or (site == of_site and path == of_path):
        return None
    ends = len(segments) - common, len(of_segments) - common
    folder, of_folder = "/".join(segments[: ends[0]]), "/".join(of_segments[: ends[1]])
    if site == of_site:
        return f"{folder}/", f"{of_folder}/"
    return f"{site}{folder}/", f"{of_site}{of_folder}/"


def _ancestors(page: str) -> Iterable[str]:
    """Yield the folders of a page, without and with its host."""
    site, path = split_site(page)
    end = path.find("/")
    while end >= 0:
        yield path[: end + 1]
        yield site + path[: end + 1]
        end = path.find("/", end + 1)
