"""All similar pairs of sets, by compiled code where there is some.

`_speed/joins.pyx` finds the same pairs as `kernel`, with the same filters and the
same counts of hits and candidates; only the order differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import load, refuse
from scrapy_neardup.joins import kernel
from scrapy_neardup.joins.kernel import JoinCounts, of_sizes
from scrapy_neardup.joins.measures import Measure, jaccard
from scrapy_neardup.joins.tokensets import TokenSets, encode

Integers = NDArray[np.int64]


def similar(
    sets: TokenSets,
    measure: Measure,
    side: NDArray[np.bool_] | None,
    counts: JoinCounts,
    share: tuple[int, int] = (0, 1),
) -> tuple[Integers, Integers, Integers]:
    """Find all similar pairs; see `kernel.similar` and `kernel.containing`.

    With a share (k, n) only each nth set from the kth on looks for partners.
    """
    first, step = share
    mine = np.arange(len(sets)) % step == first
    if _compiled is None or measure.rule is None or len(sets.tokens) >= 1 << 32:
        pure = kernel.containing if measure.directed else kernel.similar
        return pure(sets, measure, side, counts, mine=mine)
    return _run(_compiled, sets, measure, side, counts, mine=mine)


def _run(
    compiled: Any,
    sets: TokenSets,
    measure: Measure,
    side: NDArray[np.bool_] | None,
    counts: JoinCounts,
    *,
    mine: NDArray[np.bool_] | None = None,
) -> tuple[Integers, Integers, Integers]:
    sizes = sets.sizes
    probing, asked = of_sizes(sizes, measure.probing_prefix), None
    if measure.directed:
        probing, asked = kernel.asked(sets, probing, side)
        indexing = sizes
    else:
        indexing = of_sizes(sizes, measure.indexing_prefix)
    if mine is not None:
        probing = np.where(mine, probing, 0)
    least = of_sizes(sizes, measure.smallest_partner)
    join = compiled.Join(sets, side, measure.rule, probing, indexing, least, asked)
    x, y, overlap = join.run()
    counts.hits += join.hits
    counts.candidates += join.candidates
    return x, y, overlap


def _agrees(compiled: Any) -> bool:
    """Whether compiled code finds the kernel's pairs in a few sets."""
    sets = encode([range(start, 9 + start // 2) for start in range(9)])
    sets = sets.take(np.argsort(sets.sizes, kind="stable"))
    answers = []
    for search in (kernel.similar, lambda *arguments: _run(compiled, *arguments)):
        counts = JoinCounts()
        found = np.stack(search(sets, jaccard(0.6), None, counts))
        answers.append((sorted(found.T.tolist()), counts))
    return answers[0] == answers[1]


_compiled = load("joins")
if _compiled is not None and not _agrees(_compiled):
    refuse("joins.Join", "the compiled class gives another result")
    _compiled = None
