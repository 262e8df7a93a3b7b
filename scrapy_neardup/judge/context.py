"""Knowledge about the sites of two pages that are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.settings.catalogue import OPTIONS

MEDIA: Final = 0
"""The media of a page, among its DOM paths, which are never 0."""


class Shared(Protocol):
    """Shingles that the pages of a folder share."""

    @property
    def shingles(self) -> NDArray[np.uint64]:
        """Those of both kinds, at least one, ascending."""

    def sketch(self, kind: int, size: int, level: int) -> int:
        """Return the bits of their sketch of this kind (`scrapy_neardup.judge.shingling`)."""


class Excluded(NamedTuple):
    """The parts of a page that don't count, and those that tell pages apart."""

    segments: frozenset[int] = frozenset()
    """Segments of its title that belong to the site."""
    paths: frozenset[int] = frozenset()
    """DOM paths whose text changes with each response."""
    media: bool = False
    """Whether its media change with each response."""
    shared: tuple[Shared, ...] = ()
    """Boilerplate of its folders, and text that changes with each response."""
    by: tuple[str, ...] = ()
    """Kinds of knowledge behind these exclusions."""
    records: frozenset[int] = frozenset()
    """DOM paths whose text tells records apart."""
    canonicals: bool = False
    """Whether canonical addresses of its site mean nothing."""

    def plus(self, other: Excluded) -> Excluded:
        """Return the union of two exclusions."""
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
    """Knowledge about sites; this class knows nothing, `scrapy_neardup.judge.sites` learns."""

    def exclude(self, evidence: Evidence) -> Excluded:  # noqa: ARG002
        """Return the parts of a page that don't count, by what its site has shown."""
        return NOTHING

    def has_few_pages(self, ours: Evidence, theirs: Evidence) -> bool:  # noqa: ARG002
        """Return whether too few pages are known to tell boilerplate from content of two pages.

        This is so if their deepest common folder has few kept pages; for pages of two hosts,
        if either host has few.
        """
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything on which a comparison depends besides the two pages."""

    knowledge: Knowledge = field(default_factory=Knowledge)
    min_resemblance: float = OPTIONS["min_resemblance"].default
    """Minimum resemblance of near-duplicates."""
    min_tokens: int = OPTIONS["min_tokens"].default
    """Number of shingles that count below which pages must be equal."""
    titles: str = OPTIONS["titles"].default
    """Whether titles count: ``"learn"``, ``"strict"``, ``"ignore"``."""
    is_exact: bool = False
    """Whether only equal pages are near-duplicates, apart from text that changes."""
    prefers_canonical: bool = False
    """Whether a page doesn't repeat another one that names it as its canonical page."""


NOTHING_KNOWN: Final = Context()
