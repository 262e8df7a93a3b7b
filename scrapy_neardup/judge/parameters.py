"""The options that say what a near-duplicate is: `Parameters`, and the part that stores need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Self

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints import HASH_VERSION
from scrapy_neardup.fingerprints.hashing import key_digest
from scrapy_neardup.judge.evidence import stored_size
from scrapy_neardup.settings.catalogue import PRESETS, Judging


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Which evidence makes an entry a candidate, and confirms it; by default only distance."""

    by_distance: bool = True
    """Whether an entry within k bits is a candidate. If not, only features find candidates. Exact
    pages are always compared by equality."""
    features: int = 0
    """Number of features of a page that isn't exact; 0: pages aren't looked up by them."""
    feature_size: int = 0
    """Number of minima in a feature (s); a store records it, because others don't match."""
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
        """Return what a store's schema records: the parameters that differ from the default."""
        return {
            part.name: int(getattr(self, part.name))
            for part in fields(self)
            if getattr(self, part.name) != part.default
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters(Judging):
    """The options of `Judging`, with derived values.

    Raises a `ConfigurationError` that names the setting with a wrong value.
    """

    def __post_init__(self) -> None:
        Judging.__post_init__(self)
        if self.method == "both" and not self.min_resemblance:
            raise ConfigurationError(
                "NEARDUP_METHOD = 'both' finds candidates that have to be confirmed: set"
                " NEARDUP_MIN_RESEMBLANCE, for example to 0.9"
            )
        if self.detect_language and not _name(self.scope).endswith("language"):
            raise ConfigurationError(
                "NEARDUP_DETECT_LANGUAGE has no effect unless NEARDUP_SCOPE is a language:"
                " 'language', 'host+language' or 'domain+language'"
            )

    @classmethod
    def of_preset(cls, preset: str, **changed: Any) -> Self:
        """Return the parameters of a preset, with some changes."""
        return cls(**{**PRESETS[preset], **changed})

    @property
    def matching(self) -> Matching:
        """The parameters of a store, apart from `max_distance` and `schema`."""
        count, size, shared = self.features if self.method != "simhash" else (0, 0, 1)
        text_bits, named_bits = self.sketch if self.min_resemblance else (0, 0)
        return Matching(
            by_distance=self.method != "minwise",
            features=count + bool(text_bits),
            feature_size=size,
            shared_features=shared,
            text_bits=text_bits,
            named_bits=named_bits,
        )

    @property
    def is_exact(self) -> bool:
        """Whether only equal pages are near-duplicates, except for text that changes."""
        return self.min_resemblance >= 1

    def schema(self) -> dict[str, str | int | float]:
        """Return the parameters that a store records, so that it can refuse others.

        The secret key and the selectors are recorded as digests.
        """
        recorded: dict[str, str | int | float] = {
            "hash": HASH_VERSION,
            "hash_key": key_digest(self.hash_key),
            "shingle_size": self.shingle_size,
            "weights": _name(self.weights),
            "text": _name(self.text),
            "ignore": fold("\n".join(self.ignore).encode()) if self.ignore else "",
            "min_tokens": self.min_tokens,
            "scope": _name(self.scope) + " (detected)" * self.detect_language,
        }
        if self.is_exact:
            recorded["exact"] = 1  # an empty month keeps its year
        if self.permutations != "one" and self.method != "simhash":
            recorded["permutations"] = self.permutations
        return recorded


def fold(value: bytes) -> str:
    """Return a short digest of a value."""
    return blake2b(value, digest_size=8).hexdigest()


def _name(value: str | Callable[..., object]) -> str:
    """Return a word, or the dotted name of a user's callable."""
    if isinstance(value, str):
        return value
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
