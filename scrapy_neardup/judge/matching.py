"""`Matching`: the evidence that makes a stored page a candidate, and that confirms it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from scrapy_neardup.judge.evidence import stored_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The evidence that makes an entry a candidate, and that confirms it; by default distance."""

    by_distance: bool = True
    """Whether an entry within k bits is a candidate. If not, only features find candidates. Exact
    pages are always compared by equality."""
    features: int = 0
    """Number of features of a page that isn't exact; 0: pages aren't looked up by them."""
    feature_size: int = 0
    """Number of minima in a feature (s). A store only records it, because others don't match."""
    shared_features: int = 1
    """Number of features that an entry must share to be a candidate (r of Broder 2000)."""
    text_bits: int = 0
    """Bits of the sketches of pages' text; 0: no sketches, and no confirmation."""
    named_bits: int = 0
    """Bits of the sketches of elements named as boilerplate."""

    @property
    def sketch(self) -> tuple[int, int] | None:
        """Sizes in bits of the sketches of text and of elements named as boilerplate, if any."""
        return (self.text_bits, self.named_bits) if self.text_bits else None

    @property
    def evidence_size(self) -> int:
        """Size in bytes of the evidence that a store keeps of a page; 0: none."""
        return stored_size(self.sketch) if self.sketch else 0

    def record(self) -> dict[str, str | int | float]:
        """Return its entries in a store's schema, those that differ from the default."""
        return {
            part.name: int(getattr(self, part.name))
            for part in fields(self)
            if getattr(self, part.name) != part.default
        }
