"""Collections of token sets as arrays: words, shingles, numbered multisets.

Tokens become whole numbers, without hashing (two tokens never share a number), by ascending
document frequency: a set's rarest tokens come first, so that prefixes meet few other sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import Integers
from scrapy_neardup.fingerprints.shingles import first_of_each
from scrapy_neardup.settings.validation import whole_number
from scrapy_neardup.tables.arrays import ranges
from scrapy_neardup.text.tokens import normalize

_CODES = 1 << 62
"""Upper limit of the codes of tokens and of (set, token), in 64-bit integers."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenSets:
    """Sets of tokens in one array (compressed rows); `encode` and `shingles` make them.

    Set k is ``tokens[indptr[k] : indptr[k + 1]]`` (int64 and int32), increasing; token 0 occurs in
    the fewest sets. `frequency`, int64, is the number of sets that each token occurred in when all
    were encoded.
    """

    indptr: Integers
    tokens: NDArray[np.int32]
    frequency: Integers

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Integers:
        """Number of distinct tokens of every set, int64."""
        return np.diff(self.indptr)

    def row(self, number: int) -> NDArray[np.int32]:
        """Return the tokens of one set."""
        return self.tokens[self.indptr[number] : self.indptr[number + 1]]

    def take(self, order: Integers) -> TokenSets:
        """Return the sets in another order."""
        sizes = self.sizes[order]
        tokens = gathered(self.tokens, self.indptr[order], sizes)
        return TokenSets(_offsets(sizes), tokens, self.frequency)


def words(text: str) -> list[bytes]:
    """Return the tokens of `text` in UTF-8, as for fingerprints."""
    return normalize(text).split()


def encode(sets: Iterable[Iterable[Hashable]], *, multiset: bool = False) -> TokenSets:
    """Return token sets from iterables of hashable tokens, one (not a string) for each set.

    A repeated token counts once. With `multiset` the second ``a`` of a record is another token,
    which matches only the second ``a`` of another record (Xiao et al. 2008, section 2.1).
    """
    return shingles(sets, 1, multiset=multiset)


def shingles(
    documents: Iterable[Iterable[Hashable]], size: int = 4, *, multiset: bool = False
) -> TokenSets:
    """Return the sets of `size` neighbouring tokens of documents (Broder 1997, section 2).

    A document is a sequence of tokens, such as `words` of its text; a string is refused. A
    document with fewer tokens has one shingle, of all its tokens; one without tokens resembles
    nothing. `multiset` is as in `encode`. O(n log n) for n tokens in all, some 50 bytes a token.
    """
    size = whole_number("the shingle size", size, least=1)
    numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
    sizes: list[int] = []
    tokens = chain.from_iterable(_measured(documents, sizes))
    ids = np.fromiter(map(numbers.__getitem__, tokens), dtype=np.int64)
    lengths, bound = np.array(sizes, np.int64), len(numbers)
    is_short = (lengths > 0) & (lengths < size)
    if is_short.any():  # filled up with a token that no document has
        padded = _offsets(np.where(is_short, size, lengths))
        filled = np.full(padded[-1], bound, np.int64)
        filled[ranges(padded[:-1], lengths)] = ids
        return _build(*_windows(filled, padded, bound + 1, size), multiset=multiset)
    return _build(*_windows(ids, _offsets(lengths), bound, size), multiset=multiset)


def hashed(hashes: NDArray[np.uint64], sizes: Sequence[int] | Integers) -> TokenSets:
    """Return token sets for sets of distinct hashes, concatenated, and their sizes.

    It takes some 60 bytes a hash meanwhile.
    """
    rows = np.repeat(np.arange(len(sizes)), sizes)
    return _build(hashes, _offsets(sizes), rows, multiset=False)


@has_twin("joins", np.arange(9, dtype=np.int32), np.array([4, 0, 1]), np.array([5, 2, 0]))
def gathered(tokens: NDArray[np.int32], starts: Integers, counts: Integers) -> NDArray[np.int32]:
    """Concatenate ``counts[0]`` tokens from ``starts[0]`` on, and so on."""
    return tokens[ranges(starts, counts)]


def _offsets(sizes: Sequence[int] | Integers) -> Integers:
    indptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    return indptr


def _measured(
    documents: Iterable[Iterable[Hashable]], sizes: list[int]
) -> Iterator[Sequence[Hashable]]:
    """Yield every document, and append its length to `sizes`."""
    for document in documents:
        if isinstance(document, str | bytes):
            raise ConfigurationError(
                f"a set of tokens can't be the text {document[:40]!r}: pass its words(), or a list"
                " of its characters"
            )
        tokens = tuple(document)
        sizes.append(len(tokens))
        yield tokens


def _windows(
    ids: Integers, indptr: Integers, bound: int, size: int
) -> tuple[Integers, Integers, Integers]:
    """Return a code for each run of `size` ids within a row, and the rows' offsets and numbers.

    Equal codes mean equal runs: ids are digits of a number. If another digit wouldn't fit into 64
    bits, the number is replaced by its rank among all.
    """
    lengths = np.diff(indptr)
    counts = np.maximum(lengths - (size - 1), 0)
    starts = ranges(indptr[:-1], counts)
    codes, codes_bound = ids[starts], bound
    for offset in range(1, size):
        if codes_bound * bound >= _CODES:
            distinct, codes = np.unique(codes, return_inverse=True)
            codes_bound = len(distinct)
        codes = codes * bound + ids[starts + offset]
        codes_bound *= bound
    return codes, _offsets(counts), np.repeat(np.arange(len(counts)), counts)


def _build(
    codes: Integers | NDArray[np.uint64], indptr: Integers, rows: Integers, *, multiset: bool
) -> TokenSets:
    """Number codes by document frequency and sort them within their rows."""
    # Equal codes stay in the order of their rows, unless each row has a hash only once.
    order = np.argsort(codes, kind=None if codes.dtype == np.uint64 else "stable")
    codes, rows = codes[order], rows[order]
    new_code = first_of_each(codes)
    new_row = new_code.copy()
    new_row[1:] |= rows[1:] != rows[:-1]
    ids = np.cumsum(new_code) - 1
    if multiset:
        positions = np.arange(len(codes))
        occurrence = positions - np.maximum.accumulate(np.where(new_row, positions, 0))
        most = np.maximum.reduceat(occurrence, np.flatnonzero(new_code)) + 1
        ids = (np.cumsum(most) - most)[ids] + occurrence
    else:
        ids, rows = ids[new_row], rows[new_row]
    frequency = np.bincount(ids)
    by_frequency = np.argsort(frequency, kind="stable")
    rank = np.empty_like(by_frequency)
    rank[by_frequency] = np.arange(len(rank))
    keys = rows * len(rank) + rank[ids]
    keys.sort()
    tokens = (keys % max(1, len(rank))).astype(np.int32)
    sizes = np.bincount(rows, minlength=len(indptr) - 1)
    return TokenSets(_offsets(sizes), tokens, frequency[by_frequency])
