"""Page to verdict: the one place where text, fingerprint and store meet.

Rule of this room: no Scrapy, no files, no clock. `Analyser` is pure and picklable, so
that a batch job can run it in other processes; `Detector` adds a store.

The way of a page::

    tree ─ Analyser.read ─> Content ─ Analyser.page ─> Page ─ Store.check_and_add ─> Verdict
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints import (
    HASH_VERSION,
    Weights,
    digest,
    features,
    simhash_features,
    token_hashes,
)
from scrapy_neardup.text import Content, Extractor
from scrapy_neardup.urls import host, redact, registered_domain
from scrapy_neardup.verdict import Decision, Page, Reason, Verdict

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_neardup.stores import Store

MIN_JUDGED_TOKENS = 5
"""Shorter texts say nothing: an empty shell, a redirect notice, a spinner."""

_SCOPES = {"all": lambda _: "", "host": host, "domain": registered_domain}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What decides whether two pages count as near-duplicates.

    Parameters
    ----------
    max_distance
        k: the largest Hamming distance of a near-duplicate (Manku et al. 2007, section 4.1).
    shingle_size, weights
        The features of a simhash; see `scrapy_neardup.fingerprints.features`.
    text, ignore
        The view of the page that is judged; see `scrapy_neardup.text.Extractor`.
        Another word than ``main`` and ``full`` names a text that the caller brings.
    min_tokens
        Shorter texts are compared by equality of text, title, images and embedded data.
    scope
        ``"all"``, ``"host"`` or ``"domain"``: whom a page is compared with.
    hash_key
        A secret that makes fingerprints unpredictable; None is the published default.
    store_urls
        True, ``"hash"`` or False: what is kept of a page's URL to explain a drop.

    Raises
    ------
    ConfigurationError
        Naming the setting whose value can't be used.
    """

    max_distance: int = 3
    shingle_size: int = 3
    weights: Weights = "set"
    text: str = "main"
    ignore: Sequence[str] = ()
    min_tokens: int = 32
    scope: Literal["all", "host", "domain"] = "all"
    hash_key: bytes | None = None
    store_urls: bool | Literal["hash"] = True

    def __post_init__(self) -> None:
        _whole("MAX_DISTANCE", self.max_distance, 0, 8)
        _whole("SHINGLE_SIZE", self.shingle_size, 1, 64)
        _whole("MIN_TOKENS", self.min_tokens, 0, 1_000_000)
        _one_of("SCOPE", self.scope, *_SCOPES)
        _one_of("STORE_URLS", self.store_urls, True, False, "hash")
        if not callable(self.weights):
            _one_of("WEIGHTS", self.weights, "set", "tf", "sqrt", "log")

    def schema(self) -> dict[str, str | int | float]:
        """Return what a store records, so that fingerprints of two kinds never mix.

        A secret key and the selectors are represented by digests.
        """
        weights = self.weights
        return {
            "hash": HASH_VERSION,
            "hash_key": "" if self.hash_key is None else _fold(self.hash_key),
            "shingle_size": self.shingle_size,
            "weights": weights if isinstance(weights, str) else dotted_name(weights),
            "text": self.text,
            "ignore": _fold("\n".join(self.ignore).encode()) if self.ignore else "",
            "min_tokens": self.min_tokens,
            "scope": self.scope,
        }  # fmt: skip


class Analyser:
    """What a page says, and its fingerprint: pure, picklable, one per process."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        mode: Literal["main", "full"] = "full" if parameters.text == "full" else "main"
        self._extractor = Extractor(mode=mode, ignore=tuple(parameters.ignore))

    def read(self, root: HtmlElement) -> Content:
        """Return the content of a parsed page; the tree stays as it is."""
        return self._extractor.extract(root)

    def page(self, content: Content, *, page_id: int, url: str | None) -> Page | Verdict:
        """Return the `Page` of `content`, or the verdict that it can't be judged.

        Costs O(tokens): about 0.1 ms for 1,000 of them.
        """
        settings = self.parameters
        key = settings.hash_key
        tokens = token_hashes(content.text, key=key)
        if len(tokens) < MIN_JUDGED_TOKENS:
            return Verdict(
                decision=Decision.UNJUDGED,
                reason=Reason.EMPTY,
                page_id=page_id,
                tokens=len(tokens),
                detail=f"{len(tokens)} tokens of text, {MIN_JUDGED_TOKENS} are needed",
            )
        embedded = (*content.images, *content.data)
        exact = len(tokens) < settings.min_tokens
        if exact:
            fingerprint = digest(tokens.astype("<u8").tobytes(), content.title, *embedded, key=key)
        else:
            hashes, weights = features(
                tokens, shingle_size=settings.shingle_size, weights=settings.weights
            )
            fingerprint = simhash_features(hashes, weights)
        return Page(
            id=page_id,
            fingerprint=fingerprint,
            exact=exact,
            scope=scope_of(url, settings.scope),
            title=digest(content.title, key=key, bits=32) if content.title else 0,
            content=digest(*embedded, key=key, bits=32) if embedded else 0,
            url=self._shown(url),
            tokens=len(tokens),
        )

    def _shown(self, url: str | None) -> str | None:
        if not url or not self.parameters.store_urls:
            return None
        if self.parameters.store_urls == "hash":
            return "blake2b:" + _fold(redact(url).encode())
        return redact(url)


class Detector:
    """An `Analyser` with a memory."""

    def __init__(self, analyser: Analyser, store: Store) -> None:
        self.analyser = analyser
        self.store = store

    async def judge(self, content: Content, *, page_id: int, url: str | None) -> Verdict:
        """Judge a page and remember it if it is new.

        Raises
        ------
        StoreError
            The store failed; the page is neither judged nor recorded.
        """
        page = self.analyser.page(content, page_id=page_id, url=url)
        return page if isinstance(page, Verdict) else await self.store.check_and_add(page)


def dotted_name(function: Callable[..., object]) -> str:
    """Return the name under which a user's callable is recorded in a store."""
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


def page_id(identity: bytes) -> int:
    """Return the 64-bit id of the page with this `identity` (a request fingerprint, a path)."""
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "little")


def scope_of(url: str | None, scope: str) -> str:
    """Return whom the page at `url` is compared with: all (``""``), a host, or a domain."""
    return _SCOPES[scope](url or "")


def _fold(value: bytes) -> str:
    return blake2b(value, digest_size=8).hexdigest()


def _whole(setting: str, value: object, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        wanted = f"a whole number from {low} to {high}"
        raise ConfigurationError(f"NEARDUP_{setting} must be {wanted}, not {value!r}")


def _one_of(setting: str, value: object, *allowed: object) -> None:
    if value not in allowed:
        wanted = " or ".join(map(repr, allowed))
        raise ConfigurationError(f"NEARDUP_{setting} must be {wanted}, not {value!r}")
