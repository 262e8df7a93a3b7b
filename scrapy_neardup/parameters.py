"""What decides whether two pages count as near-duplicates, and the presets of it.

Rule of this room: plain checked values. Why the defaults are what they are is measured in
docs/quality.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final, Literal

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.evidence.sites import LEARNABLE
from scrapy_neardup.fingerprints import HASH_VERSION, Weights
from scrapy_neardup.stores import Matching

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "best": MappingProxyType({}),
        "compact": MappingProxyType({"method": "simhash", "sketch": (128, 2)}),
        "paper": MappingProxyType(
            {"method": "simhash", "min_resemblance": 0.0, "shingle_size": 3}
        ),
    }
)
"""Name -> what differs from the defaults of `Parameters`.

``best``
    Candidates by simhash and by features, confirmed by sketches of 360 bytes.
``compact``
    Candidates by simhash, confirmed by sketches of 120 bytes.
``paper``
    Simhash alone, as in Manku et al. 2007: nothing is confirmed.
"""

_METHODS = ("simhash", "minwise", "both")

TITLES: Final = ("learn", "strict", "ignore")

SCOPES: Final = ("all", "host", "domain", "language", "host+language", "domain+language")
"""Whom a page may be compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What decides whether two pages count as near-duplicates.

    Parameters
    ----------
    method
        What finds candidates: ``"simhash"``, fingerprints within `max_distance` bits;
        ``"minwise"``, shared features (Broder 2000, section 4); ``"both"``, the union.
    max_distance
        k: the largest Hamming distance of a near-duplicate (Manku et al. 2007, section 4.1);
        0 to 8, in Redis 0 to 6.
    features
        Broder's k, s and r: a page has k features of s minima each, and a candidate shares
        r of them.
    min_resemblance
        A candidate is a near-duplicate if its estimated resemblance is so high, of the
        text and of its core (`scrapy_neardup.text.Content`); 0: every candidate is.
    titles
        Whether next to all of the text must be equal where titles differ: ``"strict"``, it must;
        ``"ignore"``, it needn't; ``"learn"``, on sites whose pages show that it must
        (`scrapy_neardup.templates`). Only where `min_resemblance` confirms.
    learn
        What may be learnt of a site; see `scrapy_neardup.evidence.sites`.
    sketch
        Bins and bits of the sketch from which it is estimated; three bits a bin more say where
        in the page its shingle stands.
    shingle_size, weights
        The shingles of a page; see `scrapy_neardup.fingerprints.features`.
    text, ignore
        The view of the page that is judged; see `scrapy_neardup.text.Extractor`.
        Another word than ``main`` and ``full`` names a text that the caller brings.
    min_tokens
        Shorter texts are compared by equality of text, title, images and embedded data.
    scope
        Whom a page is compared with: ``"all"``, those of its ``"host"``, registered
        ``"domain"`` or declared ``"language"`` (Manku et al. 2007, section 6), or
        ``"host+language"`` or ``"domain+language"``.
    hash_key
        A secret that makes fingerprints unpredictable; None is the published default.
    store_urls
        True, ``"hash"`` or False: what is kept of a page's URL to explain a drop.

    Raises
    ------
    ConfigurationError
        Naming the setting whose value can't be used.
    """

    method: Literal["simhash", "minwise", "both"] = "both"
    max_distance: int = 3
    features: tuple[int, int, int] = (8, 8, 1)
    min_resemblance: float = 0.9
    titles: Literal["learn", "strict", "ignore"] = "learn"
    learn: Sequence[str] = LEARNABLE
    sketch: tuple[int, int] = (512, 2)
    shingle_size: int = 4
    weights: Weights = "set"
    text: str = "main"
    ignore: Sequence[str] = ()
    min_tokens: int = 32
    scope: str = "all"
    hash_key: bytes | None = None
    store_urls: bool | Literal["hash"] = True

    def __post_init__(self) -> None:
        _one_of("METHOD", self.method, *_METHODS)
        _whole("MAX_DISTANCE", self.max_distance, 0, 8)
        _check_features(self.features)
        _check_resemblance(self.min_resemblance)
        _one_of("TITLES", self.titles, *TITLES)
        _check_sketch(self.sketch)
        for name in self.learn:
            _one_of("LEARN", name, *LEARNABLE)
        if self.method == "both" and not self.min_resemblance:
            raise ConfigurationError(
                "NEARDUP_METHOD = 'both' finds candidates that have to be confirmed: set"
                " NEARDUP_MIN_RESEMBLANCE, to 0.9 say"
            )
        _whole("SHINGLE_SIZE", self.shingle_size, 1, 64)
        _whole("MIN_TOKENS", self.min_tokens, 0, 1_000_000)
        _one_of("SCOPE", self.scope, *SCOPES)
        _one_of("STORE_URLS", self.store_urls, True, False, "hash")
        if not callable(self.weights):
            _one_of("WEIGHTS", self.weights, "set", "tf", "sqrt", "log")

    @property
    def matching(self) -> Matching:
        """What a store has to know of it, besides `max_distance` and `schema`."""
        count, size, shared = self.features if self.method != "simhash" else (0, 0, 1)
        bins, bits = self.sketch if self.min_resemblance else (0, 0)
        return Matching(
            by_distance=self.method != "minwise",
            features=count + bool(bins),
            feature_size=size,
            shared_features=shared,
            bins=bins,
            bits=bits,
        )

    def schema(self) -> dict[str, str | int | float]:
        """Return what a store records of fingerprints, so that two kinds never mix.

        A secret key and the selectors are represented by digests.
        """
        weights = self.weights
        return {
            "hash": HASH_VERSION,
            "hash_key": "" if self.hash_key is None else fold(self.hash_key),
            "shingle_size": self.shingle_size,
            "weights": weights if isinstance(weights, str) else dotted_name(weights),
            "text": self.text,
            "ignore": fold("\n".join(self.ignore).encode()) if self.ignore else "",
            "min_tokens": self.min_tokens,
            "scope": self.scope,
        }  # fmt: skip


def dotted_name(function: Callable[..., object]) -> str:
    """Return the name under which a user's callable is recorded in a store."""
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


