"""From an HTML tree to the content of a page, in time linear in its size.

The compiled walk does the work if it reads trees in the same way as the Python code.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Final

from lxml import etree
from lxml.html import HtmlElement

from scrapy_neardup._speed import Unfit, agreeing
from scrapy_neardup.errors import InputError
from scrapy_neardup.text import media, tags, walker
from scrapy_neardup.text.blocks import Walked
from scrapy_neardup.text.parse import parse_html
from scrapy_neardup.text.walker import Walker

_compiled: ModuleType | None = None  # until the compiled walk is loaded, below


def walk(root: HtmlElement, *, boilerplate: bool, frames: bool = True) -> Walked:
    """Return the content of a page from its tree, as lxml.html or parsel build it from HTML.

    `boilerplate` leaves out elements whose tag or role says that they are boilerplate; `frames`
    reads documents in attributes. O(size of the tree).
    """
    if _compiled is not None:
        found: Walked | None = _compiled.walk(root, boilerplate=boilerplate, frames=frames)
        if found is not None:  # a tree made from HTML
            return found
    return pure_walk(root, boilerplate=boilerplate, frames=frames)


def pure_walk(root: HtmlElement, *, boilerplate: bool, frames: bool = True) -> Walked:
    """Do the same in pure Python."""
    return Walker(boilerplate=boilerplate, framed=framed if frames else None).walk(root)


def framed(document: str) -> Walked:
    """Return the content of a frame's document."""
    try:
        return walk(parse_html(document), boilerplate=False, frames=False)
    except InputError:  # it is empty, or too large
        return Walked()


_TRIED: Final = ((5, 4), (7,))
"""The oldest lxml with which the compiled walk was tested, and the first with which it wasn't."""

_EXAMPLE: Final = """\
<html lang=en><head><base href=/q/><title> A  page </title>
<link href=/x rel=stylesheet><link rel="a Canonical" href=" /c ">
<script type=application/json>{"a": 1}</script></head>
<body><nav class="Nav 12"><a href=/>Home</a></nav><main id=m>
<h1>Prices \N{EN DASH} <i>2</i></h1>
<p class="lead big7">One <b>bold</b><br>word</p><table><tr><th>A<td>1<tr><td>\N{NO-BREAK SPACE}
</table><div role=banner>b</div><a href=#>31</a><span class=ad-slot>buy</span>
<img src=../a.png?_=1><div style="background: url('b.png')" data-lazy=c.jpg>d</div>
<iframe srcdoc="&lt;p&gt;e&lt;a href=x&gt;f"></iframe><object data=g><p>h</object>
<lite-v videoid=i><noscript>j <img src=k></noscript><input value=r><p data-lat=1></p>
<svg><use href=#s fill=url(#t) x=1></use></svg>
<ul class=menu><li><a href="../l/m.html?n#o">p</a></ul>
<script>window.__STATE__ = {"x": 2}</script><time>now</time></main>
<footer>f</footer></body></html>"""
"""The page on which both walks are compared at import."""


def _example(compiled: ModuleType | None) -> list[Walked]:
    """Return the results for a page with boilerplate and without.

    Raises `Unfit` if trees may be laid out differently than the compiled walk expects.
    """
    if compiled is not None:
        compiled.set_up(
            tags, SimpleNamespace(**vars(tags) | vars(media) | vars(walker), framed=framed)
        )
        oldest, newest = _TRIED
        if not oldest <= etree.LXML_VERSION < newest or etree.LIBXML_VERSION[0] != 2:
            raise Unfit(
                f"it was not tested with lxml {etree.LXML_VERSION} and libxml2"
                f" {etree.LIBXML_VERSION}"
            )
        known = parse_html("<p>a</p><p>b</p>")[0]
        if not compiled.is_laid_out_as_built(known, known[0], known[1]):
            raise Unfit(
                f"it was built for lxml {compiled.BUILT_WITH}, whose trees have another layout"
            )
    find = pure_walk if compiled is None else compiled.walk
    root = parse_html(_EXAMPLE)
    return [find(root, boilerplate=boilerplate) for boilerplate in (True, False)]


_compiled = agreeing("walk", _example)
