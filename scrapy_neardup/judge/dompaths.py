"""The DOM paths of a page whose text can be left out separately, as it may change by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

TEXT, NAMED = KINDS = range(2)
"""Kinds of shingles: of the text, and of elements named as boilerplate."""

MAX_PATHS: Final = 8
"""Maximum number of DOM paths of a page that are told apart."""

_MIN_PATH_TOKENS: Final = 1
"""Minimum number of tokens at a DOM path that is distinguished."""
_MAX_SHARE: Final = 0.9
"""Maximum share of a page's tokens at a DOM path that is distinguished."""
_SMALL_SHARE: Final = 0.25
"""Maximum share of the text's tokens at a DOM path that comes before larger ones."""


class DomPath(NamedTuple):
    """The text at one DOM path of a page."""

    rows: int
    """Sum of the hashes of its rows, 16 bits."""
    shingles: int
    """Number of shingles that touch it and stand nowhere else, up to 255."""


def bits_of(paths: Sequence[int], known: Collection[int]) -> int:
    """Return which of some DOM paths are among known ones, a bit for each."""
    return sum([1 << number for number, path in enumerate(paths) if path in known])


def short_paths(block_paths: Sequence[int], kinds: Sequence[int]) -> list[int]:
    """Return the DOM path of each block, 16 bits, not 0; the low bit is the block's kind.

    The first and the last block of a path are distinguished, because a template often uses the
    same kind of element above and below the content.
    """
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    blocks = list(zip(block_paths, kinds, strict=True))
    for number, block in enumerate(blocks):
        first.setdefault(block, number)
        last[block] = number
    ends = [
        (number == first[block]) * 0x5A5A + (number == last[block]) * 0x3C1C
        for number, block in enumerate(blocks)
    ]
    return [
        (path + end) & 0xFFFE | kind or 2 for (path, kind), end in zip(blocks, ends, strict=True)
    ]


def told_apart(paths: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
    """Return the DOM paths whose text can be left out separately.

    First comes the last path of the text, then small ones, then others. Among these, paths of the
    text come before those of elements named as boilerplate, and larger ones first. `paths` and
    `counts` are DOM path and number of tokens of each block.
    """
    sizes: Counter[int] = Counter()
    for path, count in zip(paths, counts, strict=True):
        sizes[path] += count
    text = [path for path in paths if path & 1 == TEXT]
    small = _SMALL_SHARE * sum(sizes[path] for path in set(text))
    most = _MAX_SHARE * sum(counts)
    found = sorted(
        (
            (path in text[-1:], size <= small, path & 1 == TEXT, size, path)
            for path, size in sizes.items()
            if _MIN_PATH_TOKENS <= size <= most
        ),
        reverse=True,
    )
    return tuple(path for *_, path in found[:MAX_PATHS])
