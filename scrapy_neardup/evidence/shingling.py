"""Blocks to shingles, each with its owner: where in the page it stands.

Rule of this module: pure; arrays in, arrays out.

The *core* of a page is its content by form, and a *row* of it a block, or the cells of a row of a
table. A shingle within one row is the row's, or its place's; one that begins in a row and ends in
another is on their border, and depends on the order of rows. A row of fewer words than a shingle
is one shingle besides, so that a list has the same ones in any order.
"""

from __future__ import annotations

from array import array
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.evidence.layout import BORDER, LINKS, MAX_TRACKED, NAMED, pack_planes
from scrapy_neardup.evidence.places import named_places, tracked
from scrapy_neardup.fingerprints.charikar import majority
from scrapy_neardup.fingerprints.minwise import minima_of, owned_minima
from scrapy_neardup.fingerprints.shingles import shingle_hashes, shingles_at
from scrapy_neardup.text import Blocks, Form

MIN_CORE_TOKENS, MIN_CORE_SHARE = 40, 0.5
"""Minimum tokens of a core, and minimum share of the page's tokens in it. A core below both isn't
the page's content: all of the text is, in one row but for its tracked places."""

_NOTHING = np.empty(0, np.uint64)


class Streams(NamedTuple):
    """The tokens of a page, by the form in which they stand.

    Parameters
    ----------
    core, named, links
        Tokens of the content, of elements named as furniture, and of links; shape (n,), uint64.
    counts
        Number of tokens in each block of the core, int64.
    starts_row
        Whether each of these blocks starts a row, bool.
    owners
        The number of the tracked place of each of these blocks, or 0; uint8.
    places, texts
        The tracked places of the page, and the text of each, hashed.
    """

    core: NDArray[np.uint64]
    named: NDArray[np.uint64]
    links: NDArray[np.uint64]
    counts: NDArray[np.int64]
    starts_row: NDArray[np.bool_]
    owners: NDArray[np.uint8]
    places: tuple[int, ...]
    texts: tuple[int, ...]

    @property
    def tokens(self) -> NDArray[np.uint64]:
        """All tokens."""
        return np.concatenate(self[:3])


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
    """

    shingles: NDArray[np.uint64]
    owners: NDArray[np.uint8]
    rows: NDArray[np.uint64]


class Sketched(NamedTuple):
    """What is made of a page's shingles.

    Parameters
    ----------
    shingles, owners
        See `Owned`.
    minima
        Of its sketch, shape (bins,), uint64.
    least
        The minima of its rows, of which its features are made, shape (feature_bins,), uint64.
    planes
        Of its sketch (`scrapy_neardup.evidence.layout`).
    text
        Sum of the shingles, its upper 16 bits.
    rows
        Sums of the shingles within rows: of no tracked place, and of each (`Head`).
    simhash
        Of the shingles, each of weight 1.
    places, texts
        See `Streams`.
    """

    shingles: NDArray[np.uint64]
    owners: NDArray[np.uint8]
    minima: NDArray[np.uint64]
    least: NDArray[np.uint64]
    planes: bytes
    text: int
    rows: tuple[int, ...]
    simhash: int
    places: tuple[int, ...]
    texts: tuple[int, ...]


def streams(tokens: NDArray[np.uint64], counts: NDArray[np.int64], blocks: Blocks) -> Streams:
    """Return the streams of a page.

    Parameters
    ----------
    tokens, counts
        Of its text, and their number in each block; shape (n,), uint64, and (blocks,), int64.
    blocks
        Each of them content, links, or named as furniture.

    Notes
    -----
    O(tokens + blocks).
    """
    return Streams(*parted(tokens, counts, blocks.forms, blocks.places, blocks.joined))


def sketch(  # noqa: PLR0917  (three of them are the page)
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    blocks: Blocks,
    size: int,
    bins: int,
    bits: int,
    feature_bins: int,
) -> Sketched:
    """Return what is made of a page's shingles, each of `size` tokens.

    Parameters
    ----------
    tokens, counts, blocks
        The page, as `streams` takes it; at least one token.
    bins, bits
        Bins of its sketch, and bits that are kept of each.
    feature_bins
        Bins of its features, or 0.

    Notes
    -----
    O(tokens log tokens + blocks + bins).
    """
    columns = tokens, counts, blocks.forms, blocks.places, blocks.joined
    return Sketched(*sketched(*columns, size, bins, bits, feature_bins))


_PAGE = (
    np.arange(1, 136, dtype=np.uint64) ** np.uint64(13),
    np.array([8, 0, 2, 60, 9, 1, 9, 5, 0, 41]),
    bytes((0, 0, 0, 0, 1, 0, 0, 2, 0, 0)),
    array("I", (3, 3, 3, 4, 5, 6, 7, 8, 9, 4)),
    bytes((1, 1, 0, 1, 0, 0, 1, 0, 0, 0)),
)


@has_twin("features", *_PAGE)
def parted(
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    forms: bytes,
    places: array[int],
    joined: bytes,
) -> tuple[Any, ...]:
    """Return the fields of `Streams`; see `streams` and, for the columns, `Blocks`."""
    of_blocks = np.frombuffer(forms, np.uint8)
    of_core = int(counts[of_blocks == Form.CONTENT].sum())
    is_whole = of_core < MIN_CORE_TOKENS and of_core < MIN_CORE_SHARE * len(tokens)
    if is_whole:
        of_blocks = np.full(len(counts), Form.CONTENT, np.uint8)
    of_tokens = np.repeat(of_blocks, counts)
    core, named, links = (
        tokens[of_tokens == form] for form in (Form.CONTENT, Form.NAMED, Form.LINKS)
    )
    in_core = of_blocks == Form.CONTENT
    counts = counts[in_core]
    starts_row = ~np.frombuffer(joined, np.bool_)[in_core]
    starts_row[:1] = True
    owners = np.zeros(len(counts), np.uint8)
    told: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()
    if len(counts) > 1:
        of_all = named_places(list(compress(places, in_core)))
        told = tracked(of_all, counts.tolist(), len(tokens))
        if told:
            number_of = {place: number for number, place in enumerate(told, start=1)}
            owners = np.array([number_of.get(place, 0) for place in of_all], np.uint8)
            owner_of = np.repeat(owners, counts)
            texts = tuple(int(core[owner_of == number].sum()) for number in number_of.values())
    if is_whole:
        np.not_equal(owners[1:], owners[:-1], out=starts_row[1:])
    return core, named, links, counts, starts_row, owners, told, texts


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


def owned(  # noqa: PLR0917  (as `sketched` takes them)
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    of_blocks: NDArray[np.uint8],
    starts_row: NDArray[np.bool_],
    named: NDArray[np.uint64],
    links: NDArray[np.uint64],
    size: int,
) -> Owned:
    """Return the distinct shingles of a page.

    Parameters
    ----------
    tokens, counts
        Of the core, and their number in each block.
    of_blocks, starts_row
        The tracked place of each block, or 0, and whether it starts a row.
    named, links
        The tokens of elements named as furniture, and of links.
    size
        Tokens of a shingle.
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
    return Owned(hashes, owners, rows if len(rows) else hashes)


