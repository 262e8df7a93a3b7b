"""Checks of arguments: each raises a `ConfigurationError` that names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError


def whole_number(what: str, value: Any, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int if it is a whole number from `least` to `most`."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        count = least - 1
    is_allowed = least <= count and (most is None or count <= most)
    if isinstance(value, bool | str) or count != value or not is_allowed:
        wanted = f", {least} or more" if most is None else f" from {least} to {most}"
        raise ConfigurationError(f"{what} must be a whole number{wanted}, not {value!r}")
    return count


def hashes(what: str, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return `values` as a contiguous array if they are a one-dimensional array of uint64.

    Other types aren't converted: a negative number would become another fingerprint, and a large
    one would be truncated.
    """
    kind = getattr(values, "dtype", None)
    if not isinstance(values, np.ndarray) or kind != np.uint64 or values.ndim != 1:
        found = f"{kind} of shape {values.shape}" if kind else type(values).__name__
        raise ConfigurationError(f"{what} must be a one-dimensional array of uint64, not {found}")
    return np.ascontiguousarray(values)
