"""From blocks to shingles and rows, then to evidence, features and fingerprint.

The *text* of a page is everything that it shows, except elements named as boilerplate, whose words
are a separate stream. A *row* is a block, or the cells of a table's row. Min-wise features are
made of shingles within one row, outside of links: they don't depend on the order of rows, and
copies with other links share them. A row with fewer words than a shingle is one shingle.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.minwise import minima_of
from scrapy_neardup.fingerprints.shingles import first_of_each, shingle_hashes, shingles_at
from scrapy_neardup.fingerprints.simhashes import majority
from scrapy_neardup.judge.evidence import (
    KINDS,
    MAX_PATHS,
    NO_PATHS,
    DomPath,
    short_paths,
    told_apart,
)
from scrapy_neardup.judge.sketch import SharedShingles, Sketch, level_of, marked
from scrapy_neardup.text import Blocks, Form

_STREAMS: Final = bytes.maketrans(
    bytes([Form.NOSCRIPT, Form.NAMED_LINKS]), bytes([Form.CONTENT, Form.NAMED])
)
"""Table for `bytes.translate`: form of a block -> the form with which it is compared."""

_NAMED: Final = int(Form.NAMED)  # numpy makes an array of each member of an enumeration
_UNNAMED: Final = bytes.maketrans(bytes([Form.NAMED]), bytes([Form.CONTENT]))

MIN_BESIDE_NAMED = 10
"""Minimum number of tokens outside of elements named as boilerplate. If a page has fewer, these
elements count as text."""

MIN_UNLINKED_TOKENS, MIN_UNLINKED_SHARE = 40, 0.5
"""Minimum number of tokens outside of links, and minimum share of the page's tokens there. If a
page has neither, its links are its content."""


@has_twin(
    "features",
    np.arange(0, 1 << 63, (1 << 57) + 1, dtype=np.uint64),
    np.arange(64, dtype=np.uint8) % 3,
    2,
    128,
    64,
)
def sketched(
    shingles: NDArray[np.uint64],
    paths: NDArray[np.uint8],
    excluded: int,
    text_bits: int,
    named_bits: int,
) -> list[tuple[int, bytes]]:
    """Return level and bits of each kind's sketch, without the text at some DOM paths."""
    kept = shingles[paths & excluded == 0]
    kinds = kept & np.uint64(1)
    found = []
    for kind, size in zip(KINDS, (text_bits, named_bits), strict=True):
        of_kind = kept[kinds == kind]
        level = level_of(len(of_kind), size)
        found.append((level, marked(of_kind, size, level)))
    return found


class BlockTokens(NamedTuple):
    """What a page's `Text` is made of: the arguments of `parted`, except the last."""

    tokens: NDArray[np.uint64] = np.empty(0, np.uint64)
    counts: NDArray[np.int64] = np.empty(0, np.int64)
    forms: bytes = b""
    block_paths: array[int] = array("I")
    joined: bytes = b""
    size: int = 1
    feature_bins: int = 0


