"""What is demanded of two pages that are one, in numbers; `decision` has the table that uses them.

There are values alone here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

EQUAL = 0.003
"""Maximum share of bins that differ between texts that a sketch takes for equal."""

EQUAL_ROWS = 0.01
"""Maximum estimated share of rows that differ between equal cores."""

MIN_CORE_BINS = 24
"""Minimum number of bins of the core that count where it decides beside names that say more than a
title."""

MIN_TELLING_CORE_BINS = 128
"""Minimum number of bins of the core that count where titles say nothing more, or the contrary."""

MIN_BITS = 64
"""Minimum number of bits of the core that count where titles differ or say nothing, and of the
text where it is to be equal under another title."""

MIN_EQUAL_BITS = 512
"""Minimum number of bits of the text that count where a sketch alone tells that texts are equal;
with fewer, only pages of the same shingles are one."""


class Names(IntEnum):
    """What the titles and addresses of two pages say about them."""

    OTHER = 0
    """Two pages: titles differ, and so do the last parts of the addresses."""
    RETITLED = 1
    """Two pages: titles differ. The last part of the address is the same, as in a translation."""
    UNKNOWN = 2
    """Nothing: a title is missing, or is that of other pages, too."""
    TITLE = 3
    """One page: they share a title of their own."""
    NAMESAKE = 4
    """One page: they share a title of their own, and the path or its last part."""
    TRANSLATED = 5
    """One page by its address, as with `ADDRESS`; but titles differ."""
    ADDRESS = 6
    """One page: the address is the same but for parameters that were added, or for an edition."""
    RESPONSE = 7
    """One page: the address is the same but for a session."""


class Demand(NamedTuple):
    """What pages have in common that are one.

    Parameters
    ----------
    unlike
        Maximum share of texts and cores that differs, as a share of what may differ in alike ones.
        What follows is demanded of pages whose texts aren't as alike as that.
    differing
        Maximum estimated share of the core that differs, with names from `Names.NAMESAKE` on of
        its rows.
    counted
        Minimum number of its bins that count.
    named, links
        Maximum shares of the page in elements named as furniture, and in links, that are neither
        furniture of the site nor in the other page.
    nearly
        Maximum share of the core that differs where the page has half of that besides, as a share
        of what may differ in alike ones; 0 where that isn't enough.
    """

    unlike: float
    differing: float
    counted: int
    named: float
    links: float
    nearly: float


DEMANDS = {
    Names.OTHER: Demand(0.1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.RETITLED: Demand(1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.UNKNOWN: Demand(1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.TITLE: Demand(1, EQUAL_ROWS, MIN_TELLING_CORE_BINS, 0.015, 0.015, 0),
    Names.NAMESAKE: Demand(1, EQUAL_ROWS, MIN_CORE_BINS, 0.25, 0.02, 0.7),
    Names.TRANSLATED: Demand(1, EQUAL_ROWS, MIN_CORE_BINS, 0.08, 0.02, 0.5),
    Names.ADDRESS: Demand(1, EQUAL_ROWS, MIN_CORE_BINS, 0.25, 0.02, 0.7),
    Names.RESPONSE: Demand(1, 0.1, MIN_CORE_BINS, 0.7, 0.7, 0.7),
}
"""Names -> what two pages must have in common to be one although their texts aren't alike."""

SITE_LINKS = 0.3
"""Minimum share of the bins of a page's links that are furniture where they are its site's. In a
list whose entries come in another order on each page only what is within an entry is furniture:
two of five shingles, if an entry has five words."""

UNDER_ONE_TITLE = 0.7
"""Maximum share of cores that differs, as a share of what may differ in alike ones, under a title
alone; of texts, where fewer than `MIN_TELLING_CORE_BINS` of the core count."""
