"""`Evidence`: the data that a store keeps of a page to compare it with others.

All of it is read from the page alone:

========= =========== ==========================================================================
bytes     type        content
========= =========== ==========================================================================
0 to 7    2 x uint32  host, and folder: the address without its last step
8 to 11   uint32      path; that of the canonical page if it names one
12 to 15  2 x uint16  parameters; last part of the path (`scrapy_neardup.urls`)
16 to 35  10 x uint16 segments of title and h1, ascending, numbers as one number; 0 for none
36 to 39  uint32      title and h1 unchanged; 0 for none
40 to 43  uint32      images, other media, embedded data; 0 for none
44 to 51  2 x uint32  rows of text, and of elements named as boilerplate: sums of their hashes,
                      the same in any order
52 to 55  uint32      names of the pages that links in such elements lead to; 0 for none
56, 57    uint16      words of such elements outside of links; 65,535 and more are 65,535
58, 59    2 x uint8   levels of the sketches; of the first, bit 7: another page is canonical
60 to 75  8 x uint16  DOM paths whose text can be left out separately; low bit 1: of elements named
                  as boilerplate; 0 for none
76 to 107 8 x uint32  rows there: sums of their hashes
108 - 115 8 x uint8   shingles that touch them; 255 and more are 255
116 on    bits        sketches of text, and of elements named as boilerplate (`judge.sketch`)
========= =========== ==========================================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from scrapy_neardup.fingerprints import digest
from scrapy_neardup.judge.sketch import Sketch

TEXT, NAMED = KINDS = range(2)
"""Kinds of shingles: of the text, and of elements named as boilerplate."""

MAX_PATHS: Final = 8
"""Maximum number of DOM paths of a page that evidence has."""

_MIN_PATH_TOKENS: Final = 1
"""Minimum number of tokens at a DOM path that is distinguished."""
_MAX_SHARE: Final = 0.9
"""Maximum share of a page's tokens at a DOM path that is distinguished."""
_SMALL_SHARE: Final = 0.25
"""Maximum share of the text's tokens at a *small* DOM path; small ones come first."""


class DomPath(NamedTuple):
    """The text at one DOM path of a page."""

    rows: int
    """Sum of the hashes of its rows, 32 bits."""
    shingles: int
    """Number of shingles that touch it and occur nowhere else, up to 255."""


def bits_of(paths: Sequence[int], known: Collection[int]) -> int:
    """Return one bit for each DOM path: whether it is among the known ones."""
    return sum([1 << number for number, path in enumerate(paths) if path in known])


def short_paths(
    block_paths: Sequence[int], kinds: Sequence[int], are_links: Sequence[bool]
) -> list[int]:
    """Return the DOM path of each block, 16 bits, not 0; the low bit is the block's kind.

    The first and the last block of a path get other paths, because a template often uses the same
    kind of element above and below the content. In a list of links they don't, because they would
    take the place of other paths.
    """
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    blocks = list(zip(block_paths, kinds, strict=True))
    for number, block in enumerate(blocks):
        first.setdefault(block, number)
        last[block] = number
    ends = [
        not is_link and (number == first[block]) * 0x5A5A + (number == last[block]) * 0x3C1C
        for number, (block, is_link) in enumerate(zip(blocks, are_links, strict=True))
    ]
    return [
        (path + end) & 0xFFFE | kind or 2 for (path, kind), end in zip(blocks, ends, strict=True)
    ]


def told_apart(
    paths: Sequence[int],
    counts: Sequence[int],
    block_paths: Sequence[int],
    first: Collection[int] = (),
) -> tuple[int, ...]:
    """Return the DOM paths whose text can be left out separately.

    The order is: paths in `first`, which matter on the page's site; the last path of the text;
    small ones; others. Paths of the text come before those of elements named as boilerplate. Among
    small ones the smaller come first, for example a town, a price or a clock beside menus and
    hints. The ends of a list, blocks about as long as the rest of it, come after other small ones.
    `paths` and `counts` are DOM path and number of tokens of each block, `block_paths` the DOM
    paths that the blocks of a list share.
    """
    sizes, lists, numbers = Counter[int](), Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    blocks = [(block, path & 1) for block, path in zip(block_paths, paths, strict=True)]
    for path, block, count in zip(paths, blocks, counts, strict=True):
        sizes[path] += count
        lists[block] += count
        numbers[block] += 1
    alone = {
        path for path, block, count in zip(paths, blocks, counts, strict=True)
        if numbers[block] == 1 or 2 * count * numbers[block] <= lists[block]
    }  # fmt: skip
    text = [path for path in paths if path & 1 == TEXT]
    small = _SMALL_SHARE * sum(sizes[path] for path in set(text))
    most = _MAX_SHARE * sum(counts)
    found = sorted(
        (
            (
                path in first,
                path in text[-1:],
                size <= small,
                path & 1 == TEXT,
                size <= small and path in alone,
                -size if size <= small else size,
                path,
            )
            for path, size in sizes.items()
            if _MIN_PATH_TOKENS <= size <= most
        ),
        reverse=True,
    )
    return tuple(path for *_, path in found[:MAX_PATHS])


