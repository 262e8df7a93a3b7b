from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

class Hasher:
    def __init__(
        self,
        seed: int,
        m1: int,
        m2: int,
        digest_long: Callable[[bytes], int],
        kinds: NDArray[np.uint32],
        classify: Callable[[int], int],
    ) -> None: ...
    def tokens(self, text: str) -> NDArray[np.uint64]: ...
    def tokens_of_each(
        self, texts: Sequence[str]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
