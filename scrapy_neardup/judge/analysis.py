"""Page to fingerprint and evidence.

`Analyser` uses no Scrapy, file, clock or store. It is pure and picklable, so a batch job can run
it in other processes.

The way of a page::

    tree ─ Analyser.read ─> Content ─ Analyser.page ─> Page ─ Detector.decide ─> Verdict
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, cast, get_args
from urllib.parse import urljoin

import numpy as np

from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.fingerprints.hashing import digest, salt, token_hashes_of_each
from scrapy_neardup.judge.evidence import MAX_LABELS, Evidence, bits_of, segments_of, title_of
from scrapy_neardup.judge.knowledge import Excluded
from scrapy_neardup.judge.parameters import Parameters, fold
from scrapy_neardup.judge.readings import OF_EXACT, READINGS, WITHOUT_EVIDENCE
from scrapy_neardup.judge.shingling import Text, shingled
from scrapy_neardup.text import Blocks, Content, Extractor, Form
from scrapy_neardup.text.content import MIN_MAIN_TOKENS
from scrapy_neardup.urls import Address, Extent, redact, site
from scrapy_neardup.verdict import UNJUDGED, Page, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement
    from numpy.typing import NDArray

MIN_JUDGED_TOKENS = MIN_MAIN_TOKENS
"""Minimum number of tokens of a page that is judged: a shell or a spinner has no content."""

# Plain numbers: numpy makes an array of each member of an enumeration that it compares.
_NOSCRIPT, _NAMED = int(Form.NOSCRIPT), int(Form.NAMED)

_EXTENTS: Final = frozenset(get_args(Extent))


@dataclass(frozen=True, kw_only=True)
class AnalysedPage(Page):
    """A page with evidence, and what its site learns from, which a store doesn't need."""

    address: Address
    """The parts of its URL."""
    is_alias: bool
    """Whether it replaces another page (`Content.alias`), which it repeats only if equal."""
    known: Evidence = field(compare=False, repr=False)
    """Its evidence, unpacked."""
    text: Text = field(compare=False, repr=False)
    """Its shingles."""


