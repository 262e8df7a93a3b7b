import numpy as np
from numpy.typing import NDArray

def counted(
    shingles: NDArray[np.uint64],
    counts: NDArray[np.float32],
    pages: list[NDArray[np.uint64]],
    fewest: int,
    least: float,
    most: int,
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]: ...
