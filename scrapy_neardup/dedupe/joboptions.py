"""The options of a job."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from scrapy_neardup.dedupe.ranking import Ranking
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.filtering import Filter, checked_filter
from scrapy_neardup.offline.readers.tabular import USUAL, Columns
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.settings.catalogue import OPTIONS, View

Method = Literal["features", "simhash", "both"]
Confirmation = Literal["sketch", "exact", "none"]

_FEATURES = checked_filter(OPTIONS["features"].default)

MIN_MEMORY = 1 << 26
"""Minimum bytes of memory of a job."""


@dataclass(frozen=True, kw_only=True)
class DedupeOptions:
    """What counts as a duplicate, and which of several is kept.

    Parameters
    ----------
    method
        How two documents are found to be candidates: min-wise features in common, simhash
        fingerprints within a distance, or either. Equal texts always are.
    features
        K, S and R: K features of S minima each, of which documents share R.
    max_distance
        Maximum distance of two fingerprints, 0 to 8 bits.
    min_resemblance
        Minimum resemblance of a removed document and the one that is kept for it.
    confirm
        How the resemblance of candidates is found: ``"sketch"`` estimates it, with a standard
        error of at most .03; ``"exact"`` compares all shingles; ``"none"`` estimates it and
        removes the document in any case.
    shingle_size
        Words a shingle.
    keep
        See `Ranking`.
    columns
        Names of the columns.
    text, ignore
        The part of an HTML page that counts: ``"main"`` or ``"full"``, without CSS selectors.
    skip_bad
        Whether files and lines that can't be read are counted and left out, instead of an error.
    memory
        Bytes of memory to work in, with those of Python and its packages.

    Raises
    ------
    ConfigurationError
        A value can't be used.
    """

    method: Method = "features"
    features: Filter = _FEATURES
    max_distance: int = 3
    min_resemblance: float = 0.9
    confirm: Confirmation = "sketch"
    shingle_size: int = 4
    keep: str = "first"
    columns: Columns = USUAL
    text: View = "main"
    ignore: tuple[str, ...] = ()
    skip_bad: bool = False
    memory: int = field(default=1 << 30, compare=False)

    def __post_init__(self) -> None:
        checked_filter(self.features)
        whole_number("the maximum distance", self.max_distance, least=0, most=8)
        whole_number("the shingle size", self.shingle_size, least=1)
        whole_number("memory", self.memory, least=MIN_MEMORY)
        if not 0 < self.min_resemblance <= 1:
            raise ConfigurationError(
                "the minimum resemblance must be above 0 and at most 1, not"
                f" {self.min_resemblance!r}"
            )

    @property
    def ranking(self) -> Ranking:
        """The rule by which duplicates are ranked."""
        return Ranking(self.keep, self.columns.url)

    @property
    def read_columns(self) -> Columns:
        """The columns to be read: those of the documents, and those that rank them."""
        return self.ranking.added_to(self.columns)

    def as_plan(self) -> dict[str, Any]:
        """Return, as JSON has it, the options that a resumed job must have, too."""
        plan = asdict(self)
        del plan["memory"]
        return plan
