"""The result of a walk over a page: its blocks of text, title, media and embedded data.

A *block* is a run of text that no element separates, with its DOM path and its form. The *DOM
path* is the tags and classes that lead to it, as a number: what a site's template puts into one
place of its pages has the same one on all of them. Digits in classes count as one digit, since
they number pages and positions.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Self


class Form(IntEnum):
    """What a block is, by the form in which it stands."""

    CONTENT = 0
    LINKS = 1
    """Four fifths of its characters stand in links."""
    NAMED = 2
    """In an element whose class or id says that it is not content (`tags`)."""
    NAMED_LINKS = 3
    """Links there."""
    NOSCRIPT = 4
    """Shown where scripts don't run: content, but it doesn't make a page."""
    BOILERPLATE = 5
    """In an element whose tag or role says that it is boilerplate."""


class Block(NamedTuple):
    """A run of text that no element separates."""

    text: str
    form: Form
    path: int
    """The DOM path, 32 bits."""
    joined: bool = False
    """Whether it goes on in the row of the block before: cells of a table, a term and what it
    means."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a page, in columns; iterated over, each is a `Block`.

    A page may have thousands, and hardly anything needs one as an object.
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
    """The result of one pass over a tree; for most of it see `scrapy_neardup.text.Content`."""

    blocks: Blocks = field(default_factory=lambda: Blocks.of([]))
    title: str = ""
    headings: list[str] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    """What images and other media show."""
    data: set[str] = field(default_factory=set)
    linked_days: int = 0
    has_boilerplate: bool = False
    """Whether text was left out."""
    base: str = ""
    """What media's addresses are relative to."""
    links: set[str] = field(default_factory=set)
    """Names of the pages that links lead to in elements named as boilerplate; see
    `walk.link_name`."""
