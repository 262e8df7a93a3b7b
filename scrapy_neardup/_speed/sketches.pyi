import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Counts = NDArray[np.int64]

def shingles_of_each(tokens: Hashes, counts: Counts, size: int) -> tuple[Hashes, Counts]: ...
def minima_of_each(hashes: Hashes, counts: Counts, bins: int) -> Hashes: ...
def permuted_minima_of_each(
    hashes: Hashes, counts: Counts, factors: Hashes, summands: Hashes
) -> Hashes: ...
