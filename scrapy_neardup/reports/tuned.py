"""The page about how good the filter is on pages at hand, with one setting and another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scrapy_neardup.reports.page import page


def pieces(tuned: Mapping[str, Any]) -> Iterator[str]:
    """Yield the page.

    Parameters
    ----------
    tuned
        ``sources`` (names), ``pages``, ``sample``, ``duplicates``, ``groups`` (counts),
        ``settings`` (lines to choose), ``headline``, ``warnings`` (lines), ``outcomes`` (objects
        with ``setting``, ``value``, ``chosen``, ``precision`` and ``recall`` as value, low and
        high, ``dropped``, ``lost``) and ``looks`` (lists of ``title``, ``pairs``: page, other
        page, resemblance).
    """
    return page("Tuning", scripts=("shown", "data", "charts", "tuned"),
                early={"tuned": tuned}, late={})  # fmt: skip
