"""Page to fingerprint and evidence.

Rule of this room: no Scrapy, no files, no clock, no store. `Analyser` is pure and picklable, so
that a batch job can run it in other processes.

The way of a page::

    tree ─ Analyser.read ─> Content ─ Analyser.page ─> Page ─ Detector.decide ─> Verdict
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, cast, get_args

import numpy as np

from scrapy_neardup.evidence.layout import BORDER, OWNER_BITS, Head
from scrapy_neardup.evidence.months import without_year
from scrapy_neardup.evidence.shingling import sketch, streams
from scrapy_neardup.evidence.titles import title_words
from scrapy_neardup.fingerprints import (
    digest,
    features,
    simhash_features,
    token_hashes,
)
from scrapy_neardup.fingerprints.filtering import Filter
from scrapy_neardup.fingerprints.hashing import salt, token_hashes_of_each
from scrapy_neardup.own_address import may_hold_address, without_address
from scrapy_neardup.parameters import Parameters, fold
from scrapy_neardup.text import Blocks, Content, Extractor, Form
from scrapy_neardup.text.content import MIN_MAIN_TOKENS
from scrapy_neardup.text.languages import LanguageDetector
from scrapy_neardup.urls import Address, Extent, redact, site
from scrapy_neardup.verdict import Decision, Page, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from lxml.html import HtmlElement
    from numpy.typing import NDArray

    _Tokens = tuple[NDArray[np.uint64], NDArray[np.int64], Blocks]
    """The tokens of a page, their number in each block, and the blocks."""

MIN_JUDGED_TOKENS = MIN_MAIN_TOKENS
"""Minimum tokens of a page that is judged: an empty shell, a redirect notice, a spinner say
nothing."""

_EXTENTS: Final = frozenset(get_args(Extent))

_MAX_CLOCKS = 0.2
"""Maximum share of a page's characters in clocks; with more they are its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shingled:
    """What a page was sketched from.

    Parameters
    ----------
    shingles
        Distinct, ascending, shape (n,), uint64.
    owners
        Where in the page each stands (`evidence.layout`), shape (n,), uint8.
    minima
        Of its sketch, shape (bins,), uint64.
    texts
        Of each tracked place, hashed.
    """

    shingles: NDArray[np.uint64]
    owners: NDArray[np.uint8]
    minima: NDArray[np.uint64]
    texts: tuple[int, ...]

    def rows(self, without: Collection[int] = ()) -> NDArray[np.uint64]:
        """Return the shingles within rows of the core, but for those of some tracked places.

        All shingles of a page that has no other ones.
        """
        kept = [owner < BORDER and owner not in without for owner in range(1 << OWNER_BITS)]
        found = self.shingles[np.array(kept)[self.owners]]
        return found if len(found) else self.shingles


@dataclass(frozen=True, kw_only=True)
class AnalysedPage(Page):
    """A page with what its site learns from it, which a store doesn't need.

    Parameters
    ----------
    address
        Its address.
    is_alias
        Whether it stands for another page (`Content.alias`), and must equal that one to repeat it.
    head
        The head of its evidence; empty where it has none.
    shingled
        What it was sketched from; None for a short page.
    words
        Sum of the hashes of its tokens, the same in any order.
    """

    address: Address
    is_alias: bool = False
    head: Head = field(default=Head(), compare=False, repr=False)
    shingled: Shingled | None = field(default=None, compare=False, repr=False)
    words: int = field(default=0, compare=False, repr=False)