class Analyser:
    """Reads and fingerprints pages: pure, picklable, one per process."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        # NEARDUP_TEXT replaces only the text: title, media and links are read from the page.
        mode = "main" if callable(parameters.text) else parameters.text
        self._extractor = Extractor(
            mode=mode,
            ignore=tuple(parameters.ignore),
            language=str(parameters.scope).endswith("language"),
        )
        self._filter = Filter(*parameters.features) if parameters.method != "simhash" else None
        self._is_scoped = parameters.scope != "all"
        self._detect: Callable[[str], str] | None = None
        if parameters.detect_language:
            from scrapy_neardup.text.languages import LanguageDetector  # noqa: PLC0415

            self._detect = LanguageDetector()
        # Values derived from the parameters, computed once instead of for each page.
        self._salt = salt(parameters.hash_key)
        self._is_exact = parameters.is_exact
        self._readings = READINGS if parameters.min_resemblance else WITHOUT_EVIDENCE
        if self._is_exact:
            self._readings = OF_EXACT
        # With one permutation, the minima for features are computed together with the shingles.
        self._bins = self._filter.bins if self._filter and parameters.permutations == "one" else 0
        # The last page, because rows of a file may repeat it many times.
        self._blocks: Blocks | None = None
        self._tokens: tuple[NDArray[np.uint64], NDArray[np.int64]]
        self._text: Text | None = None

    def read(self, root: HtmlElement) -> Content:
        """Return the content of a parsed page; the tree doesn't change."""
        return self._extractor.extract(root)

    def page(self, content: Content, *, page_id: int, url: str | None) -> Page | Verdict:
        """Return the `Page` with this `content`, or the verdict that it can't be judged.

        O(tokens): 0.1 to 0.2 ms for 1,000 tokens.
        """
        for reading in self._readings:
            content = reading(content, url)
        blocks = content.blocks
        if self._blocks is not blocks:
            key, every = self.parameters.hash_key, self._is_exact
            self._tokens = token_hashes_of_each(blocks.texts, key=key, every=every)
            self._blocks, self._text = blocks, None
        count = len(self._tokens[0])
        shown = count - self._tokens_of(_NOSCRIPT, blocks)
        if shown < MIN_JUDGED_TOKENS:
            return Verdict(
                decision=UNJUDGED,
                reason=Reason.EMPTY,
                page_id=page_id,
                tokens=count,
                detail=f"{shown} tokens of text, {MIN_JUDGED_TOKENS} are needed",
            )
        scope = self._scope(content, url) if self._is_scoped else ""
        named = {"id": page_id, "scope": scope, "url": self._shown(url), "tokens": count}
        if self.parameters.min_resemblance:
            return self._confirmed(content, url, named)
        return self._unconfirmed(content, named)

    def _unconfirmed(self, content: Content, named: dict[str, Any]) -> Page:
        settings, tokens = self.parameters, self._tokens[0]
        if len(tokens) < settings.min_tokens:
            text, shown = tokens.astype("<u8").tobytes(), (*content.images, *content.data)
            whole = digest(text, content.title, *shown, key=settings.hash_key)
            return Page(**named, fingerprint=whole, exact=True)
        fingerprint, shingles = self._weighted(tokens)
        return Page(**named, fingerprint=fingerprint, features=tuple(self._minwise(shingles)))

    def _confirmed(self, content: Content, url: str | None, named: dict[str, Any]) -> AnalysedPage:
        settings, key = self.parameters, self.parameters.hash_key
        address = looked_up = Address.of(url, self._salt)
        if content.alias:
            looked_up = Address.of(content.alias, self._salt)
        elif content.canonical and url:
            looked_up = _canonical(content.canonical, url, address, self._salt)
        tokens, counts = self._tokens
        if self._text is None:
            size, bins = settings.shingle_size, self._bins
            self._text = shingled(tokens, counts, content.blocks, size, bins)
        text, page_id = self._text, named["id"]
        titles, embedded = (content.title, *content.headings), (*content.images, *content.data)
        title = title_of(content.title, content.headings)
        is_other = looked_up is not address
        evidence = Evidence(
            host=address.folders[0],
            folder=address.folders[-1],
            path=looked_up.path & 0xFFFFFFFF,
            query=looked_up.query,
            # A page that takes another one's place isn't another response to that page's request.
            name=page_id & 0xFFFF if is_other else address.name,
            segments=segments_of(titles, key=key),
            title=digest(*title, key=key, bits=32) if title else 0,
            embedded=digest(*embedded, key=key, bits=32) if embedded else 0,
            rows=text.rows,
            named_rows=text.named_rows,
            links=digest(*content.links, key=key, bits=32) if content.links else 0,
            labels=min(self._tokens_of(_NAMED, content.blocks), MAX_LABELS),
            has_canonical=is_other and not content.alias,
            paths=text.standing,
            sketches=text.sketches(settings.sketch),
        )
        minwise = (
            self._filter.digests(text.least).tolist()
            if self._filter and self._bins
            else self._minwise(text.row_shingles)
        )
        return AnalysedPage(
            **named,
            is_alias=bool(content.alias),
            address=address,
            fingerprint=text.simhash if settings.weights == "set" else self._weighted(tokens)[0],
            features=(*minwise, looked_up.path or page_id),
            evidence=evidence.pack(settings.sketch),
            known=evidence,
            text=text,
        )

    def _tokens_of(self, form: int, blocks: Blocks) -> int:
        """Return the number of tokens in the page's blocks of a form."""
        if form not in blocks.forms:
            return 0
        return int(self._tokens[1][np.frombuffer(blocks.forms, np.uint8) == form].sum())

    def _weighted(self, tokens: NDArray[np.uint64]) -> tuple[int, NDArray[np.uint64]]:
        """Return the fingerprint of the weighted shingles of tokens, and the shingles."""
        from scrapy_neardup.fingerprints.weights import features, simhash_features  # noqa: PLC0415

        size, weights = self.parameters.shingle_size, self.parameters.weights
        shingles, numbers = features(tokens, shingle_size=size, weights=weights)
        return simhash_features(shingles, numbers), shingles

    def telling(self, page: AnalysedPage, paths: frozenset[int]) -> AnalysedPage:
        """Return a page whose evidence has these DOM paths before others."""
        if (text := page.text.telling(paths)) is page.text:
            return page
        known = page.known._replace(paths=text.standing)
        return replace(page, text=text, known=known, evidence=known.pack(self.parameters.sketch))

    def by_what_counts(self, page: AnalysedPage, excluded: Excluded) -> AnalysedPage:
        """Return the page with features made of the text that counts.

        All features leave out text that changes, and the second half also boilerplate. The first
        half finds pages that were stored before the boilerplate was known. The last feature is the
        page's title, name and parameters. Fingerprint and evidence stay the same. Some 90 µs.
        """
        count = self._filter.features if self._filter else 0
        if not count:
            return page
        found, own = [*page.features], page.known
        changing = bits_of([*own.paths], excluded.paths)
        rows = page.text.rows_outside(changing)
        if changing:
            found[:count] = self._minwise(rows)
        left = page.text.rows_outside(changing, excluded.shared)
        if len(left) < len(rows):
            found[count // 2 : count] = self._minwise(left)[count // 2 :]
        if own.title and count > 1:
            found[count - 1] = digest(f"{own.title} {own.name} {own.query}")
        return replace(page, features=tuple(found))

    def _scope(self, content: Content, url: str | None) -> str:
        """Return a host or domain, a language, or both. A callable is called elsewhere."""
        scope = self.parameters.scope
        if callable(scope):
            return ""
        extent, _, _ = scope.partition("+")
        name = site(url, cast("Extent", extent)) if extent in _EXTENTS else ""
        if not scope.endswith("language"):
            return name
        return f"{name} {content.language or (self._detect(content.text) if self._detect else '')}"

    def _minwise(self, shingles: NDArray[np.uint64]) -> list[int]:
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


def _canonical(named: str, url: str, own: Address, salted: str) -> Address:
    """Return the canonical address of a page, if that is another page of its site.

    Otherwise return its own address.
    """
    if named == url:
        return own
    try:
        is_whole = named.startswith(("http://", "https://"))
        other = Address.of(named if is_whole else urljoin(url, named), salted)
    except ValueError:
        return own
    return other if other.site == own.site and other.path != own.path else own


def page_id(identity: bytes) -> int:
    """Return the 64-bit id of the page with this `identity` (a request fingerprint, a path)."""
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "little")