MAX_SEGMENTS: Final = 10
"""Maximum number of segments of title and headings that are kept."""

MAX_LABELS: Final = (1 << 16) - 1
"""Largest stored number of words of elements named as boilerplate."""

_HEAD: Final = Struct(f"<3I2H{MAX_SEGMENTS}H5IH2B")
_PATHS: Final = Struct(f"<{MAX_PATHS}H{MAX_PATHS}I{MAX_PATHS}B")
_FIXED: Final = 5
"""Number of the fields before the segments."""
_PATH: Final = slice(8, 12)
_HAS_CANONICAL: Final = 0x80


def stored_size(sizes: tuple[int, int]) -> int:
    """Return the size in bytes of the evidence with sketches of these sizes in bits."""
    return _HEAD.size + _PATHS.size + sum(sizes) // 8


def shortened(stored: bytes) -> bytes:
    """Return the bytes of `Evidence.pack` without blanks for segments and DOM paths.

    They follow a byte with the numbers of both: 4 bits each. Some .7 µs.
    """
    segments = (len(stored[16:36].rstrip(b"\0")) + 1) // 2
    paths = (len(stored[60:76].rstrip(b"\0")) + 1) // 2
    return b"".join((
        bytes((segments << 4 | paths,)), stored[: 16 + 2 * segments], stored[36 : 60 + 2 * paths],
        stored[76 : 76 + 4 * paths], stored[108 : 108 + paths], stored[116:],
    ))  # fmt: skip


def whole(short: bytes, size: int) -> tuple[bytes, bytes]:
    """Return the `size` bytes that `shortened` has shortened, and those that follow them."""
    segments, paths = divmod(short[0], 16)
    head = 17 + 2 * segments
    named = head + 24 + 2 * paths
    rows = named + 4 * paths
    shingles = rows + paths
    end = shingles + size - 116
    stored = b"".join((
        short[1:head].ljust(36, b"\0"), short[head:named].ljust(40, b"\0"),
        short[named:rows].ljust(32, b"\0"), short[rows:shingles].ljust(8, b"\0"),
        short[shingles:end],
    ))  # fmt: skip
    return stored, short[end:]


def have_one_path(ours: bytes, theirs: bytes) -> bool:
    """Return whether two pages, given by their evidence, have the same path."""
    return ours[_PATH] == theirs[_PATH]


NO_PATHS: Final[Mapping[int, DomPath]] = {}