class Analyser:
    """What a page says, and its fingerprint: pure, picklable, one per process."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        # Of a page whose text comes from the user, the rest is read as of any other.
        mode = "main" if callable(parameters.text) else parameters.text
        self._extractor = Extractor(
            mode=mode,
            ignore=tuple(parameters.ignore),
            language=str(parameters.scope).endswith("language"),
        )
        self._filter = Filter(*parameters.features) if parameters.method != "simhash" else None
        self._detect = LanguageDetector() if parameters.detect_language else None

    def read(self, root: HtmlElement) -> Content:
        """Return the content of a parsed page; the tree stays as it is."""
        return self._extractor.extract(root)

    def page(self, content: Content, *, page_id: int, url: str | None) -> Page | Verdict:
        """Return the `Page` of `content`, or the verdict that it can't be judged.

        Costs O(tokens): 0.1 to 0.2 ms for 1,000 of them.
        """
        settings = self.parameters
        key = settings.hash_key
        address = Address.of(url, salt(key))
        for reading in (_without_address,) if settings.is_exact else READINGS:
            content = reading(content, url)
        looked_up = Address.of(content.alias, salt(key)) if content.alias else address
        told = _clocks_as_content if settings.is_exact else _without_clocks
        blocks = told(content.blocks)
        tokens, counts = token_hashes_of_each(blocks.texts, key=key)
        count = len(tokens)
        if count < MIN_JUDGED_TOKENS:
            return Verdict(
                decision=Decision.UNJUDGED,
                reason=Reason.EMPTY,
                page_id=page_id,
                tokens=count,
                detail=f"{count} tokens of text, {MIN_JUDGED_TOKENS} are needed",
            )
        embedded = (*content.images, *content.data)
        known: dict[str, Any] = {
            "id": page_id,
            "scope": self._scope(content, url),
            "url": self._shown(url),
            "tokens": count,
            "address": address,
            "is_alias": bool(content.alias),
            "words": int(tokens.sum()),
        }
        page = tokens, counts, blocks
        if not settings.min_resemblance:
            return self._unconfirmed(page, content, known)
        titles = (content.title, *content.headings)
        known["title"] = digest(*titles, key=key, bits=32) if any(titles) else 0
        known["content"] = digest(*embedded, key=key, bits=32) if embedded else 0
        head = Head(
            title=title_words(content.title, content.headings, key=key),
            steps=address.steps,
            path=looked_up.path & 0xFFFF,
            query=looked_up.query,
            # A page that stands for another one isn't that one met again.
            name=page_id & 0xFFFF if content.alias else address.name,
        )
        if count < settings.min_tokens:
            text = streams(*page).tokens.astype("<u8").tobytes()
            return AnalysedPage(
                fingerprint=digest(text, *embedded, key=key),
                exact=True,
                evidence=head.pack(),
                head=head,
                **known,
            )
        return self._sketched(page, head, looked_up.path or page_id, known)

    def _unconfirmed(self, page: _Tokens, content: Content, known: dict[str, Any]) -> AnalysedPage:
        """Return a page of which a store keeps nothing to confirm candidates by."""
        settings, key = self.parameters, self.parameters.hash_key
        tokens, _, blocks = page
        if known["tokens"] < settings.min_tokens:
            text = streams(*page).tokens.astype("<u8").tobytes()
            return AnalysedPage(
                fingerprint=digest(text, content.title, *content.images, *content.data, key=key),
                exact=True,
                **known,
            )
        if len(blocks) < len(content.blocks):  # clocks are part of this fingerprint
            tokens = token_hashes(content.text, key=key)
        shingles, weights = features(
            tokens,
            shingle_size=settings.shingle_size,
            weights=settings.weights,
        )
        return AnalysedPage(
            fingerprint=simhash_features(shingles, weights),
            features=tuple(self._minwise(shingles)),
            **known,
        )

    def _sketched(
        self, page: _Tokens, head: Head, path: int, known: dict[str, Any]
    ) -> AnalysedPage:
        """Return a page with a sketch, and with its path as the last feature."""
        settings = self.parameters
        # The minima that features are made of come along where they are of one permutation.
        kind = self._filter if settings.permutations == "one" else None
        found = sketch(
            *page, settings.shingle_size, *settings.sketch, 0 if kind is None else kind.bins
        )
        head = head._replace(places=found.places, text=found.text, rows=found.rows)
        shingled = Shingled(
            shingles=found.shingles, owners=found.owners, minima=found.minima, texts=found.texts
        )
        fingerprint = found.simhash
        if settings.weights != "set":
            weighted = features(
                streams(*page).tokens,
                shingle_size=settings.shingle_size,
                weights=settings.weights,
            )
            fingerprint = simhash_features(*weighted)
        if kind is None:
            minwise = self._minwise(shingled.rows())
        else:
            minwise = kind.digests(found.least).tolist()
        return AnalysedPage(
            fingerprint=fingerprint,
            features=(*minwise, path),
            evidence=head.pack() + found.planes,
            head=head,
            shingled=shingled,
            **known,
        )

    def without(self, page: AnalysedPage, changing: Collection[int]) -> AnalysedPage:
        """Return the page as one that is looked up without the text in places that change.

        Its fingerprint, and the evidence that a store keeps of it, stay the same.
        """
        shingled = page.shingled
        if shingled is None or len(page.features) < 2:
            return page
        places = enumerate(page.head.places, start=1)
        left_out = [owner for owner, place in places if place in changing]
        if not left_out:
            return page
        return replace(page, features=(*self._minwise(shingled.rows(left_out)), page.features[-1]))

    def _scope(self, content: Content, url: str | None) -> str:
        language = content.language
        if self._detect is not None and not language:
            language = self._detect(content.text)
        return scope_of(url, self.parameters.scope, language)

    def _minwise(self, shingles: NDArray[np.uint64]) -> list[int]:
        """Return the min-wise features of some shingles: none where simhash alone is asked for."""
        if self._filter is None:
            return []
        found: list[int] = self._filter.features_of(
            shingles, self.parameters.permutations
        ).tolist()
        return found

    def _shown(self, url: str | None) -> str | None:
        if not url or not self.parameters.store_urls:
            return None
        if self.parameters.store_urls == "hash":
            return "blake2b:" + fold(redact(url).encode())
        return redact(url)


def _without_address(content: Content, url: str | None) -> Content:
    """Return what a page says beside its own address, which soft 404s like to repeat."""
    if not may_hold_address(url, content.text, content.title, *content.headings):
        return content
    return content.with_texts(lambda text: without_address(text, url))


READINGS: Final = (without_year, _without_address)
"""Rules for what of a page isn't its content, by that page alone: (content, URL) -> content."""


def _without_clocks(blocks: Blocks) -> Blocks:
    """Return the blocks of a page but for its clocks, unless they are its content."""
    if Form.CLOCK not in blocks.forms:
        return blocks
    others = blocks.without(Form.CLOCK)
    characters = sum(map(len, blocks.texts))
    if characters - sum(map(len, others.texts)) <= _MAX_CLOCKS * characters:
        return others
    return _clocks_as_content(blocks)


def _clocks_as_content(blocks: Blocks) -> Blocks:
    content, clock = bytes([Form.CONTENT]), bytes([Form.CLOCK])
    return replace(blocks, forms=blocks.forms.replace(clock, content))


def page_id(identity: bytes) -> int:
    """Return the 64-bit id of the page with this `identity` (a request fingerprint, a path)."""
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "little")


def scope_of(url: str | None, scope: str | Callable[..., str], language: str) -> str:
    """Return the scope of a page: ``""`` for all pages, a host or domain, a language, or both.

    `scope` is one of `scrapy_neardup.options.SCOPES`. Of a callable nothing is known here: who can
    ask it says what it answers.
    """
    if callable(scope):
        return ""
    extent, _, _ = scope.partition("+")
    name = site(url, cast("Extent", extent)) if extent in _EXTENTS else ""
    return f"{name} {language}" if scope.endswith("language") else name