class Text(NamedTuple):
    """The shingles, minima, rows and DOM paths of a page at hand."""

    shingles: NDArray[np.uint64]
    """Distinct shingles, ascending, shape (n,); the low bit of each is its kind (`KINDS`)."""
    paths: NDArray[np.uint8]
    """Bits of each shingle, shape (n,); bit i: it touches the i-th DOM path of the evidence, and
    occurs nowhere else."""
    row_shingles: NDArray[np.uint64]
    """Shingles within rows outside of links, in the order of the page; shape (m,)."""
    row_paths: NDArray[np.uint8]
    """Bits of each of them, as in `paths`."""
    least: NDArray[np.uint64] = np.empty(0, np.uint64)
    """Minima of the shingles within rows, for features; shape (feature_bins,)."""
    simhash: int = 0
    """Simhash of the distinct shingles, each with weight 1."""
    rows: int = 0
    named_rows: int = 0
    """Sums of the hashes of rows modulo 2^32, of text and of elements named as boilerplate."""
    standing: Mapping[int, DomPath] = NO_PATHS
    """DOM path -> the text there; see `Evidence.paths`."""
    source: BlockTokens = BlockTokens()

    @property
    def words(self) -> NDArray[np.uint64]:
        """Hashed words of the text, in the order of the page; shape (w,)."""
        is_text = np.frombuffer(self.source.forms, np.uint8) != _NAMED
        words: NDArray[np.uint64] = self.source.tokens[np.repeat(is_text, self.source.counts)]
        return words

    def telling(self, paths: frozenset[int]) -> Text:
        """Return the same text with these DOM paths in its evidence before others.

        O(tokens log tokens), unless they are in it already.
        """
        has_others = self.source.forms and len(self.standing) == MAX_PATHS
        if not has_others or paths <= self.standing.keys():
            return self
        return _made(self.source, paths)

    def rows_by_path(self) -> dict[int, int]:
        """Return the sum of the rows at each DOM path, in the evidence or not; see `DomPath.rows`.

        O(tokens + blocks), in Python: not for each page.
        """
        if not self.source.forms:
            return {path: at.rows for path, at in self.standing.items()}
        names, hashes, _ = _rows(*self.source[:5])
        sums = dict.fromkeys(names, 0)
        for name, row in zip(names, hashes.tolist(), strict=True):
            sums[name] = (sums[name] + row) & 0xFFFFFFFF
        return sums

    def sketches(self, sizes: tuple[int, int], excluded: int = 0) -> tuple[Sketch, ...]:
        """Return the page's sketches of these sizes, without shingles only at excluded paths.

        `excluded` has a bit for each DOM path.
        """
        return tuple([
            Sketch(level, int.from_bytes(bits, "little"))
            for level, bits in sketched(self.shingles, self.paths, excluded, *sizes)
        ])  # fmt: skip

    def rows_outside(
        self, excluded: int, shared: Sequence[SharedShingles] = ()
    ) -> NDArray[np.uint64]:
        """Return the shingles in rows, without those at some DOM paths and without shared ones.

        Each of the two is ignored if no shingle would be left.
        """
        rows = self.row_shingles
        if excluded:
            kept = rows[self.row_paths & excluded == 0]
            rows = kept if len(kept) else rows
        left = unshared(rows, shared)
        return left if len(left) else rows

    def counted(self, excluded: int, shared: Sequence[SharedShingles]) -> NDArray[np.bool_]:
        """Return for each word whether it is in a shingle that is neither shared nor left out.

        `excluded` has a bit for each DOM path that is left out. O(words log words).
        """
        words, size = self.words, self.source.size
        of_page = shingle_hashes(words, size) | np.uint64(1)
        left_out = self.shingles[self.paths & excluded != 0] | np.uint64(1)
        counts = np.isin(of_page, unshared(of_page, shared)) & ~np.isin(of_page, left_out)
        reach = np.zeros(size - 1, np.uint8)
        around = np.concatenate([reach, counts.view(np.uint8), reach])
        return _any_of(around, len(words)).view(np.bool_)


def unshared(rows: NDArray[np.uint64], shared: Sequence[SharedShingles]) -> NDArray[np.uint64]:
    """Return shingles without shared ones.

    None may be shared any more since `shared` was looked up.
    """
    asked = rows | np.uint64(1)
    for known in [each.of_any_kind for each in shared if len(each.of_any_kind)]:
        is_own = known.take(known.searchsorted(asked), mode="clip") != asked
        rows, asked = rows[is_own], asked[is_own]
    return rows


def shingled(
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    blocks: Blocks,
    size: int,
    feature_bins: int,
) -> Text:
    """Return the shingles, minima, simhash, rows and DOM paths of a page's blocks.

    `tokens` are its hashed words, at least one, uint64 of shape (n,), `counts` their number in
    each block, int64 of shape (blocks,). A shingle has `size` words. `feature_bins` is the number
    of minima for features, 0 for none. O(tokens log tokens + blocks + feature_bins).
    """
    forms = blocks.forms.translate(_STREAMS)
    is_text = np.frombuffer(forms, np.uint8) != _NAMED
    if counts[is_text].sum() < MIN_BESIDE_NAMED:
        forms = forms.translate(_UNNAMED)
    return _made(
        BlockTokens(tokens, counts, forms, blocks.paths, blocks.joined, size, feature_bins),
        frozenset(),
    )


def _made(source: BlockTokens, first: frozenset[int]) -> Text:
    *found, told = parted(*source, first)
    return Text._make([*found, {path: DomPath(*at) for path, *at in told}, source])


