"""The views of a page: which parts of it are read as text, title, images and data.

Rule of this room: what a view leaves out it leaves out whole, and a page is read in one
pass of one compiled stylesheet, in time linear in its size.

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
    to nothing remains, the full view counts. Elements that say the same by their name, such
    as ``sidebar`` or ``site-footer``, are left out where they are no more than that.

The ``core`` of either is what is left without any element that is furniture by its name
(`scrapy_neardup.text.furniture`).

Elements part words, except those that stand within text (``b``, ``span``, ``wbr``, ...).
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from lxml import etree

View = Literal["main", "full"]

IGNORED = "neardup-ignored"
"""Elements of this name are left out of every view."""

_WITHIN_TEXT = (
    "abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|nobr|q|ruby|rb|s"
    "|samp|small|span|strike|strong|sub|sup|textpath|time|tspan|tt|u|var|wbr"
)

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def _has_role(*roles: str) -> str:
    """Return an XPath test for elements whose first role is one of `roles`."""
    first = "substring-before(concat(normalize-space(@role), ' '), ' ')"
    lower = f"translate({first}, '{_UPPER}', '{_LOWER}')"
    return f"@role and contains(' {' '.join(roles)} ', concat(' ', {lower}, ' '))"


_LANDMARK = _has_role("navigation", "banner", "contentinfo", "complementary", "search")
_IN_SECTION = (
    "ancestor::*[64] or "  # nor is it the page's own so far down; bounds the search upwards
    "ancestor::article or ancestor::aside or ancestor::main or ancestor::nav or ancestor::section"
    f" or ancestor::*[{_has_role('article', 'complementary', 'main', 'navigation', 'region')}]"
)

_IS_IN = "(contains({0}, concat('|', @class, '|')) or contains({0}, concat('|', @id, '|')))"
_IS_NAMED = (
    f"$named != '' and {_IS_IN.format('$named')}"
    " and not(self::body or self::main or self::article or self::p or self::pre or self::code"
    " or self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6)"
)

# Tests stand in the templates and not in their patterns, where libxslt takes time
# quadratic in the number of siblings (to know position() and last()).
_STYLESHEET = f"""
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:param name="named"/>
  <xsl:param name="apart"/>
  <xsl:template match="/"><page><xsl:apply-templates/></page></xsl:template>

  <xsl:template match="{_WITHIN_TEXT}"><xsl:apply-templates/></xsl:template>
  <xsl:template match="a">
    <xsl:if test="@href and number(.) &gt;= 1 and number(.) &lt;= 31"><day/></xsl:if>
    <xsl:apply-templates/>
  </xsl:template>
  <xsl:template match="*" name="block">
    <xsl:text>&#10;</xsl:text>
    <xsl:if test="{{shown}}">
      <xsl:choose>
        <xsl:when test="{_IS_NAMED}">
          <xsl:choose>
            <xsl:when test="{_IS_IN.format("$apart")}"><apart/></xsl:when>
            <xsl:otherwise><named/></xsl:otherwise>
          </xsl:choose>
          <xsl:apply-templates/><end/>
        </xsl:when>
        <xsl:otherwise><xsl:apply-templates/></xsl:otherwise>
      </xsl:choose>
      <xsl:text>&#10;</xsl:text>
    </xsl:if>
  </xsl:template>
  <xsl:template match="{{furniture}}|{IGNORED}"><xsl:text>&#10;</xsl:text></xsl:template>
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

  <xsl:template match="h1">
    <heading><xsl:value-of select="."/></heading><xsl:call-template name="block"/>
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
    "full": {"shown": "true()", "shown_ends": "true()", "furniture": IGNORED},
    "main": {
        "shown": f"not({_LANDMARK})",
        "shown_ends": _IN_SECTION,
        "furniture": "nav|aside|search",
    },
}


@cache
def stylesheet(view: View) -> etree.XSLT:
    """Return the stylesheet that reads a page.

    Its result is one element with the text of the view, and in their places within it
    ``title``, ``heading`` (an h1), ``source`` (of an image or other media), ``data`` (a JSON
    script) and ``code`` (a script), each with its text, the empty ``day`` (a link that is named
    by a number from 1 to 31), and the empty ``named`` or ``apart``, and ``end``, around what
    stands in an element whose class or id is in the parameters of these names: what
    `named_furniture` returns.
    """
    return etree.XSLT(
        etree.XML(_STYLESHEET.format(**_VIEWS[view])),
        access_control=etree.XSLTAccessControl.DENY_ALL,  # type: ignore[attr-defined]  # stubs
    )
