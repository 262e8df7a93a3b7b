"""From candidates to the one that a page repeats, however they were found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from scrapy_neardup.evidence.decision import Comparison, Rule
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.verdict import Page

Candidate = tuple[int, int, int]
"""Hamming distance in bits, page id, row."""


class Confirmed(NamedTuple):
    """The entry that a page repeats.

    Parameters
    ----------
    row, page_id, distance
        Of the entry.
    resemblance
        See `scrapy_neardup.verdict.Match`.
    rule
        Name of the rule that decided.
    """

    row: int
    page_id: int
    distance: int
    resemblance: float | None
    rule: str


def first_confirmed(
    page: Page,
    candidates: Iterable[Candidate],
    matching: Matching,
    kept: Callable[[int], tuple[bytes, int]],
) -> Confirmed | None:
    """Return the first candidate that the page repeats.

    Parameters
    ----------
    candidates
        In the order in which they are compared.
    matching
        Whether and how they are confirmed.
    kept
        Returns the evidence of a row and its digest of embedded data (`Page.content`).

    Notes
    -----
    A page costs some 15 microseconds, and each candidate another 12 (512 bins of 2 bits);
    compiled 7 and 5.
    """
    bins, bits = matching.bins, matching.bits
    comparison = None
    for distance, page_id, row in candidates:
        if not (bins and page.evidence):
            return Confirmed(row, page_id, distance, None, Rule.WITHIN_K)
        comparison = comparison or Comparison(page, bins, bits)
        evidence, content = kept(row)
        if decided := comparison.decide(evidence, same_embedded=content == page.content):
            rule, compared = decided
            resemblance = compared and compared.resemblance(bits)
            return Confirmed(row, page_id, distance, resemblance, rule)
    return None
