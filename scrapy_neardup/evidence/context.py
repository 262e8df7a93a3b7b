"""What is known of a site when one of its pages is compared with others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from scrapy_neardup.options import OPTIONS


class Furniture(Protocol):
    """The part of a page that other pages of its site share, computed when it is needed."""

    def plane(self) -> int:
        """Return the bins of the page's sketch whose minimum is furniture, bin i as bit i."""

    def lacked(self, bits: int) -> tuple[int, tuple[int, ...]] | None:
        """Return the bins and values of the furniture that the page lacks; None for little."""

    def is_most(self) -> bool:
        """Return whether almost all of the page is furniture (`evidence.furniture.Marks`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteContext:
    """What is known of a page's site when it is compared with others; it isn't stored.

    Parameters
    ----------
    min_resemblance
        Minimum resemblance of texts that are alike.
    titles
        Whether titles count: ``"learn"``, ``"strict"``, ``"ignore"``.
    furniture
        The part of the page that its site's pages share.
    changing
        Places of the site that change with each response, 16 bits each.
    common
        Words that most titles of the site hold, 16 bits each; they don't count.
    editions
        Differences, modulo 2^32, between the steps of two addresses of one page in two editions.
    constant
        Places of the site that hold the same text on all of its pages, 16 bits each: the text of a
        stored page there isn't its own.
    is_exact
        Whether a page repeats only what equals it but for places that change with each response.
    young_site, young_folder
        Whether too few pages are known: of the site, to know the words that its titles share, or
        of the page's folder, to know its furniture.
    """

    min_resemblance: float = OPTIONS["min_resemblance"].default
    titles: str = OPTIONS["titles"].default
    furniture: Furniture | None = None
    changing: frozenset[int] = frozenset()
    common: frozenset[int] = frozenset()
    editions: frozenset[int] = frozenset()
    constant: frozenset[int] = frozenset()
    is_exact: bool = False
    young_site: bool = False
    young_folder: bool = False


NOTHING_KNOWN: Final = SiteContext()
