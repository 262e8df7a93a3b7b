# ruff: noqa: E501, B905, INP001, SLF001, RUF001, S101, I001, C901, B008, PLR0911, RUF100
"""What a store keeps of a page to compare it with others: `Evidence`.

All of it is read from the page alone. 336 bytes with sketches of 1,792 and 256 bits, and 40 for
a page of fewer than ``NEARDUP_MIN_TOKENS`` words, which has no sketches:

========= =========== ==========================================================================
bytes     type        what
========= =========== ==========================================================================
0 to 5    3 x uint16  path, parameters, last part of the path, hashed (`scrapy_neardup.urls`)
6 to 25   10 x uint16 segments of title and h1, hashed, ascending, digits as one digit; 0 for none
26 to 29  uint32      title and h1 as they are, digest; 0 for none
30 to 33  uint32      rows of text, a sum of hashes: the same in any order
34 to 37  uint32      the same of elements named as boilerplate
38, 39    2 x uint8   levels of the sketches
40 to 55  8 x uint16  DOM paths of the page that may change with each response; 0 for none
56 to 71  8 x uint16  what stands there: a sum of hashes, modulo 2^16
72 to 79  8 x uint8   shingles that touch it; 255 and more are 255
80 on     bits        sketches of text and of elements named as boilerplate (`sketch`)
========= =========== ==========================================================================

Text comes in two streams of words: what stands in elements whose name says that they are
boilerplate, and all else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.evidence.places import named_places
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.text import Form

from sketch import Sketch

MAIN, NAMED = KINDS = range(2)
SIZES: Final = (1792, 256)
"""Bits of the sketches of text and of elements named as boilerplate."""

SHINGLE: Final = 4
MAX_PATHS: Final = 8
"""Number of DOM paths that are told apart."""
_MIN_WORDS, _MAX_SHARE, _SMALL = 3, 0.5, 0.25
_SEGMENTS: Final = 10
_HEAD: Final = Struct(f"<3H{_SEGMENTS}H3I2B")
_SHORT: Final = _HEAD.size
_PATHS: Final = Struct(f"<{MAX_PATHS}H{MAX_PATHS}H{MAX_PATHS}B")

_SEPARATOR: Final = re.compile(r"\s+[-|·•–—:~/]+\s+|\s*[|»«·•—–]\s*|:\s+")
"""What stands between the parts of a title: a page's own, and the site's."""
_DIGITS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class DomPath:
    """Text at one DOM path of a page: a sum of the hashes of its rows, and its shingles."""

    rows: int
    shingles: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a stored page; see above."""

    path: int
    query: int
    name: int
    segments: frozenset[int]
    title: int
    rows: int
    named_rows: int
    paths: dict[int, DomPath]
    sketches: tuple[Sketch, ...] = ()

    def rows_without(self, paths: Collection[int]) -> int:
        """Return the sum of the rows, modulo 2^16, but for those at some DOM paths."""
        return (
            self.rows - sum(at.rows for path, at in self.paths.items() if path in paths)
        ) & 0xFFFF

    def pack(self) -> bytes:
        """Return its bytes."""
        levels = [each.level for each in self.sketches] or [0, 0]
        segments = sorted(self.segments)
        head = _HEAD.pack(
            self.path, self.query, self.name, *segments, *[0] * (_SEGMENTS - len(segments)),
            self.title, self.rows, self.named_rows, *levels,
        )  # fmt: skip
        if not self.sketches:
            return head
        blank = [0] * (MAX_PATHS - len(self.paths))
        found = self.paths.values()
        paths = _PATHS.pack(
            *self.paths, *blank, *[at.rows for at in found], *blank,
            *[at.shingles for at in found], *blank,
        )  # fmt: skip
        bits = (
            each.bits.to_bytes(size // 8, "little") for each, size in zip(self.sketches, SIZES)
        )
        return head + paths + b"".join(bits)

    @classmethod
    def unpack(cls, stored: bytes) -> Evidence:
        """Return what `pack` wrote."""
        path, query, name, *rest = _HEAD.unpack_from(stored)
        segments, (title, rows, named_rows, *levels) = rest[:_SEGMENTS], rest[_SEGMENTS:]
        paths: dict[int, DomPath] = {}
        sketches = []
        if len(stored) > _SHORT:
            at = _PATHS.unpack_from(stored, _SHORT)
            columns = zip(at[:MAX_PATHS], at[MAX_PATHS : 2 * MAX_PATHS], at[2 * MAX_PATHS :])
            paths = {place: DomPath(sum_, count) for place, sum_, count in columns if place}
            start = _SHORT + _PATHS.size
            for level, size in zip(levels, SIZES):
                sketches.append(
                    Sketch(level, int.from_bytes(stored[start : start + size // 8], "little"))
                )
                start += size // 8
        return cls(
            path, query, name, frozenset(filter(None, segments)), title, rows, named_rows, paths,
            tuple(sketches),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """The text of a page at hand.

    Parameters
    ----------
    shingles, kinds
        Distinct, ascending, shape (n,), uint64, with the kind of each in its low bit; and the
        kinds, uint8.
    paths
        Bit i: the shingle stands in the i-th DOM path of the evidence, and nowhere else; uint8.
    """

    shingles: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    paths: NDArray[np.uint8]

    def sketches(self, without: int = 0) -> tuple[Sketch, ...]:
        """Return the sketches of the page, but for what stands in some DOM paths alone.

        Parameters
        ----------
        without
            A bit for each DOM path.
        """
        kept = self.paths & without == 0
        return tuple(
            Sketch.of(self.shingles[kept & (self.kinds == kind)], size)
            for kind, size in zip(KINDS, SIZES)
        )


def segments_of(title: str, headings: Iterable[str]) -> frozenset[int]:
    """Return the hashed segments of title and headings, 16 bits each, not 0; digits are one digit.

    Beyond nine they are one number.
    """
    parts = dict.fromkeys(
        part
        for text in (title, *headings)
        for each in _SEPARATOR.split(_DIGITS.sub("0", text.lower()))
        if (part := each.strip())
    )
    first, rest = list(parts)[: _SEGMENTS - 1], list(parts)[_SEGMENTS - 1 :]
    texts = [*first, *["\0".join(rest)] * bool(rest)]
    return frozenset(_digest(text, 2) for text in texts)


def title_digest(title: str, headings: Iterable[str]) -> int:
    """Return a digest of title and headings as they are, 32 bits; 0 where there are none."""
    texts = (title, *headings)
    return _digest("\0".join(texts), 4) if any(texts) else 0


def _digest(text: str, size: int) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=size).digest(), "little") or 1


def read_text(  # noqa: PLR0914
    tokens: NDArray[np.uint64],
    counts: NDArray[np.int64],
    forms: NDArray[np.uint8],
    places: Sequence[int],
    joined: NDArray[np.bool_],
) -> tuple[Text, int, int, dict[int, DomPath]]:
    """Return the text of a page, the sums of its rows, and its DOM paths.

    Parameters
    ----------
    tokens, counts
        Hashed words of the page, and their number in each block.
    forms, places, joined
        Of each block, as in `scrapy_neardup.text.Blocks`.

    Returns
    -------
    text : Text
    rows, named_rows : int
        Sums of hashes of rows, modulo 2^32.
    paths : dict
        DOM path, 16 bits -> what stands there; at most `MAX_PATHS`.

    Notes
    -----
    O(tokens log tokens + blocks).
    """
    is_named = forms == Form.NAMED
    main = np.flatnonzero(~is_named)
    names = np.array(named_places([int(places[block]) for block in main]), np.int64)
    told = _told_apart(names, counts[main], len(tokens))
    bit_of = np.zeros(len(counts), np.uint8)
    for number, name in enumerate(told):
        bit_of[main[names == name]] = 1 << number
    hashes = _row_hashes(tokens, counts, joined)
    sums = [
        int(hashes[~is_named].sum(dtype=np.uint64)),
        int(hashes[is_named].sum(dtype=np.uint64)),
    ]

    of_tokens = np.repeat(is_named, counts)
    bits = np.repeat(bit_of, counts)[~of_tokens]
    parts, kinds, paths = [], [], []
    for stream, is_main in ((tokens[~of_tokens], True), (tokens[of_tokens], False)):
        if not len(stream):
            continue
        found = shingle_hashes(stream, SHINGLE)
        parts.append(found)
        kinds.append(np.full(len(found), MAIN if is_main else NAMED, np.uint8))
        paths.append(_windows(bits, len(found)) if is_main else np.zeros(len(found), np.uint8))
    shingles, kind, path = map(np.concatenate, (parts, kinds, paths))
    # The kind stands in the low bit, so that one number says both; text comes first.
    order = np.lexsort((path, kind, shingles & ~np.uint64(1)))
    shingles, kind, path = shingles[order] & ~np.uint64(1), kind[order], path[order]
    first = np.ones(len(shingles), np.bool_)
    np.not_equal(shingles[1:], shingles[:-1], out=first[1:])
    shingles, kind, path = shingles[first], kind[first], path[first]
    sizes = {
        name: DomPath(
            int(hashes[bit_of == 1 << number].sum(dtype=np.uint64)) & 0xFFFF,
            min(255, int(np.count_nonzero(path & (1 << number)))),
        )
        for number, name in enumerate(told)
    }
    text = Text(shingles | kind.astype(np.uint64), kind, path)
    return text, sums[0] & 0xFFFFFFFF, sums[1] & 0xFFFFFFFF, sizes


def _windows(values: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
    """Return what any of the words of each shingle has."""
    found = values[:number].copy()
    for place in range(1, len(values) - number + 1):
        found |= values[place : place + number]
    return found


def _row_hashes(
    tokens: NDArray[np.uint64], counts: NDArray[np.int64], joined: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Return a hash for the first block of each row, of all of the row's words in order; else 0."""
    starts_row = ~joined
    starts_row[:1] = True
    row = np.cumsum(starts_row) - 1
    of_tokens = np.repeat(row, counts)
    words = np.bincount(of_tokens, minlength=row[-1] + 1)
    place = np.arange(len(tokens)) - np.repeat(np.cumsum(words) - words, words)
    weight = PUBLIC.mix(np.arange(1, int(words.max()) + 1, dtype=np.uint64)) | np.uint64(1)
    sums = np.zeros(len(words), np.uint64)
    np.add.at(sums, of_tokens, tokens * weight[place])
    hashes = np.zeros(len(counts), np.uint64)
    hashes[starts_row] = PUBLIC.mix(sums)
    return hashes


def _told_apart(names: NDArray[np.int64], counts: NDArray[np.int64], tokens: int) -> list[int]:
    """Return the DOM paths that are told apart: the last one, small ones, others; largest first."""
    sizes: Counter[int] = Counter()
    for name, count in zip(names.tolist(), counts.tolist(), strict=True):
        sizes[name] += count
    small = _SMALL * sum(sizes.values())
    found = sorted(
        (
            (name == names[-1], size <= small, size, name)
            for name, size in sizes.items()
            if _MIN_WORDS <= size <= _MAX_SHARE * tokens
        ),
        reverse=True,
    )
    return [name for *_, name in found[:MAX_PATHS]]
