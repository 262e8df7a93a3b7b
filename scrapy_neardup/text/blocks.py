"""The result of a walk over a page: its blocks of text, title, media and embedded data.

A *block* is a run of text that no element separates, with its DOM path and its form. The *DOM
path* is the tags and classes that lead to the block, as a number: text that a site's template puts
into one place has the same DOM path on all of its pages. Digits in classes count as one digit,
because they number pages and positions.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
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
