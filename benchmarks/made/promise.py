"""What no drop may hide: the exact resemblance of all that two pages show."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_neardup.judge.analysis import AnalysedPage
from scrapy_neardup.judge.comparison import LEAST
from scrapy_neardup.judge.evidence import NAMED, bits_of
from scrapy_neardup.judge.knowledge import Excluded

LOWEST = LEAST - 0.03
"""Minimum of `all_shown` of a drop: the judgement asks for `LEAST` of what sketches estimate."""


def all_shown(pages: Sequence[AnalysedPage], excluded: Sequence[Excluded]) -> float:
    """Return the exact resemblance of all that two pages show, without what their site has shown.

    That is boilerplate, text that changes, and links named as boilerplate that lead to pages of
    the same names. Pages of equal rows, in any order and under any names, show the same.
    """
    ours, theirs = (page.known for page in pages)
    if (ours.rows + ours.named_rows - theirs.rows - theirs.named_rows) % (1 << 32) == 0:
        return 1.0
    shared = {shingle for one in excluded for each in one.shared for shingle in each.of_any_kind}
    sets = []
    for page, one in zip(pages, excluded, strict=True):
        changing = bits_of([*page.known.paths], one.paths)
        shingles = page.text.shingles[page.text.paths & changing == 0]
        sets.append({each for each in shingles.tolist() if each | 1 not in shared})
    shown = _jaccard(*sets)
    if ours.links and ours.links == theirs.links:
        texts = [{each for each in one if each & 1 != NAMED} for one in sets]
        shown = max(shown, _jaccard(*texts, other=ours.labels + theirs.labels))
    return shown


def _jaccard(ours: set[int], theirs: set[int], other: int = 0) -> float:
    return len(ours & theirs) / max(1, len(ours | theirs) + other)
