"""Page to verdict: the one place where text, fingerprint and store meet.

Rule of this room: no Scrapy, no files, no clock. `Analyser` is pure and picklable, so
that a batch job can run it in other processes; `Detector` adds a store.

The way of a page::

    tree ─ Analyser.read ─> Content ─ Analyser.page ─> Page ─ Detector.decide ─> Verdict
"""

from __future__ import annotations

import re
import secrets
import zlib
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from posixpath import dirname
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from scrapy_neardup.calendars import EmptyMonths
from scrapy_neardup.changing import ChangingEnds
from scrapy_neardup.errors import StoreError
from scrapy_neardup.fingerprints import digest, features, simhash_features, token_hashes
from scrapy_neardup.furniture import FEWEST, Furniture
from scrapy_neardup.parameters import Parameters, fold
from scrapy_neardup.sketches import Shingled, SketchedPage
from scrapy_neardup.templates import Templates
from scrapy_neardup.text import Content, Extractor
from scrapy_neardup.urls import host, redact, registered_domain, without_address
from scrapy_neardup.verdict import Decision, Page, Reason, Verdict

if TYPE_CHECKING:
    import numpy as np
    from lxml.html import HtmlElement
    from numpy.typing import NDArray

    from scrapy_neardup.stores import Store

MIN_JUDGED_TOKENS = 5
"""Shorter texts say nothing: an empty shell, a redirect notice, a spinner."""

_MIN_CORE_TOKENS, _MIN_CORE_SHARE = 20, 0.15
"""A core of fewer tokens that is a smaller part of the text isn't the page's content."""

_NUMBERING = re.compile(r"(?:\d+\.)+(?=\s|$)|\d+(?:\.\d+){2,}")
"""In a title: the number of a chapter (``3.2. Layers``) or of a version (``5.15.8``). The same
page has another one in the next edition."""

_EXCHANGE_PAGES = 32
"""New pages of a host after which crawlers tell each other what its furniture is."""

_ENDS = "without its last lines, which change on this site"
_EMPTY_MONTH = "as an empty month of a calendar, whatever its year"

_SITES = {"host": host, "domain": registered_domain}


