from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

class QueryTable:
    scanned_at_once: int
    lookup_ns: float
    compare_ns: float
    build_ns: float
    def __init__(
        self, queries: NDArray[np.uint64], mask: int, earlier: Sequence[int], max_distance: int
    ) -> None: ...
    @staticmethod
    def key_bits(count: int, prefix_bits: int) -> int: ...
    def near(
        self, fingerprints: NDArray[np.uint64], at_once: int
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint32], NDArray[np.uint8]]]: ...
