"""Many ranges of integers as one array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ranges(first: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return first[0], first[0] + 1, ... (counts[0] of them), first[1], ...; intp."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    filled: NDArray[np.intp] = np.arange(total) + np.repeat(first - (ends - counts), counts)
    return filled
