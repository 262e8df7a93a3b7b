"""What is known of the sites of two pages when they are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.settings.catalogue import OPTIONS

MEDIA: Final = 0
"""Stands for the media of a page among its DOM paths, none of which is 0."""


class Shared(Protocol):
    """Shingles that the pages of a folder share."""

    @property
    def shingles(self) -> NDArray[np.uint64]:
        """Those of both kinds, at least one, ascending."""

    def sketch(self, kind: int, size: int, level: int) -> int:
        """Return the bits of their sketch of a kind (`scrapy_neardup.judge.shingling`)."""


class Excluded(NamedTuple):
    """The parts of a page that don't count, and those that tell pages apart."""

    segments: frozenset[int] = frozenset()
    """Segments of its title that are its site's."""
    paths: frozenset[int] = frozenset()
    """DOM paths whose text changes with each response."""
    media: bool = False
    """Whether its media do."""
    shared: tuple[Shared, ...] = ()
    """Boilerplate of its folders, and text that changes with each response."""
    by: tuple[str, ...] = ()
    """Kinds of knowledge that say so."""
    records: frozenset[int] = frozenset()
    """DOM paths whose text says which record it is."""
    canonicals: bool = False
    """Whether what its site's pages name as their canonical page says nothing."""

    def plus(self, other: Excluded) -> Excluded:
        """Return the exclusions of both."""
        return Excluded(
            self.segments | other.segments,
            self.paths | other.paths,
            self.media or other.media,
            self.shared + other.shared,
            self.by + other.by,
            self.records | other.records,
            self.canonicals or other.canonicals,
        )


NOTHING: Final = Excluded()


class Knowledge:
    """What is known of sites: here nothing, in `scrapy_neardup.judge.sites` what they showed."""

    def exclude(self, evidence: Evidence) -> Excluded:  # noqa: ARG002
        """Return the parts of a page that don't count, by what its own site has shown."""
        return NOTHING

    def has_few_pages(self, ours: Evidence, theirs: Evidence) -> bool:  # noqa: ARG002
        """Return whether too few pages are known to tell what two share from what all share.

        So it is if the deepest folder that holds both has few kept pages; for pages of two hosts,
        if either host has.
        """
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a comparison depends on besides the two pages."""

    knowledge: Knowledge = field(default_factory=Knowledge)
    min_resemblance: float = OPTIONS["min_resemblance"].default
    """Minimum resemblance of pages that are one."""
    min_tokens: int = OPTIONS["min_tokens"].default
    """Number of shingles that count below which pages must be equal."""
    titles: str = OPTIONS["titles"].default
    """Whether titles count: ``"learn"``, ``"strict"``, ``"ignore"``."""
    is_exact: bool = False
    """Whether a page repeats only what equals it except for what changes with each response."""
    prefers_canonical: bool = False
    """Whether a page that another one names as its canonical doesn't repeat that one."""


NOTHING_KNOWN: Final = Context()
