import numpy as np
from numpy.typing import NDArray

def majority(hashes: NDArray[np.uint64]) -> int: ...
