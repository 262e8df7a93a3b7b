class Overlap:
    def __init__(
        self,
        stored: bytes,
        bins: int,
        bits: int,
        aside: int,
        furniture: int = 0,
        lacked: tuple[int, tuple[int, ...]] | None = None,
    ) -> None: ...
    def counts(
        self, stored: bytes, aside: int
    ) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int]]: ...
