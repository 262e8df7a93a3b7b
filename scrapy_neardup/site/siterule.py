"""A rule of a site: what to learn of its pages, and what of two pages then doesn't count.

A new kind of knowledge is one subclass of `SiteRule`, a row of `RULES`, and its tests. What a rule
knows of a site is used for pages of that site alone: knowledge of one host never says anything of
a page of another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from scrapy_neardup.decision.context import Excluded
from scrapy_neardup.decision.evidence import Evidence
from scrapy_neardup.decision.shingling import Text
from scrapy_neardup.decision.sketch import Overlap
from scrapy_neardup.site.folders import Folders


class SiteRule(ABC):
    """One kind of knowledge about one site; bounded, and shared by crawlers of one store.

    Parameters
    ----------
    folders
        The folders of the site.
    """

    name: ClassVar[str]
    """As in ``NEARDUP_LEARN`` and ``neardup/learnt/NAME``."""
    sentence: ClassVar[str]
    """What the log says when the first of it becomes known."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders

    def learn(self, evidence: Evidence, text: Text | None) -> bool:  # noqa: ARG002
        """Learn from a kept page; return whether something new is known.

        Parameters
        ----------
        text
            Its shingles; None of a page that has been learnt from before.
        """
        return False

    def learn_response(self, ours: Evidence, theirs: Evidence, found: Overlap) -> bool:  # noqa: ARG002
        """Learn from two responses with one page; return whether something new is known.

        Parameters
        ----------
        found
            How their texts compare as they stand.
        """
        return False

    @abstractmethod
    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page of the site that don't count when it is compared."""

    @abstractmethod
    def dump(self, *, complete: bool) -> Any:
        """Return what is known as JSON-able values: all of it, or the part that others need."""

    @abstractmethod
    def restore(self, dump: Any) -> None:
        """Continue from a `dump`; raise ValueError, TypeError, KeyError for anything else."""

    @abstractmethod
    def add_others(self, dumps: list[Any]) -> None:
        """Take over the dumps of other crawlers, in place of those before; raise as `restore`."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that are held, rounded up."""