class Analyser:
    """What a page says, and its fingerprint: pure, picklable, one per process."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        mode: Literal["main", "full"] = "full" if parameters.text == "full" else "main"
        self._extractor = Extractor(mode=mode, ignore=tuple(parameters.ignore))
        self._sketcher = parameters.sketcher

    def read(self, root: HtmlElement) -> Content:
        """Return the content of a parsed page; the tree stays as it is."""
        return self._extractor.extract(root)

    def page(self, content: Content, *, page_id: int, url: str | None) -> Page | Verdict:
        """Return the `Page` of `content`, or the verdict that it can't be judged.

        Costs O(tokens): 0.1 to 0.2 ms for 1,000 of them.
        """
        settings = self.parameters
        key = settings.hash_key
        content = _without_address(content, url)
        tokens = token_hashes(content.text, key=key)
        if len(tokens) < MIN_JUDGED_TOKENS:
            return Verdict(
                decision=Decision.UNJUDGED,
                reason=Reason.EMPTY,
                page_id=page_id,
                tokens=len(tokens),
                detail=f"{len(tokens)} tokens of text, {MIN_JUDGED_TOKENS} are needed",
            )
        named = [_NUMBERING.sub("", name) for name in (content.title, *content.headings)]
        embedded = (*content.images, *content.data)
        known: dict[str, Any] = {
            "id": page_id,
            "scope": scope_of(url, settings.scope, content.language),
            "title": digest(*named, key=key, bits=32) if any(named) else 0,
            "content": digest(*embedded, key=key, bits=32) if embedded else 0,
            "url": self._shown(url),
            "tokens": len(tokens),
        }
        if len(tokens) < settings.min_tokens:
            text = tokens.astype("<u8").tobytes()
            return Page(
                fingerprint=digest(text, content.title, *embedded, key=key), exact=True, **known
            )
        shingles, weights = features(
            tokens, shingle_size=settings.shingle_size, weights=settings.weights
        )
        known["fingerprint"] = simhash_features(shingles, weights)
        if not (self._sketcher.bins or self._sketcher.features):
            return Page(**known)
        core = self._core(content, tokens, shingles)
        minima = self._sketcher.minima(shingles)
        core_minima = minima if core is shingles else self._sketcher.minima(core)
        shingled = Shingled(_groups(url), (shingles, core), (minima, core_minima))
        return SketchedPage(
            features=self._sketcher.features_of(core_minima),
            sketch=self._sketcher.sketch(shingled),
            shingled=shingled,
            **known,
        )

    def _core(
        self, content: Content, tokens: NDArray[np.uint64], shingles: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """Return the shingles of the core, or of the whole text if next to nothing is left."""
        if content.core is None:
            return shingles
        core = token_hashes(content.core, key=self.parameters.hash_key)
        if len(core) < MIN_JUDGED_TOKENS or (
            len(core) < _MIN_CORE_TOKENS and len(core) < _MIN_CORE_SHARE * len(tokens)
        ):
            return shingles
        return features(core, shingle_size=self.parameters.shingle_size)[0]

    def _shown(self, url: str | None) -> str | None:
        if not url or not self.parameters.store_urls:
            return None
        if self.parameters.store_urls == "hash":
            return "blake2b:" + fold(redact(url).encode())
        return redact(url)


class Detector:
    """An `Analyser` with a memory of pages, and of what the pages of a site share."""

    def __init__(self, analyser: Analyser, store: Store) -> None:
        self.analyser = analyser
        self.store = store
        self._sketcher = analyser.parameters.sketcher
        self._furniture = Furniture()
        self._ends = ChangingEnds()
        self._months = EmptyMonths()
        self._templates = Templates()
        self._name = secrets.token_hex(4)

    async def judge(self, content: Content, *, page_id: int, url: str | None) -> Verdict:
        """Judge a page and remember it if it is new; see `decide`.

        What ends every page of the site and is never the same isn't judged
        (`scrapy_neardup.changing`), and one year's empty months are as good as another's
        (`scrapy_neardup.calendars`).
        """
        without_ends = self._ends.strip(content, url)
        judged = self._months.fold(without_ends, url)
        verdict = await self.decide(self.analyser.page(judged, page_id=page_id, url=url))
        if judged is content or not verdict.is_duplicate:
            return verdict
        return replace(verdict, detail=_EMPTY_MONTH if judged is not without_ends else _ENDS)

    async def decide(self, page: Page | Verdict) -> Verdict:
        """Judge what `Analyser.page` made of a page, and remember it if it is new.

        Raises
        ------
        StoreError
            The store failed; the page is neither judged nor recorded.
        """
        if isinstance(page, Verdict):
            return page
        if not isinstance(page, SketchedPage) or page.sketch is None:
            return await self.store.check_and_add(page)
        shingled, title, content = page.shingled, page.title, page.content
        site = shingled.groups[0]
        furniture = self._furniture.of(shingled.groups)
        other_title = page.sketch.other_title if self._titles_decide(site) else 1.0
        sketch = self._sketcher.marked(page.sketch, shingled, furniture, other_title)
        tells = self._sketcher.can_tell(sketch, shingled, furniture)
        if not (tells or title):
            title = digest(shingled.shingles().tobytes(), bits=32)
        if not tells or self._furniture.pages(site) < FEWEST:
            content = _folded(content, title)
        page = replace(page, sketch=sketch, title=title, content=content)
        verdict = await self.store.check_and_add(page)
        self._templates.learn(site, page, verdict)
        if verdict.decision is Decision.NEW:
            self._furniture.learn(shingled.groups, shingled.shingles())
            await self._exchange(site)
        return verdict

    def _titles_decide(self, site: str) -> bool:
        titles = self.analyser.parameters.titles
        return titles == "strict" or (titles == "learn" and site in self._templates)

    async def _exchange(self, group: str) -> None:
        """Now and then, tell other crawlers what a host's furniture is, and hear it."""
        pages = self._furniture.pages(group)
        if pages != FEWEST and pages % _EXCHANGE_PAGES:
            return
        mine = self._furniture.dump(group)
        with suppress(StoreError):  # the page was judged; what is missed is heard the next time
            heard = await self.store.exchange(group, self._name, mine)
            self._furniture.add_others(group, (value for value in heard if value != mine))


def _without_address(content: Content, url: str | None) -> Content:
    """Return what a page says beside its own address, which soft 404s like to repeat."""
    return replace(
        content,
        text=without_address(content.text, url),
        title=without_address(content.title, url),
        headings=tuple(without_address(heading, url) for heading in content.headings),
        core=None if content.core is None else without_address(content.core, url),
    )


def _folded(content: int, title: int) -> int:
    """Return evidence that differs wherever titles do.

    Of a site's first pages nobody knows what is furniture, and of pages that are nearly all
    furniture a sketch says nothing: they are taken for one another only if their titles are
    equal, too, whatever else is. (Where the latter have none, their text stands for it.)
    """
    return zlib.crc32(title.to_bytes(4, "little"), content) if title else content


def page_id(identity: bytes) -> int:
    """Return the 64-bit id of the page with this `identity` (a request fingerprint, a path)."""
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "little")


def scope_of(url: str | None, scope: str, language: str) -> str:
    """Return whom a page is compared with: all (``""``), a host or domain, a language, both.

    `scope` is one of `scrapy_neardup.parameters.SCOPES`.
    """
    kind, _, _ = scope.partition("+")
    site = _SITES[kind](url or "") if kind in _SITES else ""
    return f"{site} {language}" if scope.endswith("language") else site


def _groups(url: str | None) -> tuple[str, ...]:
    """Return the groups of pages whose furniture may be on the page at `url`."""
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return ("",)
    site = f"//{parts.netloc.rpartition('@')[2].lower()}"
    return (site, f"{site}{dirname(parts.path)}/")
