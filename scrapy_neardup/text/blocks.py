"""The result of a walk over a page: its blocks of text, title, media and embedded data.

A *block* is a run of text that no element separates, with its DOM path and its form. The *DOM
path* is the tags and classes that lead to the block, as a number: text that a site's template puts
into one place has the same DOM path on all of its pages. Digits in classes count as one digit,
because they number pages and positions.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain
from typing import NamedTuple, Self


class Form(IntEnum):
    """The form of a block, which says whether it is content."""

    CONTENT = 0
    LINKS = 1
    """Four fifths of its characters are in links."""
    NAMED = 2
    """In an element whose class or id says that it is not content (`tags`)."""
    NAMED_LINKS = 3
    """Links in such an element."""
    NOSCRIPT = 4
    """Shown only without scripts: content, but not enough to make a page."""
    BOILERPLATE = 5
    """In an element whose tag or role says that it is boilerplate."""


class Block(NamedTuple):
    """A run of text that no element separates."""

    text: str
    form: Form
    path: int
    """The DOM path, 32 bits."""
    joined: bool = False
    """Whether it continues the row of the block before, as a cell does, or a term's meaning."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a page, in columns; iteration yields a `Block` each.

    A page may have thousands of blocks, and few callers need objects.
    """

    texts: tuple[str, ...]
    forms: bytes
    paths: array[int] = field(hash=False)
    """32 bits each."""
    joined: bytes

    @classmethod
    def of(cls, blocks: Collection[Block]) -> Self:
        """Return these blocks in columns."""
        texts, forms, paths, joined = zip(*blocks, strict=True) if blocks else [()] * 4
        return cls(texts, bytes(forms), array("I", paths), bytes(joined))

    @classmethod
    def chained(cls, parts: Sequence[Self]) -> Self:
        """Return blocks that follow each other."""
        paths = array("I", b"".join(part.paths.tobytes() for part in parts))
        return cls(
            tuple(chain.from_iterable(part.texts for part in parts)),
            b"".join(part.forms for part in parts),
            paths,
            b"".join(part.joined for part in parts),
        )

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Block]:
        columns = zip(self.texts, self.forms, self.paths, self.joined, strict=True)
        for text, form, path, joined in columns:
            yield Block(text, Form(form), path, bool(joined))


@dataclass(slots=True)
class Walked:
    """The result of one pass over a tree; `scrapy_neardup.text.Content` describes most fields."""

    blocks: Blocks = field(default_factory=lambda: Blocks.of([]))
    title: str = ""
    headings: list[str] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)
    """The sources of images and other media -> number of elements that show them."""
    data: set[str] = field(default_factory=set)
    linked_days: int = 0
    has_boilerplate: bool = False
    """Whether text was left out."""
    base: str = ""
    """The address that addresses of media are relative to."""
    links: set[str] = field(default_factory=set)
    """Names of the pages that links lead to in elements named as boilerplate; see
    `media.link_name`."""
    canonical: str = ""
    """The first address in a ``<link rel="canonical">`` of the head (RFC 6596)."""

    @classmethod
    def chained(cls, parts: Sequence[Self]) -> Self:
        """Return the result of a pass over each of a page's roots; there is mostly one."""
        if len(parts) == 1:
            return parts[0]
        sources = Counter[str]()
        for part in parts:
            sources.update(part.sources)
        return cls(
            Blocks.chained([part.blocks for part in parts]),
            next((part.title for part in parts if part.title), ""),
            [*chain.from_iterable(part.headings for part in parts)],
            dict(sources),
            set[str]().union(*(part.data for part in parts)),
            sum(part.linked_days for part in parts),
            any(part.has_boilerplate for part in parts),
            next((part.base for part in parts if part.base), ""),
            set[str]().union(*(part.links for part in parts)),
            next((part.canonical for part in parts if part.canonical), ""),
        )
