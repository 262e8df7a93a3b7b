"""The canonical page of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError

Integers = NDArray[np.int64]
T = TypeVar("T")
CanonicalRule = Literal["first", "shortest-url", "longest-text"]


def canonical(
    labels: Integers,
    rule: CanonicalRule = "first",
    *,
    urls: Sequence[str] | None = None,
    lengths: Sequence[int] | Integers | None = None,
) -> Integers:
    """Return for every page the canonical one of its cluster; int64, of the shape of `labels`.

    Parameters
    ----------
    labels
        int64, one a page, in the order in which they were seen: equal within a cluster.
    rule
        ``"first"``: the page seen first; ``"shortest-url"``: the one whose URL has the
        fewest characters; ``"longest-text"``: the one with the most tokens. A tie goes to
        the page seen first.
    urls
        One a page, for ``"shortest-url"``.
    lengths
        Numbers of tokens, one a page, for ``"longest-text"``.

    Raises
    ------
    ConfigurationError
        The rule is unknown, or what it needs is missing.
    """
    if rule not in get_args(CanonicalRule):
        known = ", ".join(map(repr, get_args(CanonicalRule)))
        raise ConfigurationError(f"the canonical rule must be one of {known}, not {rule!r}")
    preference = np.zeros(len(labels), dtype=np.int64)
    if rule == "shortest-url":
        preference = np.fromiter(map(len, _known(rule, "urls", urls)), dtype=np.int64)
    elif rule == "longest-text":
        preference = -np.asarray(_known(rule, "lengths", lengths), dtype=np.int64)
    order = np.lexsort((preference, labels))  # stable: ties stay in the order seen
    _, first, which = np.unique(labels[order], return_index=True, return_inverse=True)
    chosen = np.empty_like(labels)
    chosen[order] = order[first][which]
    return chosen


def _known(rule: str, name: str, values: T | None) -> T:
    if values is None:
        raise ConfigurationError(f"the canonical rule {rule!r} needs {name}, one a page")
    return values
