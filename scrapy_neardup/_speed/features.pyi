from array import array
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes: TypeAlias = NDArray[np.uint64]

def hashes_of(tokens: Hashes, size: int) -> Hashes: ...
def distinct(hashes: Hashes) -> Hashes: ...
def majority(hashes: Hashes) -> int: ...
def minima_of(shingles: Hashes, bins: int) -> Hashes: ...
def marked(shingles: Hashes, size: int, level: int) -> bytes: ...
def sketched(
    shingles: Hashes,
    paths: NDArray[np.uint8],
    excluded: int,
    text_bits: int,
    named_bits: int,
) -> list[tuple[int, bytes]]: ...
def parted(
    tokens: Hashes,
    counts: NDArray[np.int64],
    forms: bytes,
    block_paths: array[int],
    joined: bytes,
    size: int,
    feature_bins: int,
) -> tuple[Any, ...]: ...
