"""Rules and reasons in a reader's words, for the report and what is printed of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scrapy_neardup.verdict import Reason

RULES: Final[Mapping[str, str]] = {
    "equal": "Its rows of text are the same, in whatever order, but for what is known to change.",
    "alike": "The text without boilerplate is as alike as NEARDUP_MIN_RESEMBLANCE asks for.",
    "retitled": "The titles differ, and the text without boilerplate differs at most half as much"
    " as pages may, or a tenth where the addresses end in other names, too.",
    "response": "Both have one address but for a session, and the text without boilerplate differs"
    " at most twice as much as pages may.",
    "within-k": "The fingerprints differ in no more bits than NEARDUP_MAX_DISTANCE allows.",
}
"""Name of a `scrapy_neardup.decision.comparison.Rule` -> what it asks for, in a sentence."""

UNJUDGED: Final[Mapping[str, str]] = {
    Reason.EMPTY: "with fewer than five words",
    Reason.NOT_HTML: "neither HTML nor XHTML",
    Reason.UNPARSABLE: "that no parser could read",
    Reason.TOO_LONG: "longer than 64 MiB",
    Reason.TOO_COMPLEX: "that would take seconds to read",
    Reason.TEXT_ERROR: "for which a callable of the settings failed",
    Reason.ERROR: "whose judging failed",
    Reason.DENIED: "excluded by NEARDUP_DENY",
    Reason.SKIPPED: "exempted by neardup_skip",
    Reason.OVERFLOW: "for which the store had no space",
    Reason.STORE_ERROR: "while the store failed",
    Reason.TIMEOUT: "while the store didn't answer in time",
    Reason.PAUSED: "while the store was left alone after failures",
}
"""Reason why pages weren't judged -> a description of such pages, after their number."""
