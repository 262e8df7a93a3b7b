"""Arrays of fingerprints, checked, and of many ranges of integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError


def ranges(first: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return first[0], first[0] + 1, ... (counts[0] of them), first[1], ...; intp."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    filled: NDArray[np.intp] = np.arange(total) + np.repeat(first - (ends - counts), counts)
    return filled


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
