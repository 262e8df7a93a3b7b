from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = NDArray[np.int64]

def shingles_of_each(tokens: Hashes, counts: Counts, size: int) -> tuple[Hashes, Counts]: ...
def minima_of_each(hashes: Hashes, counts: Counts, bins: int) -> Hashes: ...
def permuted_minima_of_each(
    hashes: Hashes, counts: Counts, factors: Hashes, summands: Hashes
) -> Hashes: ...