def row_sums(shingles: NDArray[np.uint64], owners: NDArray[np.uint8]) -> tuple[int, ...]:
    """Return the sums of the shingles within rows: of no tracked place, and of each (`Head`)."""
    sums = np.bincount(owners, shingles & 0xFFFF, 1 + MAX_TRACKED)
    return tuple([int(found) & 0xFFFF for found in sums[: 1 + MAX_TRACKED].tolist()])


@has_twin("features", *_PAGE, 4, 64, 2, 16)
def sketched(  # noqa: PLR0917  (as the compiled twin takes them)
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    forms: bytes,
    places: array[int],
    joined: bytes,
    size: int,
    bins: int,
    bits: int,
    feature_bins: int,
) -> tuple[Any, ...]:
    """Return the fields of `Sketched`; see `sketch` and, for the columns, `Blocks`."""
    core, named, links, of_core, starts_row, of_blocks, told, texts = parted(
        tokens, counts, forms, places, joined
    )
    shingles, owners, of_rows = owned(core, of_core, of_blocks, starts_row, named, links, size)
    minima, held = owned_minima(shingles, owners, bins)
    least = minima_of(of_rows, feature_bins) if feature_bins else _NOTHING
    planes = pack_planes(minima, held, bits)
    text, rows = int(shingles.sum()) >> 48, row_sums(shingles, owners)
    simhash = majority(shingles)
    return shingles, owners, minima, least, planes, text, rows, simhash, told, texts
