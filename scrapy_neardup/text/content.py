"""HTML tree to content: what of a page is judged.

Rule of this room: a tree is read and never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import cast, get_args

from cssselect import HTMLTranslator, SelectorError
from lxml import etree
from lxml.html import HtmlElement

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.text.embedded import image_source, is_state
from scrapy_neardup.text.furniture import named_furniture
from scrapy_neardup.text.nesting import shallow
from scrapy_neardup.text.tokens import has_tokens
from scrapy_neardup.text.views import IGNORED, View, stylesheet

__all__ = ["Content", "Extractor", "View"]

MIN_MAIN_TOKENS = 5
"""With fewer tokens in the main view, the full view counts."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a page says.

    Parameters
    ----------
    text
        The view's text; elements that part words are line breaks.
    title
        The page's title, white space collapsed; ``""`` where there is none.
    images
        Sources of images and other media, distinct and sorted; see
        `scrapy_neardup.text.embedded.image_source`.
    data
        Embedded data: JSON scripts and framework state, white space collapsed, distinct
        and sorted; see `scrapy_neardup.text.embedded.is_state`.
    core
        The text without what is furniture by its name, or None where nothing is
        (`scrapy_neardup.text.furniture`).
    headings
        The text of each ``h1`` in the view, white space collapsed.
    linked_days
        How many links are named by the number of a day, 1 to 31, as those of a calendar are.
    language
        The language that the page declares, without region or script (``en``), or ``""``.
    """

    text: str
    title: str = ""
    images: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    core: str | None = None
    headings: tuple[str, ...] = ()
    linked_days: int = 0
    language: str = ""


class Extractor:
    """Reads the content of pages; picklable.

    Parameters
    ----------
    mode
        The view, ``"main"`` or ``"full"``; see `scrapy_neardup.text.views`.
    ignore
        CSS selectors of elements to leave out as well.

    Raises
    ------
    ConfigurationError
        Naming the selector that can't be used.
    """

    def __init__(self, mode: View = "main", ignore: tuple[str, ...] = ()) -> None:
        if mode not in get_args(View):
            raise ConfigurationError(f"NEARDUP_TEXT must be 'main' or 'full', not {mode!r}")
        self.mode = mode
        self.ignore = tuple(ignore)
        self._find_ignored = _union(self.ignore) if self.ignore else None

    def __reduce__(self) -> tuple[type[Extractor], tuple[View, tuple[str, ...]]]:
        return Extractor, (self.mode, self.ignore)

    def extract(self, root: HtmlElement) -> Content:
        """Return the content of a page.

        Parameters
        ----------
        root
            Root of a tree as lxml.html or parsel build it from HTML. It stays as it is.

        Notes
        -----
        O(size of the tree): 0.2 to 0.3 ms for a page of 1,000 words; `ignore` adds a copy
        of the tree.
        """
        if self._find_ignored is not None:
            root = deepcopy(root)
            root.tail = None  # copied along, but no part of it
            for element in self._find_ignored(root):
                element.tag = IGNORED
        try:
            return self._extract(root)
        except etree.XSLTApplyError:  # a tree of more than 3,000 levels; see nesting.py
            return self._extract(shallow(root))

    def _extract(self, root: HtmlElement) -> Content:
        named, apart = map(etree.XSLT.strparam, named_furniture(root))
        if self.mode == "main":
            content = _read(stylesheet("main")(root, named=named, apart=apart), root)
            if has_tokens(content.text, MIN_MAIN_TOKENS):
                return content
        return _read(stylesheet("full")(root, named=named), root)


_CONTENT, _NAMED, _APART = range(3)

_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_PRIMARY = re.compile(r"[A-Za-z]{2,8}(?![A-Za-z0-9])")


def _read(result: etree._XSLTResultTree, root: HtmlElement) -> Content:
    page = result.getroot()
    kinds = [_CONTENT]  # of the named elements around a place, each with what is around it
    texts = [(_CONTENT, page.text or "")]
    sources: list[tuple[int, str]] = []
    titles: list[str] = []
    headings: list[str] = []
    data: set[str] = set()
    for part in page:
        value = part.text or ""
        match part.tag:
            case "named":
                kinds.append(max(kinds[-1], _NAMED))
            case "apart":
                kinds.append(_APART)
            case "end":
                kinds.pop()
            case "source":
                sources.append((kinds[-1], value))
            case "title":
                titles.append(value)
            case "heading":
                headings.append(" ".join(value.split()))
            case "data":
                data.add(" ".join(value.split()))
            case "code" if is_state(value):
                data.add(" ".join(value.split()))
        texts.append((kinds[-1], part.tail or ""))
    apart = sum(len(text.strip()) for kind, text in texts if kind == _APART)
    kept = _NAMED if 2 * apart <= sum(len(text.strip()) for _, text in texts) else _APART
    return Content(
        text="".join(text for kind, text in texts if kind <= kept),
        title=" ".join(titles[0].split()) if titles else "",
        images=tuple(sorted({s for kind, value in sources if kind <= kept
                             for s in image_source(value)})),
        data=tuple(sorted(data - {""})),
        core="".join(text for kind, text in texts if kind == _CONTENT)
        if any(_CONTENT < kind <= kept for kind, _ in texts)
        else None,
        headings=tuple(headings),
        linked_days=len(page.findall("day")),
        language=_language(root),
    )  # fmt: skip


def _language(root: HtmlElement) -> str:
    tag = (root.get("lang") or root.get("xml:lang") or root.get(_XML_LANG) or "").strip()
    language = _PRIMARY.match(tag)
    return language[0].lower() if language else ""


def _union(selectors: tuple[str, ...]) -> Callable[[HtmlElement], list[HtmlElement]]:
    """Compile CSS selectors to one XPath."""
    paths = []
    for selector in selectors:
        try:
            paths.append(HTMLTranslator().css_to_xpath(selector))
            etree.XPath(paths[-1])
        except (SelectorError, etree.XPathError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"NEARDUP_IGNORE: {selector!r} is no CSS selector of elements: {error}"
            ) from None
    return cast("Callable[[HtmlElement], list[HtmlElement]]", etree.XPath(" | ".join(paths)))
