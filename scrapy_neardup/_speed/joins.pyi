import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.joins.measures import IntegerMeasure
from scrapy_neardup.joins.tokensets import TokenSets

class Join:
    hits: int
    candidates: int
    def __init__(
        self,
        sets: TokenSets,
        side: NDArray[np.bool_] | None,
        rule: IntegerMeasure,
        probing: NDArray[np.int64],
        indexing: NDArray[np.int64],
        least: NDArray[np.int64],
        asked: NDArray[np.bool_] | None = None,
    ) -> None: ...
    def run(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...

def gathered(
    tokens: NDArray[np.int32], starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int32]: ...
