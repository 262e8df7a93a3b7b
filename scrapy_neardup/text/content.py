"""HTML tree to content: what of a page is judged.

Rule of this room: the tree is read in one pass of one compiled stylesheet, and never
changed. What a view leaves out it leaves out whole: text, images and data.

``full``
    The text that a browser shows, now or later: all but title, script, style, template,
    noscript, comments, and what stands in for frames and media. Elements that are hidden at
    first count, as closed tabs, accordions and dialogs are content. So does anything else in
    the head: it is where libxml2 leaves a page that has no ``<body>`` tag.
``main``
    Without the page's furniture too: ``nav``, ``aside``, ``search``, those ``header`` and
    ``footer`` that are the page's own, and ARIA's landmark roles. A header or footer is
    the page's own unless it stands in an article, aside, main, nav or section, or in an
    element of such a role (HTML Accessibility API Mappings 1.0, section 3.5). Where next
    to nothing remains, the full view counts.

Elements part words, except those that stand within text (``b``, ``span``, ``wbr``, ...).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from cssselect import HTMLTranslator, SelectorError
from lxml import etree
from lxml.html import HtmlElement

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.text.embedded import image_source, is_state
from scrapy_neardup.text.nesting import shallow
from scrapy_neardup.text.tokens import has_tokens

View = Literal["main", "full"]

MIN_MAIN_TOKENS = 5
"""With fewer tokens in the main view, the full view counts."""

_IGNORED = "neardup-ignored"
"""What ignored elements are called in the copy of a tree."""

_WITHIN_TEXT = (
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|nobr|q|ruby|rb|s"
    "|samp|small|span|strike|strong|sub|sup|textPath|time|tspan|tt|u|var|wbr"
)

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def _has_role(*roles: str) -> str:
    """Return an XPath test for elements whose first role is one of `roles`."""
    first = "substring-before(concat(normalize-space(@role), ' '), ' ')"
    lower = f"translate({first}, '{_UPPER}', '{_LOWER}')"
    return f"@role and contains(' {' '.join(roles)} ', concat(' ', {lower}, ' '))"


_LANDMARK = _has_role("navigation", "banner", "contentinfo", "complementary", "search")
_IN_SECTION = (
    "ancestor::article or ancestor::aside or ancestor::main or ancestor::nav or ancestor::section"
    f" or ancestor::*[{_has_role('article', 'complementary', 'main', 'navigation', 'region')}]"
)

# Tests stand in the templates and not in their patterns, where libxslt takes time
# quadratic in the number of siblings (to know position() and last()).
_STYLESHEET = f"""
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:template match="/"><page><xsl:apply-templates/></page></xsl:template>

  <xsl:template match="{_WITHIN_TEXT}"><xsl:apply-templates/></xsl:template>
  <xsl:template match="*" name="block">
    <xsl:text>&#10;</xsl:text>
    <xsl:if test="{{shown}}"><xsl:apply-templates/><xsl:text>&#10;</xsl:text></xsl:if>
  </xsl:template>
  <xsl:template match="{{furniture}}|{_IGNORED}"><xsl:text>&#10;</xsl:text></xsl:template>
  <xsl:template match="header|footer">
    <xsl:choose>
      <xsl:when test="{{shown_ends}}"><xsl:call-template name="block"/></xsl:when>
      <xsl:otherwise><xsl:text>&#10;</xsl:text></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
  <xsl:template match="base|link|meta|noembed|noframes|rp|style"/>
  <xsl:template match="template">
    <xsl:if test="@shadowrootmode"><xsl:call-template name="block"/></xsl:if>
  </xsl:template>

  <xsl:template match="title"><title><xsl:value-of select="."/></title></xsl:template>
  <xsl:template match="svg//title"/>

  <xsl:template match="script">
    <xsl:choose>
      <xsl:when test="contains(translate(@type, 'JSON', 'json'), 'json')">
        <data><xsl:value-of select="."/></data>
      </xsl:when>
      <xsl:when test="not(@src)"><code><xsl:value-of select="."/></code></xsl:when>
    </xsl:choose>
  </xsl:template>

  <xsl:template match="img|source|video|audio|embed|iframe|frame|object|image">
    <xsl:text>&#10;</xsl:text>
    <xsl:if test="not(@width &lt; 2 or @height &lt; 2)">
      <xsl:for-each select="@src|@data-src|@data-original|@data-lazy-src|@srcset|@data-srcset
          |@poster|@data|@href|@*[name() = 'xlink:href']">
        <source><xsl:value-of select="."/></source>
      </xsl:for-each>
    </xsl:if>
    <xsl:apply-templates select=".//img|.//source|.//embed"/>
  </xsl:template>
  <xsl:template match="noscript"><xsl:apply-templates select=".//img"/></xsl:template>
</xsl:stylesheet>"""

_VIEWS: dict[View, dict[str, str]] = {
    "full": {"shown": "true()", "shown_ends": "true()", "furniture": _IGNORED},
    "main": {
        "shown": f"not({_LANDMARK})",
        "shown_ends": _IN_SECTION,
        "furniture": "nav|aside|search",
    },
}


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
    """

    text: str
    title: str = ""
    images: tuple[str, ...] = ()
    data: tuple[str, ...] = ()


class Extractor:
    """Reads the content of pages; picklable.

    Parameters
    ----------
    mode
        The view: ``"main"`` or ``"full"``.
    ignore
        CSS selectors of elements to leave out as well.

    Raises
    ------
    ConfigurationError
        Naming the selector that can't be used.
    """

    def __init__(self, mode: View = "main", ignore: tuple[str, ...] = ()) -> None:
        if mode not in ("main", "full"):
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
                element.tag = _IGNORED
        try:
            return self._extract(root)
        except etree.XSLTApplyError:  # a tree of more than 3,000 levels; see nesting.py
            return self._extract(shallow(root))

    def _extract(self, root: HtmlElement) -> Content:
        content = _read(_stylesheet(self.mode)(root))
        if self.mode == "main" and not has_tokens(content.text, MIN_MAIN_TOKENS):
            return _read(_stylesheet("full")(root))
        return content


def _read(result: etree._XSLTResultTree) -> Content:
    page = result.getroot()
    text = [page.text or ""]
    titles: list[str] = []
    images: set[str] = set()
    data: set[str] = set()
    for part in page:
        value = part.text or ""
        match part.tag:
            case "source":
                images.update(image_source(value))
            case "title":
                titles.append(value)
            case "data":
                data.add(" ".join(value.split()))
            case "code" if is_state(value):
                data.add(" ".join(value.split()))
        text.append(part.tail or "")
    return Content(
        text="".join(text),
        title=" ".join(titles[0].split()) if titles else "",
        images=tuple(sorted(images)),
        data=tuple(sorted(data - {""})),
    )


@cache
def _stylesheet(view: View) -> etree.XSLT:
    return etree.XSLT(
        etree.XML(_STYLESHEET.format(**_VIEWS[view])),
        access_control=etree.XSLTAccessControl.DENY_ALL,  # type: ignore[attr-defined]  # stubs
    )


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
