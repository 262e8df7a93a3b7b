"""Blocks to shingles, each with its owner: where in the page it stands.

Rule of this module: pure; arrays in, arrays out.

The *core* of a page is its content by form, and a *row* of it a block, or the cells of a row of a
table. A shingle within one row is the row's, or its place's; one that begins in a row and ends in
another is on their border, and depends on the order of rows. A row of fewer words than a shingle
is one shingle besides, so that a list has the same ones in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.evidence.layout import BORDER, LINKS, NAMED
from scrapy_neardup.evidence.places import named_places, tracked
from scrapy_neardup.fingerprints.shingles import shingle_hashes, shingles_at

_NOTHING = np.empty(0, np.uint64)


class Core(NamedTuple):
    """The tokens of a page's core.

    Parameters
    ----------
    tokens
        Shape (n,), uint64.
    counts
        Number of them in each block.
    places
        Place of each block.
    joined
        Whether each block goes on in the row of the one before.
    """

    tokens: NDArray[np.uint64]
    counts: Sequence[int] = ()
    places: Sequence[int] = ()
    joined: Sequence[bool] = ()


class Owned(NamedTuple):
    """The distinct shingles of a page.

    Parameters
    ----------
    shingles, owners
        Shape (n,), uint64, ascending, and uint8: see `scrapy_neardup.evidence.layout`. A shingle
        that stands in several places has the lowest owner.
    rows
        Those within rows of the core, shape (m,), uint64, ascending; of the whole page if there is
        none.
    places, texts
        The tracked places of the page, and the text of each, hashed.
    """

    shingles: NDArray[np.uint64]
    owners: NDArray[np.uint8]
    rows: NDArray[np.uint64]
    places: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()


def shingle(core: Core, named: NDArray[np.uint64], links: NDArray[np.uint64], size: int) -> Owned:
    """Return the shingles of a page.

    Parameters
    ----------
    named, links
        The tokens of elements named as furniture, and of links, shape (n,), uint64.
    size
        Tokens of a shingle.

    Notes
    -----
    O(tokens log tokens).
    """
    if size < 1:
        raise ConfigurationError(f"NEARDUP_SHINGLE_SIZE must be 1 or more, not {size}")
    tokens, counts = core.tokens, np.array(core.counts, np.int64)
    of_blocks = np.zeros(len(counts), np.uint8)
    starts_row = np.ones(len(counts), np.bool_)
    places: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()
    if len(counts) > 1 and len(tokens) >= size:
        starts_row[1:] = ~np.array(core.joined[1:], np.bool_)
        of_all = named_places(core.places)
        places = tracked(of_all, core.counts, len(tokens) + len(named) + len(links))
        if places:
            owner = {place: number for number, place in enumerate(places, start=1)}
            of_blocks = np.array([owner.get(place, 0) for place in of_all], np.uint8)
            of_tokens = np.repeat(of_blocks, counts)
            texts = tuple(
                int(tokens[of_tokens == number].sum()) for number in range(1, len(places) + 1)
            )
    found = owned(tokens, counts, of_blocks, starts_row, named, links, size)
    return Owned(*found, places, texts)


def _short_rows(
    tokens: NDArray[np.uint64], row: NDArray[np.int64], owners: NDArray[np.uint8], size: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return one shingle for each row of fewer tokens than a shingle, and its owner."""
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    lengths = np.diff(starts, append=len(row))
    found, whose = [_NOTHING], [owners[:0]]
    for length in range(1, size):
        of_length = starts[lengths == length]
        if len(of_length):
            found.append(shingles_at(tokens, of_length, length))
            whose.append(owners[of_length])
    return np.concatenate(found), np.concatenate(whose)


_SOME = np.arange(1, 40, dtype=np.uint64) ** np.uint64(13)


@has_twin(
    "features",
    _SOME[:30],
    np.array([8, 0, 2, 1, 9, 1, 9]),
    np.array([0, 1, 2, 3, 4, 1, 0], np.uint8),
    np.array([True, True, False, True, False, True, True]),
    _SOME[5:12],
    _SOME[20:],
    4,
)
def owned(  # noqa: PLR0917  (as the compiled twin takes them)
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    of_blocks: NDArray[np.uint8],
    starts_row: NDArray[np.bool_],
    named: NDArray[np.uint64],
    links: NDArray[np.uint64],
    size: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.uint64]]:
    """Return the distinct shingles, their owners, and those within rows; see `Owned`.

    Parameters
    ----------
    tokens, counts
        Of the core, and their number in each block.
    of_blocks, starts_row
        The tracked place of each block, or 0, and whether it starts a row.
    named, links, size
        See `shingle`.
    """
    of_core = shingle_hashes(tokens, size)
    owners = np.zeros(len(of_core), np.uint8)
    parts = [of_core]
    if len(counts) > 1 and len(tokens) >= size:
        row = np.repeat(np.cumsum(starts_row, dtype=np.int64), counts)
        of_tokens = np.repeat(of_blocks, counts)
        owners = of_tokens[: len(of_core)].copy()
        owners[row[: len(of_core)] != row[size - 1 :]] = BORDER
        short, short_owners = _short_rows(tokens, row, of_tokens, size)
        parts.append(short)
        owners = np.concatenate([owners, short_owners])
    for aside, name in ((named, NAMED), (links, LINKS)):
        if len(aside):
            parts.append(shingle_hashes(aside, size))
            owners = np.concatenate([owners, np.full(len(parts[-1]), name, np.uint8)])
    hashes = np.concatenate(parts)
    order = np.lexsort((owners, hashes))
    hashes, owners = hashes[order], owners[order]
    first = np.ones(len(hashes), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    hashes, owners = hashes[first], owners[first]
    rows = hashes[owners < BORDER]
    return hashes, owners, rows if len(rows) else hashes
