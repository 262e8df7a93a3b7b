from collections.abc import Sequence
from typing import Any

class Table:
    def __init__(
        self, low_bits: int, low: Any, high: Any, ranks: memoryview, prefix_bits: int = 64
    ) -> None: ...
    def rank(self, value: int) -> int | None: ...

class Probe(Table):
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
