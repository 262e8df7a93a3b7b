"""A row of the table that ``make stress`` prints (``tests/stress/conftest.py``)."""

from __future__ import annotations

HEAD = ("tried", "times", "both kept", "for nothing", "lost", "errors", "longest, s")


def row(what, times, *, both=0, nothing=0, lost=0, errors=0, longest=0.0) -> list[str]:
    """Return what was tried, how often, and what came of it; of a test, by `record_property`."""
    counts = (both, nothing, lost, errors)
    return [what, f"{times:,}", *(f"{count:,}" for count in counts), f"{longest:.1f}"]
