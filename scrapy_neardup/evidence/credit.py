"""Which knowledge of a site a verdict rests on.

Rule of this module: a kind of knowledge has helped if the page would have been judged new without
it, all else being the same. It is asked for only where somebody reads it, as each kind takes a
comparison.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_neardup.evidence.decision import Comparison
from scrapy_neardup.evidence.sites import EDITIONS, FURNITURE, PLACES, TITLES

if TYPE_CHECKING:
    from scrapy_neardup.verdict import Page, Verdict

_WITHOUT: dict[str, dict[str, Any]] = {
    FURNITURE: {"furniture": None},
    PLACES: {"changing": frozenset(), "constant": frozenset()},
    TITLES: {"common": frozenset()},
    EDITIONS: {"editions": frozenset()},
}
"""Kind of knowledge -> changes to a page's weighing that leave this kind out."""


def helped(page: Page, verdict: Verdict, *, bins: int, bits: int) -> tuple[str, ...]:
    """Return the kinds of knowledge without which a page wouldn't be a duplicate.

    Parameters
    ----------
    page
        The page, with its weighing.
    verdict
        The verdict on it. What is known of the page that it repeats is `Verdict.witness`: none is
        named where that is of another page, which the store may have met before.
    """
    match, stored = verdict.match, verdict.witness
    if match is None or len(stored) != len(page.evidence):
        return ()
    made = Comparison(page, bins, bits).decide(stored)
    if made is None or made.rule != verdict.rule:
        return ()
    if made.compared is not None and made.compared.resemblance(bits) != match.resemblance:
        return ()
    return tuple(
        kind
        for kind, nothing in _WITHOUT.items()
        if Comparison(page.weighed(replace(page.weighing, **nothing)), bins, bits).decide(stored)
        is None
    )
