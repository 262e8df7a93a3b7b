"""The containment join: which sets hold another one, whole or nearly so.

Arrays, blocks and verification are the kernel's. The prefix bound differs, as containment has a
direction. If a share t of the tokens of x is in y, at least ``o = ceil(t * |x|)`` tokens are in
both, and so one of the ``|x| - o + 1`` rarest of x is in y (the prefix filtering principle of Xiao
et al. 2008, lemma 1, for one side). The number of other tokens of y doesn't matter, so any of its
tokens may be the common one: prefixes probe the lists of all tokens that are in any prefix. Sizes
bound y from below only: ``|y| >= o``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.joins.kernel import (
    JoinCounts,
    PartnerRuns,
    PrefixEntries,
    entries_of,
    of_sizes,
    verified,
)
from scrapy_neardup.joins.kernel import candidates as filtered
from scrapy_neardup.joins.measures import Measure
from scrapy_neardup.joins.tokensets import TokenSets
from scrapy_neardup.tables.ranges import ranges

Integers = NDArray[np.int64]


def similar(
    sets: TokenSets,
    measure: Measure,
    side: NDArray[np.bool_] | None,
    counts: JoinCounts,
    *,
    mine: NDArray[np.bool_] | None = None,
) -> tuple[Integers, Integers, Integers]:
    """Find all pairs of a set x and another one, y, that contains it.

    As the kernel's `similar`, but either may be the larger one; of two sides x is on the False one
    and y on the True one.

    Notes
    -----
    O(n + e log e + h log h + v) for n tokens in all, e of them in the prefix of any set,
    h hits, and v tokens in all candidates.
    """
    prefix, tokens = asked(sets, of_sizes(sets.sizes, measure.probing_prefix), side)
    entries = entries_of(sets, measure, sets.sizes, tokens & (sets.frequency > 1))
    looking = prefix if mine is None else np.where(mine, prefix, 0)
    probing = entries.positions < looking[entries.rows]
    holding = np.ones_like(probing) if side is None else side[entries.rows]
    return verified(sets, measure, filtered(entries, _runs(entries, probing, holding), counts))


def asked(
    sets: TokenSets, prefix: Integers, side: NDArray[np.bool_] | None
) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the numbers of probing tokens, those of False sets if there are sides; and which."""
    asking = prefix if side is None else np.where(side, 0, prefix)
    tokens = np.zeros(len(sets.frequency), np.bool_)
    tokens[sets.tokens[ranges(sets.indptr[:-1], asking)]] = True
    return asking, tokens


def _runs(
    entries: PrefixEntries, probing: NDArray[np.bool_], holding: NDArray[np.bool_]
) -> PartnerRuns:
    """Return the entries of sets that may hold others, and the runs of those that probe.

    The partners of an entry have the same token and come from sets that are large enough.
    """
    listed = entries.keys & ((1 << entries.bits) - 1)
    held = holding[listed]
    keys, members = entries.keys[held], listed[held]
    start, count = np.zeros((2, len(entries.rows)), dtype=np.int64)
    asks = probing[listed]
    asking = listed[asks]
    token = entries.keys[asks] >> entries.bits << entries.bits
    start[asking] = np.searchsorted(keys, token | entries.smallest[asking])
    stop = np.searchsorted(keys, token + (1 << entries.bits))
    count[asking] = stop - start[asking]
    return PartnerRuns(members, start, count)
