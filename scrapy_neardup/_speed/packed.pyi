from collections.abc import Sequence
from typing import Any

class Probe:
    def __init__(
        self,
        forward: Sequence[tuple[int, int, int]],
        backward: Sequence[tuple[int, int, int]],
        prefix_bits: int,
        low_bits: int,
        low: Any,
        high: Any,
        ranks: memoryview,
    ) -> None: ...
    def near(self, fingerprint: int, k: int) -> list[int]: ...
