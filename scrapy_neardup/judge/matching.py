"""What makes a stored page a candidate, and what confirms it: `Matching`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from scrapy_neardup.judge.evidence import stored_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """What makes an entry a candidate, and what confirms it; by default distance alone."""

    by_distance: bool = True
    """Whether an entry within k is a candidate. Where not, only features find candidates; exact
    pages are compared by equality in any case."""
    features: int = 0
    """Number of features of a page that isn't exact; 0: pages aren't looked up by them."""
    feature_size: int = 0
    """Minima in a feature (s). A store only records it, as others don't match."""
    shared_features: int = 1
    """Number of them that an entry must share to be a candidate (r of Broder 2000)."""
    text_bits: int = 0
    """Bits of the sketches of pages' text; 0: they have none, and nothing has to be confirmed."""
    named_bits: int = 0
    """The same of elements named as boilerplate."""

    @property
    def sketch(self) -> tuple[int, int] | None:
        """The bits of the sketches of text and of elements named as boilerplate, if there are."""
        return (self.text_bits, self.named_bits) if self.text_bits else None

    @property
    def evidence_size(self) -> int:
        """Bytes of what a store keeps of a page to confirm a match; 0: nothing."""
        return stored_size(self.sketch) if self.sketch else 0

    def record(self) -> dict[str, str | int | float]:
        """Return its entries in a store's schema: those that differ from the default."""
        return {
            part.name: int(getattr(self, part.name))
            for part in fields(self)
            if getattr(self, part.name) != part.default
        }