def fold(value: bytes) -> str:
    """Return a short digest, for what is only compared for equality."""
    return blake2b(value, digest_size=8).hexdigest()


def _whole(setting: str, value: object, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        wanted = f"a whole number from {low} to {high}"
        raise ConfigurationError(f"NEARDUP_{setting} must be {wanted}, not {value!r}")


def _one_of(setting: str, value: object, *allowed: object) -> None:
    if value not in allowed:
        wanted = " or ".join(map(repr, allowed))
        raise ConfigurationError(f"NEARDUP_{setting} must be {wanted}, not {value!r}")


def _check_features(value: object) -> None:
    match value:
        case (int(count), int(size), int(shared)) if (
            1 <= shared <= count <= 64 and size >= 1 and count * size <= 1024
        ):
            return
    raise ConfigurationError(
        "NEARDUP_FEATURES must be three numbers K,S,R: K features of S minima each, at most 1024"
        f" in all, of which R (1 to K) are shared; not {value!r}"
    )


def _check_resemblance(value: object) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ConfigurationError(
            f"NEARDUP_MIN_RESEMBLANCE must be a number from 0 to 1, not {value!r}"
        )


def _check_sketch(value: object) -> None:
    match value:
        case (int(bins), 1 | 2 | 4 | 8) if bins in {16, 32, 64, 128, 256, 512, 1024}:
            return
    raise ConfigurationError(
        "NEARDUP_SKETCH must be BINSxBITS, a power of two from 16 to 1024 and 1, 2, 4 or 8;"
        f" not {value!r}"
    )