def _row_hashes(
    tokens: NDArray[np.uint64], counts: NDArray[np.int64], row_of: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Hash each row's words in order; its first block has the hash, its other blocks have 0."""
    of_tokens = np.repeat(row_of, counts)
    words = np.bincount(of_tokens, minlength=row_of[-1] + 1)
    offset = np.arange(len(tokens)) - np.repeat(np.cumsum(words) - words, words)
    weight = PUBLIC.mix(np.arange(1, int(words.max()) + 1, dtype=np.uint64)) | np.uint64(1)
    sums = np.zeros(len(words), np.uint64)
    np.add.at(sums, of_tokens, tokens * weight[offset])
    hashes = np.zeros(len(counts), np.uint64)
    hashes[np.flatnonzero(np.diff(row_of, prepend=-1))] = PUBLIC.mix(sums)
    return hashes


def _rows(
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    forms: bytes,
    block_paths: array[int],
    joined: bytes,
) -> tuple[list[int], NDArray[np.uint64], NDArray[np.int64]]:
    """Return for each block its DOM path, the hash of the row that begins there, and its row."""
    of_blocks = np.frombuffer(forms, np.uint8)
    starts_row = ~np.frombuffer(joined, np.bool_)
    starts_row[:1] = True
    row_of = np.cumsum(starts_row) - 1
    kinds, are_links = (of_blocks == _NAMED).astype(np.uint8), of_blocks == Form.LINKS
    names = short_paths(block_paths, kinds.tolist(), are_links.tolist())
    return names, _row_hashes(tokens, counts, row_of), row_of


def _any_of(values: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
    found: NDArray[np.uint8] = values[:number].copy()
    for offset in range(1, len(values) - number + 1):
        found |= values[offset : offset + number]
    return found


def _within_rows(  # noqa: PLR0917
    text: NDArray[np.uint64],
    of_text: NDArray[np.uint64],
    bits: NDArray[np.uint8],
    bits_at: NDArray[np.uint8],
    row: NDArray[np.int64],
    in_links: NDArray[np.bool_],
    size: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return the shingles within rows outside of links, then the rows shorter than a shingle."""
    if len(text) < size:
        return of_text[:0], bits[:0]
    linked = _any_of(in_links.view(np.uint8), len(of_text))
    kept = (row[: len(of_text)] == row[size - 1 :]) & (linked == 0)
    found, paths = [of_text[kept]], [bits_at[kept]]
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    lengths = np.diff(starts, append=len(row))
    for length in range(1, size):
        short = starts[lengths == length]
        for offset in range(length):
            short = short[~in_links[short + offset]]
        if len(short):
            found.append(shingles_at(text, short, length))
            paths.append(bits[short])
    return np.concatenate(found), np.concatenate(paths)


@has_twin(
    "features",
    np.arange(1, 136, dtype=np.uint64) ** np.uint64(13),
    np.array([8, 0, 2, 60, 9, 1, 9, 5, 0, 41]),
    bytes((0, 0, 0, 0, 1, 0, 0, 2, 0, 0)),
    array("I", (3, 3, 3, 4, 5, 6, 7, 8, 9, 4)),
    bytes((1, 1, 0, 1, 0, 0, 1, 0, 0, 0)),
    4,
    16,
    frozenset({6}),
)
def parted(  # noqa: PLR0917  (as the compiled twin takes them)
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    forms: bytes,
    block_paths: array[int],
    joined: bytes,
    size: int,
    feature_bins: int,
    first: frozenset[int],
) -> tuple[Any, ...]:
    """Return the fields of a `Text` up to `standing`; `Blocks` explains the columns.

    For `first` see `told_apart`.
    """
    of_blocks = np.frombuffer(forms, np.uint8)
    is_named, are_links = of_blocks == _NAMED, of_blocks == Form.LINKS
    names, hashes, row_of = _rows(tokens, counts, forms, block_paths, joined)
    rows, named_rows = (
        int(hashes[kept].sum(dtype=np.uint64)) & 0xFFFFFFFF for kept in (~is_named, is_named)
    )

    told = told_apart(names, counts.tolist(), block_paths, first)
    bit_of = np.zeros(len(counts), np.uint8)
    for number, path in enumerate(told):
        bit_of[np.array(names) == path] = 1 << number

    stands_named = np.repeat(is_named, counts)
    every_bit, row = np.repeat(bit_of, counts), np.repeat(row_of, counts)[~stands_named]
    bits = every_bit[~stands_named]
    text, named = tokens[~stands_named], tokens[stands_named]
    of_text, of_named = shingle_hashes(text, size), shingle_hashes(named, size)
    bits_at = _any_of(bits, len(of_text))
    bits_named = _any_of(every_bit[stands_named], len(of_named))
    raw = np.concatenate([of_text, of_named])
    kinds = np.repeat(np.array(KINDS, np.uint64), [len(of_text), len(of_named)])
    paths = np.concatenate([bits_at, bits_named])
    even = raw & ~np.uint64(1)
    order = np.lexsort((raw, paths, kinds, even))
    even, raw, kinds, paths = even[order], raw[order], kinds[order], paths[order]
    distinct = first_of_each(even)
    shingles, paths = (even | kinds)[distinct], paths[distinct]

    in_links = np.repeat(are_links, counts)[~stands_named]
    unlinked = len(text) - np.count_nonzero(in_links)
    if unlinked < MIN_UNLINKED_TOKENS and unlinked < MIN_UNLINKED_SHARE * len(tokens):
        in_links[:] = False
    row_shingles, row_paths = _within_rows(text, of_text, bits, bits_at, row, in_links, size)
    if not len(row_shingles):
        row_shingles, row_paths = shingles, paths
    least = minima_of(row_shingles, feature_bins) if feature_bins else np.empty(0, np.uint64)
    standing = tuple(
        (
            path,
            int(hashes[bit_of == 1 << number].sum(dtype=np.uint64)) & 0xFFFFFFFF,
            min(255, int(np.count_nonzero(paths & (1 << number)))),
        )
        for number, path in enumerate(told)
    )
    return (
        shingles, paths, row_shingles, row_paths, least, majority(raw[distinct]), rows, named_rows,
        standing,
    )  # fmt: skip