class Evidence(NamedTuple):
    """The unpacked evidence of a page; the module's table explains the fields."""

    host: int = 0
    folder: int = 0
    path: int = 0
    query: int = 0
    name: int = 0
    segments: frozenset[int] = frozenset()
    title: int = 0
    embedded: int = 0
    rows: int = 0
    named_rows: int = 0
    links: int = 0
    """Digest of the names of pages that links in elements named as boilerplate lead to."""
    labels: int = 0
    """Number of words of such elements outside of links, up to `MAX_LABELS`."""
    has_canonical: bool = False
    """Whether it names another page as its canonical one."""
    paths: Mapping[int, DomPath] = NO_PATHS
    """DOM path -> the text there, at most `MAX_PATHS`."""
    sketches: tuple[Sketch, ...] = (Sketch(0, 0), Sketch(0, 0))
    """Sketches of text and of elements named as boilerplate."""

    def has_name_in_other_folder(self, other: Evidence) -> bool:
        """Return whether two paths have one last part, in different folders."""
        return self.folder != other.folder and self.name == other.name

    def is_edition_of(self, other: Evidence) -> bool:
        """Return whether two addresses differ only in a folder."""
        return self.has_name_in_other_folder(other) and self.query == other.query

    def rows_at(self, path: int) -> int:
        """Return the sum of the rows at a DOM path; 0 if the evidence doesn't have the path."""
        at = self.paths.get(path)
        return 0 if at is None else at.rows

    def rows_without(self, paths: Collection[int]) -> tuple[int, int]:
        """Return the sums of the rows, modulo 2^32, except for those at some DOM paths.

        One sum is for text and one for elements named as boilerplate, by the low bit of a DOM
        path.
        """
        sums = [self.rows, self.named_rows]
        for path, at in self.paths.items():
            if path in paths:
                sums[path & 1] -= at.rows
        return sums[0] & 0xFFFFFFFF, sums[1] & 0xFFFFFFFF

    def shingles_at(self, paths: Collection[int], kind: int) -> int:
        """Return the number of shingles of a kind at some DOM paths."""
        return sum([
            at.shingles for path, at in self.paths.items() if path & 1 == kind and path in paths
        ])  # fmt: skip

    def pack(self, sizes: tuple[int, int]) -> bytes:
        """Return its bytes, with sketches of these sizes in bits."""
        levels = [each.level for each in self.sketches]
        levels[0] |= _HAS_CANONICAL * self.has_canonical
        blank = [0] * (MAX_SEGMENTS - len(self.segments))
        head = _HEAD.pack(
            *self[:_FIXED], *sorted(self.segments), *blank, *self[_FIXED + 1 : _FIXED + 7], *levels
        )
        blank = [0] * (MAX_PATHS - len(self.paths))
        rows, shingles = zip(*self.paths.values(), strict=True) if self.paths else ((), ())
        paths = _PATHS.pack(*self.paths, *blank, *rows, *blank, *shingles, *blank)
        bits = [
            each.bits.to_bytes(size // 8, "little")
            for each, size in zip(self.sketches, sizes, strict=True)
        ]
        return head + paths + b"".join(bits)

    @classmethod
    @lru_cache(maxsize=1024)  # pages with one path are compared with the same stored ones
    def unpack(cls, stored: bytes, sizes: tuple[int, int]) -> Evidence:
        """Read the bytes that `pack` returned. Some 5 µs."""
        *fixed, text_level, named_level = _HEAD.unpack_from(stored)
        segments = frozenset(fixed[_FIXED : _FIXED + MAX_SEGMENTS])
        columns = _PATHS.unpack_from(stored, _HEAD.size)
        count = columns.index(0) if 0 in columns[:MAX_PATHS] else MAX_PATHS
        rows, shingles = columns[MAX_PATHS : 2 * MAX_PATHS], columns[2 * MAX_PATHS :]
        paths = dict(zip(columns[:count], map(DomPath, rows, shingles), strict=False))
        start = _HEAD.size + _PATHS.size
        middle = start + sizes[0] // 8
        sketches = (
            Sketch(text_level & ~_HAS_CANONICAL, int.from_bytes(stored[start:middle], "little")),
            Sketch(named_level, int.from_bytes(stored[middle:], "little")),
        )
        host, folder, path, query, name = fixed[:_FIXED]
        title, embedded, rows, named_rows, links, labels = fixed[_FIXED + MAX_SEGMENTS :]
        has_canonical = bool(text_level & _HAS_CANONICAL)
        return cls(
            host, folder, path, query, name, segments - {0}, title, embedded, rows, named_rows,
            links, labels, has_canonical, paths, sketches,
        )  # fmt: skip


_SEPARATOR = re.compile(r"\s+[-|·•\u2013—:~/]+\s+|\s*[|»«·•—\u2013]\s*|:\s+|\s+[(\[]")
"""Separators of the segments of a title."""
_SIGN = re.compile(r"[-|·•\u2013\u2014:~/»«(\[]")
"""A character that each separator has."""
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,:/-]\d+)*(?![^\W_])")
"""A number that is a word; a model name such as RTX3080 isn't a number."""


def segments_of(titles: Sequence[str], *, key: bytes | None) -> frozenset[int]:
    """Return the segments of titles and headings, hashed to 16 bits, not 0; numbers are equal.

    ``Chapter 4 - The Handbook`` has two, one of the page and one of the site;
    `scrapy_neardup.judge.titles` learns which belong to the site. Segments beyond
    `MAX_SEGMENTS` - 1 are joined.
    """
    parts: dict[str, None] = {}
    for title in dict.fromkeys(titles):  # a heading often is the title
        text = title.lower()
        if _DIGIT.search(text):
            text = _NUMBER.sub("0", text)
        for each in _SEPARATOR.split(text) if _SIGN.search(text) else (text,):
            if part := each.strip().rstrip(")]").rstrip():
                parts[part] = None
    first, rest = list(parts)[: MAX_SEGMENTS - 1], list(parts)[MAX_SEGMENTS - 1 :]
    texts = [*first, *["\0".join(rest)] * bool(rest)]
    return frozenset([_hashed(text, key) for text in texts])


def title_of(title: str, headings: Sequence[str]) -> tuple[str, ...]:
    """Return title and headings, except for headings that repeat the title or its first segment.

    A printable version often has the title alone.
    """
    repeated = {title, _SEPARATOR.split(title, maxsplit=1)[0]}
    return tuple(filter(None, (title, *[each for each in headings if each not in repeated])))


@lru_cache(maxsize=256)  # most pages of a site share some segments with others
def _hashed(segment: str, key: bytes | None) -> int:
    return digest(segment, key=key, bits=32) & 0xFFFF or 1
