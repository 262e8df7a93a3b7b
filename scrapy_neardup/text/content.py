"""The content of a page: blocks of text, title, media and data; and its links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, Final, Self, cast, get_args
from urllib.parse import urldefrag, urljoin

from cssselect import HTMLTranslator, SelectorError
from lxml import etree
from lxml.html import HtmlElement

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.catalogue import View
from scrapy_neardup.settings.validation import one_of
from scrapy_neardup.text.blocks import Block, Blocks, Form
from scrapy_neardup.text.media import JSON
from scrapy_neardup.text.parse import roots_of
from scrapy_neardup.text.tags import IGNORED_TAG
from scrapy_neardup.text.tokens import has_tokens
from scrapy_neardup.text.walk import walk

MAX_LINKS: Final = 10_000
"""Maximum number of different links of a page that are read."""

MAX_BASE: Final = 2_000
"""Maximum characters of the address that links are relative to."""


# Two lists each: libxml2 takes quadratic time for a union, and to sort what `//*[...]` finds.
_LINKS = "//a/@href", "//area/@href"
_WRITTEN = (
    "//@*[not(parent::link or parent::meta or starts-with(name(), 'src'))]", "//script/text()",
)  # fmt: skip
_ADDRESS = re.compile(r"""(?x) ["'] ( (?: https?:/ | \.{0,2} ) / [^"'\s<>]+ | \? [^"'\s<>]+
    | [\w./%-]+ \. [a-z]{3,5} (?: \? [^"'\s<>]* )? ) ["']""")


def link_targets(root: HtmlElement, base_url: str, *, is_written: bool = False) -> set[str]:
    """Return the http(s) targets of a page's ``a[href]`` and ``area[href]``, without fragments.

    If `is_written`, return the targets of anything that looks like an address in another attribute
    or a script: in ``onclick``, ``data-href``, ``option``, ``form``.

    `base_url` is the page's address; its ``<base href>`` applies. A page has no targets if its
    address, or its base, is longer than `MAX_BASE`; links after the first `MAX_LINKS` are left
    out. O(length), and about 5 µs for each link.
    """
    bases = root.xpath("//base/@href")
    base = _join(base_url, bases[0]) if bases else base_url
    if len(base) > MAX_BASE:
        return set()
    found = chain.from_iterable(map(root.xpath, _WRITTEN if is_written else _LINKS))
    if is_written:
        found = chain.from_iterable(_ADDRESS.findall(f'"{each}"') for each in found)
    links = islice(dict.fromkeys(found), MAX_LINKS)
    targets = {_join(base, href) for href in links}
    return {target for target in targets if target[:8].lower().startswith(("http://", "https://"))}


def _counted(sources: Mapping[str, int], base: str) -> tuple[str, ...]:
    """Return media sources, relative to `base`; with its number, if several elements show one."""
    counts = sources
    if 0 < len(base) <= MAX_BASE:
        counts = Counter()
        for each, number in sources.items():
            is_data = each[:5].lower() in {"data:", JSON}
            counts[each if is_data else _join(base, each) or each] += number
    return tuple(sorted([f"{each} {n}" if n > 1 else each for each, n in counts.items()]))


def _join(base: str, href: str) -> str:
    try:
        return urldefrag(urljoin(base, href.strip())).url
    except ValueError:  # such as "http://[", which isn't a URL
        return ""


MIN_MAIN_TOKENS = 5
"""Minimum tokens of the main view; with fewer, the full view counts."""

OMITTED = {
    Form.LINKS: "links",
    Form.NAMED_LINKS: "links named as boilerplate",
    Form.NAMED: "named as boilerplate",
}
"""Form of a block -> why it isn't content."""


_NO_TEXT: Final = Blocks.of((Block("", Form.CONTENT, 0),))


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page."""

    blocks: Blocks = _NO_TEXT
    """The text in the order of the page, without its boilerplate in the view ``main``."""
    title: str = ""
    """White space collapsed; ``""`` if there is none."""
    images: tuple[str, ...] = ()
    """Sources of images and other media, what inline SVGs draw, and JSON in attributes, distinct
    and sorted, each with its number if several elements have it; see `text.media`."""
    data: tuple[str, ...] = ()
    """Scripts that hold data or framework state, white space collapsed, distinct and sorted; see
    `media.is_data` and `media.is_state`."""
    headings: tuple[str, ...] = ()
    """The text of each ``h1`` in the view, white space collapsed."""
    linked_days: int = 0
    """Number of links whose text is the number of a day, 1 to 31, as in a calendar."""
    language: str = ""
    """The language that the page declares, without region or script (``en``), or ``""``."""
    alias: str = ""
    """URL of the page whose place this one takes, for looking it up; ``""`` for its own."""
    canonical: str = ""
    """The canonical address that the page names, as it is written; ``""`` for none."""
    links: tuple[str, ...] = ()
    """Names of the pages that links lead to in elements named as boilerplate, distinct and
    sorted, without parameters that most of them have in common."""

    @classmethod
    def of_text(cls, text: str, title: str = "", **more: Any) -> Self:
        """Return the content of a page that is only a text under a title."""
        return cls(Blocks.of((Block(text, Form.CONTENT, 0),)), title, **more)

    @property
    def text(self) -> str:
        """The text of all blocks, in one or more lines each."""
        return "\n".join(self.blocks.texts)

    def with_texts(self, change: Callable[[str], str]) -> Content:
        """Return the content with the texts of blocks, title and headings changed."""
        return replace(
            self,
            title=change(self.title),
            headings=tuple(map(change, self.headings)),
            blocks=replace(self.blocks, texts=tuple(map(change, self.blocks.texts))),
        )


class Extractor:
    """Reads the content of pages; picklable.

    The mode ``"full"`` reads all text that a browser may show, with scripts or without:
    everything except title, script, style, template, comments, and the alternatives of frames and
    media. Elements that are hidden at first count, because closed tabs, accordions and dialogs are
    content. So does other text in the head, where libxml2 leaves a page without a ``<body>`` tag.

    ``"main"`` also leaves out the page's boilerplate: ``nav``, ``aside``, ``search``, the page's
    own ``header`` and ``footer``, and ARIA's landmark roles. If that leaves fewer than
    `MIN_MAIN_TOKENS` tokens, the full view counts.

    `ignore` has CSS selectors of further elements to leave out; a wrong one is a
    `ConfigurationError`. With `language` the language that a page declares is read.
    """

    def __init__(
        self, mode: View = "main", ignore: tuple[str, ...] = (), *, language: bool = False
    ) -> None:
        self.mode: View = one_of(*get_args(View)).read("NEARDUP_TEXT", mode)
        self.ignore = tuple(ignore)
        self.language = language
        self._finders = [*map(_finder, self.ignore)]

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Extractor, language=self.language), (self.mode, self.ignore)

    def extract(self, root: HtmlElement) -> Content:
        """Return the content of a page from its tree, as lxml.html or parsel build it from HTML.

        The tree doesn't change. O(its size): some 2 µs an element; `ignore` copies the tree.
        """
        roots = roots_of(root)
        if self._finders:
            roots = [*map(deepcopy, roots)]
            for each in roots:
                each.tail = None  # copied with the root, but not part of it
                for element in [one for find in self._finders for one in find(each)]:
                    element.tag = IGNORED_TAG
        walked = walk(*roots, boilerplate=self.mode == "main")
        if (
            walked.has_boilerplate
            and Form.NOSCRIPT not in walked.blocks.forms  # a shell has no content without scripts
            and not has_tokens(walked.blocks.texts, MIN_MAIN_TOKENS)
        ):
            walked = walk(*roots, boilerplate=False)
        language = ""
        if self.language:
            from scrapy_neardup.text.languages import declared_language  # noqa: PLC0415

            language = declared_language(root)
        return Content(
            title=walked.title,
            images=_counted(walked.sources, walked.base),
            data=tuple(sorted(walked.data - {""})),
            headings=tuple(walked.headings),
            linked_days=walked.linked_days,
            language=language,
            canonical=walked.canonical,
            blocks=walked.blocks,
            links=tuple(sorted(_without_common_parameters(walked.links))),
        )


def _without_common_parameters(names: set[str]) -> set[str]:
    """Return names of pages without parameters that have one value on most of them.

    Such a parameter, a language or a session, doesn't distinguish the pages that links lead to.
    """
    queries = [name.partition("?")[2] for name in names if "?" in name]
    if len(queries) <= len(names) / 2:
        return names
    pairs = Counter([pair for query in queries for pair in query.split("&")])
    common = {pair.partition("=")[0] for pair, count in pairs.items() if count > len(names) / 2}
    found = set()
    for name in names:
        page, _, query = name.partition("?")
        kept = [pair for pair in query.split("&") if pair.partition("=")[0] not in common]
        found.add("?".join(filter(None, (page, "&".join(kept)))))
    return found - {""}


def _finder(selector: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    try:
        path = etree.XPath(HTMLTranslator().css_to_xpath(selector))
    except (SelectorError, etree.XPathError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"NEARDUP_IGNORE: {selector!r} isn't a CSS selector of elements: {error}"
        ) from None
    return cast("Callable[[HtmlElement], list[HtmlElement]]", path)
